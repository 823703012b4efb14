//! The words of `explain` about queues of jobs.

use crate::lint::meant_queue;
use crate::lint::queues::QueueCase;
use crate::lint::text::line;
use crate::lint::text::number;
use crate::lint::text::rounded;
use crate::lint::text::schedule;
use crate::lint::worst_case::Attempts;

pub(super) fn queue(out: &mut String, case: &QueueCase) {
    let executions = match case.executions {
        Attempts::AtMost(1) => "one execution per job".to_owned(),
        Attempts::Unlimited => "executions without limit".to_owned(),
        executions => format!("up to {executions} executions per job"),
    };
    let feeders = match case.fed_by.as_slice() {
        [] => "nobody".to_owned(),
        names => names.join(", "),
    };
    line(out, &format!("{} (fed by {feeders}): {executions}.", case.queue));
    let (rate, claims) = (number(case.rate_rps), number(case.claims_rps));
    let workers = match case.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    };
    line(out, &format!("  {rate} jobs/s come in; {workers}, which claim at most {claims} jobs/s."));
    line(out, &format!("  {}", life(case)));
    if let Some(counter) = case.counter {
        let scope = meant_queue::scope(counter.scope);
        let at = counter.gives_up_at;
        line(out, &format!("  A counter of scope `{scope}` gives up at {at} failures."));
    }
    if let Some(words) = &case.waits_in_words {
        line(out, &format!("  Waits: {words}."));
    }
    if !case.schedule.is_empty() {
        schedule(out, &case.schedule, case.goes_on);
    }
    if let Some(it) = case.destinations {
        let places = it.in_flight.map_or("no limit in flight".to_owned(), |places| {
            format!("{places} in flight to each")
        });
        let least = it.least_rps.map_or("no limit of its rate".to_owned(), |rate| {
            format!("at most {}/s to one whose answers take their longest", number(rate))
        });
        line(out, &format!("  {} destinations: {places}, {least}.", it.count));
        if it.starves_others {
            line(out, "  One that hangs holds workers, and the others starve.");
        }
    }
}

/// How a job ends that never succeeds, and when.
fn life(case: &QueueCase) -> String {
    let waits = match (case.life_by_attempts, case.mean_life_by_attempts) {
        (Some(longest), Some(mean)) if mean != longest => {
            format!("{} of waits (mean {})", rounded(longest), rounded(mean))
        }
        (Some(longest), _) => format!("{} of waits", rounded(longest)),
        (None, _) => String::new(),
    };
    match (case.life_by_attempts, case.life_by_age) {
        _ if case.executions == Attempts::AtMost(1) => "No job is tried again.".to_owned(),
        (None, None) => "A job that never succeeds is tried for ever.".to_owned(),
        (Some(_), None) => format!("A job is given up by its attempts, after at most {waits}."),
        (None, Some(age)) => format!("A job is given up by its age, {age}."),
        (Some(longest), Some(age)) if longest < age => format!(
            "A job is given up by its attempts, after at most {waits}: before its age of {age}, \
             unless something else delays it."
        ),
        (Some(_), Some(age)) => format!(
            "A job is given up by its attempts, after at most {waits}, or by its age, {age}, \
             whichever is first."
        ),
    }
}
