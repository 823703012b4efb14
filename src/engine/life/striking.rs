//! What chance does to an attempt or its answer: another body under a known key, an answer that is
//! lost, an error of the service. Every draw has a name of its own.

use crate::engine::life::Life;
use crate::engine::observe::Observer;
use crate::random::Purpose;
use crate::random::mix;
use crate::scenario::model::Errors;
use crate::scenario::model::ErrorsOf;

impl<O: Observer> Life<'_, O> {
    /// Would an attempt, as a repetition, come with another body?
    pub(super) fn has_other_body(&self, service: usize, key: u64) -> bool {
        let other = self.effects.other_bodies.iter().filter(|(of, _)| *of == service);
        let mut drawn = other
            .zip(0..)
            .map(|((_, share), nth)| share.happens(self.rare_draw(Purpose::OtherBody, key, nth)));
        drawn.any(|differs| differs)
    }

    /// Is the answer of a handler lost on its way?
    #[inline(never)]
    pub(super) fn answer_is_lost(&self, service: usize, key: u64) -> bool {
        let losing = self.effects.losing.iter().filter(|(of, _)| *of == service);
        let shares = losing.map(|(_, share)| share).zip(0..);
        let mut lost =
            shares.map(|(share, nth)| share.happens(self.rare_draw(Purpose::AnswerLoss, key, nth)));
        lost.any(|lost| lost)
    }

    /// Do errors strike an attempt? Those of requests strike all attempts of one or none, whatever
    /// else fails: `source` tells one source of them from another.
    #[inline(always)]
    pub(super) fn strikes(
        &self,
        errors: &Errors,
        slot: u32,
        service: usize,
        source: u32,
        (purpose, nth): (Purpose, u32),
    ) -> bool {
        let draw = match errors.of {
            ErrorsOf::Attempts => self.rare_draw(purpose, self.attempts[slot].key, nth),
            ErrorsOf::Requests => {
                let root = mix(self.effects.root_of(slot), service as u64);
                self.rare_draw(Purpose::RequestError, root, source)
            }
        };
        errors.share.happens(draw)
    }
}
