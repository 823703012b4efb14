//! Exit codes: promised to scripts, and ordered by what matters most.

use crate::check::expect::Decision;
use crate::check::expect::Judgement;

/// How the program ended, for the shell. The order is from good to bad: the largest of several
/// wins, whatever the numbers of the codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// All is well.
    #[default]
    Success,
    /// Too few runs to tell.
    Undecided,
    /// An expectation was not met.
    CheckFailed,
    /// Bad arguments or a bad scenario.
    Usage,
    /// A limit ended a run.
    Limit,
    /// Output could not be written.
    Output,
    /// Ctrl-C: what had finished was kept.
    Interrupted,
    /// The terminal hung up: what had finished was kept.
    HungUp,
    /// A termination signal: what had finished was kept.
    Terminated,
    /// An invariant broke: a bug of ours.
    Bug,
}

impl Exit {
    /// The number the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::CheckFailed => 1,
            Self::Usage => 2,
            Self::Undecided => 3,
            Self::Limit => 4,
            Self::Output => 5,
            Self::Bug => 70,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// What the judgements of one scenario come to.
    pub fn of(judgements: &[Judgement]) -> Self {
        let each = judgements.iter().map(|judgement| match judgement.decision {
            Decision::Pass => Self::Success,
            Decision::Fail => Self::CheckFailed,
            Decision::Undecided => Self::Undecided,
        });
        each.max().unwrap_or_default()
    }

    /// Did somebody ask for an end?
    pub const fn is_early(self) -> bool {
        matches!(self, Self::Interrupted | Self::HungUp | Self::Terminated)
    }

    /// The worse of two: 70, 143, 129, 130, 5, 4, 2, 1, 3, 0.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        self.max(other)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_wins_by_weight_and_not_by_number() {
        let mut order = [
            Exit::Success,
            Exit::CheckFailed,
            Exit::Usage,
            Exit::Undecided,
            Exit::Limit,
            Exit::Output,
            Exit::Bug,
        ];
        order.sort();
        let codes: Vec<_> = order.iter().rev().map(|exit| exit.code()).collect();
        assert_eq!(codes, [70, 5, 4, 2, 1, 3, 0]);
        assert_eq!(Exit::Undecided.worst(Exit::CheckFailed), Exit::CheckFailed);
        assert_eq!(Exit::of(&[]), Exit::Success);
    }
}
