//! What is told of a few jobs, and what is kept of it.

use crate::units::SECOND;

use super::*;

const fn at(seconds: u64) -> SimTime {
    SimTime::from_nanos(seconds * SECOND)
}

fn end(born_s: u64, failed_s: Option<u64>, executions: u32, dead: Option<DeadLetter>) -> JobEnd {
    let failed_at = failed_s.map(at);
    JobEnd { queue: 0, born_at: at(born_s), failed_at, executions, dead }
}

/// A warm-up of 10 s. The first job is of the warm-up; the second fails at 12, 15 and 21 s; the
/// third is permanent at once; the fourth is done after a lease that ended.
fn told() -> JobRecorder {
    let mut jobs = JobRecorder::new(at(10));
    jobs.enqueued(at(5));
    jobs.claimed(at(6), at(5));
    jobs.executed(at(7));
    jobs.returned(at(7), Return::Retry);
    for (claimed, over) in [(11, 12), (14, 15), (20, 21)] {
        if claimed == 11 {
            jobs.enqueued(at(10));
        }
        jobs.claimed(at(claimed), at(claimed - 1));
        jobs.executed(at(over));
        if over < 21 {
            jobs.returned(at(over), Return::Retry);
        }
    }
    jobs.ended(at(21), &end(10, Some(12), 3, Some(DeadLetter::Attempts)));
    jobs.enqueued(at(22));
    jobs.claimed(at(22), at(22));
    jobs.executed(at(23));
    jobs.ended(at(23), &end(22, Some(23), 1, Some(DeadLetter::Permanent)));
    jobs.enqueued(at(24));
    jobs.claimed(at(24), at(24));
    jobs.returned(at(30), Return::LeaseEnded);
    jobs.claimed(at(34), at(30));
    jobs.executed(at(36));
    jobs.ended(at(36), &end(24, None, 1, None));
    jobs.ended(at(40), &end(5, Some(7), 9, Some(DeadLetter::Age))); // Of the warm-up.
    jobs
}

#[test]
fn jobs_count_that_were_stored_after_the_warm_up_and_events_that_happened_then() {
    let counts = told().record.counts;
    assert_eq!((counts.stored, counts.done, counts.all_dead()), (3, 1, 2));
    assert_eq!(counts.dead[DeadLetter::Attempts as usize], 1);
    assert_eq!(counts.dead[DeadLetter::Permanent as usize], 1);
    assert_eq!((counts.claims, counts.executions, counts.executions_of_dead), (6, 5, 4));
    assert_eq!(counts.per_job(counts.executions), Some(5.0 / 3.0));
    assert_eq!(counts.executions_per_dead_letter(), Some(2.0));
    assert_eq!(counts.useless_share(), Some(0.8));
    assert_eq!(counts.returns[Return::Retry as usize], 2);
    assert_eq!(counts.first_dead_ns, Some(11 * SECOND)); // 21 s, and 10 s were warm-up.
    // Six claims, two returns and three ends; the lease ended by itself.
    assert_eq!(counts.storage_writes(), 11);
    assert_eq!(JobCounts::default().per_job(1), None);
    assert_eq!(JobCounts::default().executions_per_dead_letter(), None);
    assert_eq!(JobCounts::default().useless_share(), None);
}

#[test]
fn spans_are_those_of_jobs_done_of_jobs_given_up_and_of_claims() {
    let spans = told().record.spans;
    assert_eq!((spans.lateness.count(), spans.lateness.max()), (1, Some(12 * SECOND)));
    // From 12 s to 21 s, and at once.
    let dead = &spans.to_dead_letter;
    assert_eq!((dead.count(), dead.min(), dead.max()), (2, Some(0), Some(9 * SECOND)));
    // 1 s thrice, nothing twice, 4 s.
    assert_eq!((spans.claim_lag.count(), spans.claim_lag.sum()), (6, 7 * u128::from(SECOND)));
}

/// [K2] A fatal failure costs a quarter of what one after three retries does.
#[test]
fn k2_storage_writes_of_a_fatal_failure_are_a_quarter() {
    let writes = |executions: u32| {
        let mut jobs = JobRecorder::new(at(0));
        jobs.enqueued(at(0));
        for execution in 1..=executions {
            jobs.claimed(at(0), at(0));
            jobs.executed(at(0));
            if execution < executions {
                jobs.returned(at(0), Return::Retry);
            }
        }
        jobs.ended(at(0), &end(0, Some(0), executions, Some(DeadLetter::Permanent)));
        jobs.record.counts.storage_writes()
    };
    assert_eq!((writes(4), writes(1)), (8, 2));
}

#[test]
fn windows_hold_what_happened_in_them_and_the_totals_what_was_worst() {
    let mut jobs = told();
    let level = QueueLevel {
        at_rest: 7,
        due: 3,
        oldest_due: Some(at(38)),
        parked: 2,
        claimed: 5,
        executing: 4,
        suspended: 1,
    };
    let first = jobs.window_ends(at(41), &level);
    assert_eq!((first.stored, first.claims, first.executions), (4, 7, 6));
    assert_eq!((first.returned, first.done, first.dead), (4, 1, 3));
    assert_eq!((first.at_rest, first.due, first.parked, first.suspended), (7, 3, 2, 1));
    assert_eq!((first.claimed, first.executing), (5, 4));
    assert_eq!(first.oldest_due_ns, 3 * SECOND);
    let second = jobs.window_ends(at(42), &QueueLevel { at_rest: 1, ..QueueLevel::default() });
    assert_eq!(second, QueueWindow { at_rest: 1, ..QueueWindow::default() });
    let counts = jobs.record.counts;
    assert_eq!((counts.oldest_due_ns, counts.most_at_rest), (3 * SECOND, 9));
    assert_eq!((counts.at_rest, counts.parked, counts.suspended), (1, 0, 0));
    // What stood there during the warm-up is no worst.
    let mut early = JobRecorder::new(at(100));
    early.window_ends(at(100), &level);
    assert_eq!((early.record.counts.oldest_due_ns, early.record.counts.most_at_rest), (0, 0));
}

#[test]
fn suspensions_are_counted_when_they_begin() {
    let mut jobs = JobRecorder::new(at(10));
    jobs.suspended(at(9), true);
    jobs.suspended(at(11), false);
    jobs.suspended(at(12), true);
    jobs.reopened(at(13), true);
    jobs.reopened(at(14), false);
    let counts = jobs.record.counts;
    assert_eq!((counts.suspensions, counts.reopened, counts.ended_again), (1, 1, 1));
}
