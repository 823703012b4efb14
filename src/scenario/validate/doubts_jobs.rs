//! Doubts about what the waits of jobs, the counters of their failures and their keys come to.

use crate::policy::backoff::Jitter;
use crate::policy::hint::Beyond;
use crate::policy::hint::HintRule;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::model::Counter;
use crate::scenario::model::CounterScope;
use crate::scenario::model::MadeOnce;
use crate::scenario::model::Operation;
use crate::scenario::model::RetryAfter;
use crate::scenario::validate::doubts_queues::Seen;
use crate::scenario::validate::doubts_queues::longest_attempt;
use crate::units::Duration;

/// Retries that are looked at: waits beyond them are at their cap.
const RETRIES: u32 = 16;
/// Jitter below this part of a wait hardly spreads it [K10].
const LEAST_PART: u64 = 10;

/// Doubts about the waits between executions.
pub(super) fn of_waits(seen: &Seen<'_>, doubts: &mut Problems) {
    let retry = &seen.queue.retry;
    let retries = seen.queue.most_executions().map_or(RETRIES, |most| most.saturating_sub(1));
    let retries = retries.min(RETRIES);
    if retries == 0 {
        return;
    }
    let width = |retry: u32| {
        let (least, most) = seen.queue.retry.backoff.bounds(retry);
        most.saturating_sub(least)
    };
    let widest = (1..=retries).map(width).max().unwrap_or_default();
    let looks = Duration::from_nanos(
        seen.queue.claim.every.as_nanos() / u64::from(seen.queue.processes.max(1)),
    );
    if !widest.is_zero() && widest < looks {
        let problem = format!(
            "jitter spreads the waits of {} over at most {widest}, and due jobs are looked for every \
             {looks}: those that failed together are claimed together all the same",
            seen.name
        );
        let help = "look more often, as `claim: { every: 100ms }`, or spread the waits further";
        doubts.push_with(seen.at(&["retry", "jitter"]), problem, help);
    }
    let is_narrow = |retry: &u32| {
        let longest = seen.queue.retry.backoff.bounds(*retry).1;
        width(*retry).as_nanos().saturating_mul(LEAST_PART) < longest.as_nanos()
    };
    // From there on all are: the first may have no jitter by its own rule.
    let narrow = (1..=retries).rev().take_while(is_narrow).last();
    if let Some(nth) = narrow
        && retry.backoff.jitter != Jitter::None
        && !widest.is_zero()
    {
        let problem = format!(
            "from retry {nth} on jitter spreads the waits of {} by less than a tenth ({} of {}): what \
             failed together comes back together",
            seen.name,
            width(nth),
            retry.backoff.bounds(nth).1
        );
        let help = "use jitter that grows with the wait, as `jitter: equal`";
        doubts.push_with(seen.at(&["retry", "jitter"]), problem, help);
    }
    of_hints(seen, doubts);
    if let (Some(limit), Some(waits), Some(most)) =
        (retry.max_elapsed, seen.queue.longest_waits(), seen.queue.most_executions())
        && waits < limit.after
    {
        let problem = format!(
            "{} gives a job up after {most} attempts, which is {waits} at most unless something else \
             delays it: `max_elapsed` of {} promises more",
            seen.name, limit.after
        );
        let help = "set `max_attempts: unlimited` and let the age decide, or promise less";
        doubts.push_with(seen.at(&["retry", "max_elapsed"]), problem, help);
    }
}

/// A word of the server that is obeyed by all alike undoes the jitter [W23].
fn of_hints(seen: &Seen<'_>, doubts: &mut Problems) {
    let retry = &seen.queue.retry;
    let first = retry.backoff.bounds(1);
    if first.0 == first.1 || retry.hint.spread > 0.0 {
        return;
    }
    let undone = |said: &RetryAfter| {
        let after = said.after.as_ref()?.as_constant()?;
        let heard = match (retry.hint.beyond, after > retry.hint.cap) {
            (_, false) => after,
            (Beyond::Clamp, true) => retry.hint.cap,
            (Beyond::GiveUp | Beyond::Ignore, true) => return None,
        };
        let alike = match retry.hint.rule {
            HintRule::Override => !heard.is_zero() || retry.hint.obeys_zero,
            HintRule::Larger => heard >= first.1,
            _ => false,
        };
        (alike && retry.on.contains(said.class)).then_some(heard)
    };
    for service in seen.services() {
        if let Some(heard) = service.retry_after.iter().find_map(undone) {
            let problem = format!(
                "{} tells all alike to come again after {heard}, and {} obeys to the letter: the \
                 jitter of its first waits is gone",
                quoted(&service.name),
                seen.name
            );
            let help = "lay some on top of the word, as `hint: { larger: { spread: 20% } }`";
            doubts.push_with(seen.at(&["retry", "hint"]), problem, help);
            return;
        }
    }
}

/// Doubts about a counter of failures outside the job.
pub(super) fn of_counter(seen: &Seen<'_>, doubts: &mut Problems) {
    let Some(counter) = seen.queue.counter else { return };
    if let Some(ttl) = counter.ttl {
        of_ttl(seen, counter, ttl, doubts);
    }
    let processes = seen.queue.processes;
    let never = match counter.scope {
        CounterScope::Nodes if counter.gives_up_at > processes => format!(
            "{} has {processes} {}, and a list without duplicates never has {} of them: no job is \
             given up",
            seen.name,
            if processes == 1 { "process" } else { "processes" },
            counter.gives_up_at
        ),
        CounterScope::NewId if counter.gives_up_at > 1 => format!(
            "a job of {} has a new id whenever it is put back: no id fails {} times, and no job is \
             given up",
            seen.name, counter.gives_up_at
        ),
        _ => return,
    };
    let help = "count the failures of the job, as `scope: job`";
    doubts.push_with(seen.at(&["counter", "gives_up_at"]), never, help);
}

/// A counter that is forgotten before it can count to its end [D28, D29].
fn of_ttl(seen: &Seen<'_>, counter: Counter, ttl: Duration, doubts: &mut Problems) {
    let gaps = counter.gives_up_at - 1;
    if gaps == 0 {
        return;
    }
    let attempt = seen.policies().filter_map(longest_attempt).max().unwrap_or_default();
    let waits = seen.queue.retry.backoff.total_bounds(gaps).1;
    let attempts = Duration::from_nanos(attempt.as_nanos().saturating_mul(gaps.into()));
    let needed = waits.saturating_add(attempts);
    let what = if ttl <= attempt {
        format!("shorter than one attempt, which may take {attempt}")
    } else if ttl < needed && gaps == 1 {
        format!("shorter than the wait and the attempt between two failures, {needed} at most")
    } else if ttl < needed {
        format!("shorter than the {gaps} gaps between {} failures, {needed} at most", gaps + 1)
    } else {
        return;
    };
    let problem = format!(
        "the `ttl` of the counter of {}, {ttl} from the first failure, is {what}: it is forgotten in \
         the middle, and the job is put back for ever",
        seen.name
    );
    let help =
        format!("make `ttl` at least twice as long as that: {}", needed.saturating_add(needed));
    doubts.push_with(seen.at(&["counter", "ttl"]), problem, help);
}

/// A key that is forgotten while its job may still come [N26].
pub(super) fn of_keys(seen: &Seen<'_>, doubts: &mut Problems) {
    for population in seen.populations() {
        let edge = &seen.model.edges[population.calls];
        let service = &seen.model.services[edge.target];
        let (Operation::Write(Some(MadeOnce::Request)), Some(memory)) =
            (edge.operation, service.idempotency)
        else {
            continue;
        };
        let life = seen.queue.longest_life();
        if seen.queue.repeats() && life.is_none_or(|life| life > memory.kept_for) {
            let life = life.map_or("for ever".to_owned(), |life| format!("for {life}"));
            let problem = format!(
                "{} keeps a key for {}, and a job of {} may come again {life}: a late one takes \
                 effect again",
                quoted(&service.name),
                memory.kept_for,
                seen.name
            );
            let help = "keep keys for longer than a job may live, as `kept_for: 96h`";
            doubts.push_with(seen.at(&["retry"]), problem, help);
        }
    }
}
