//! A circuit breaker as meant, as text.

use crate::lint::meant::Lines;
use crate::policy::breaker::config::Begins;
use crate::policy::breaker::config::BreakerConfig;
use crate::policy::breaker::config::Decision;
use crate::policy::breaker::config::Divisor;
use crate::policy::breaker::config::Forgets;
use crate::policy::breaker::config::HalfOpen;
use crate::policy::breaker::config::Judged;
use crate::policy::breaker::config::LateResults;
use crate::policy::breaker::config::Limit;
use crate::policy::breaker::config::Others;
use crate::policy::breaker::config::Places;
use crate::policy::breaker::config::Rate;
use crate::policy::breaker::config::Trip;
use crate::policy::breaker::config::Turns;
use crate::policy::breaker::config::WindowKind;
use crate::policy::breaker::opening::OpenGrowth;
use crate::policy::breaker::opening::OpenJitter;
use crate::policy::breaker::release::Cancelled;
use crate::policy::breaker::release::Uncounted;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::units::Duration;

pub(super) fn breaker(out: &mut Lines, it: &Scoped<BreakerConfig>) {
    out.open(2, "breaker");
    breaker_settings(out, 3, &it.config);
    out.put(3, "per", it.per);
}

/// All but whose it is, at a depth.
pub(super) fn breaker_settings(out: &mut Lines, depth: usize, config: &BreakerConfig) {
    const PLAIN: BreakerConfig = BreakerConfig::PLAIN;
    let (key, value) = trip(&config.trip);
    out.put(depth, key, value);
    if let Some(limit) = config.or_consecutive {
        out.put(depth, "or_consecutive", limit);
    }
    out.put(depth, "open_for", open_for(config));
    out.put_or(depth, "probes", (config.probes, defaults::PROBES), config.probes);
    let half = (config.half_open, PLAIN.half_open);
    out.put_or(depth, "half_open", half, half_open(&config.half_open));
    let counts = config.counts;
    out.put_or(depth, "counts", (counts, defaults::BREAKER_COUNTS), format!("[{counts}]"));
    let at_once = config.trips_at_once;
    out.put_or(depth, "trips_at_once", (at_once, PLAIN.trips_at_once), format!("[{at_once}]"));
    let ignores = config.ignores;
    out.put_or(depth, "ignores", (ignores, PLAIN.ignores), format!("[{ignores}]"));
    let uncounted = match config.uncounted {
        Uncounted::Success => "success",
        Uncounted::Nothing => "nothing",
        Uncounted::Closes => "closes",
        Uncounted::Leak => "leak",
        Uncounted::ReleaseAsSuccess => "release_as_success",
    };
    out.put_or(depth, "uncounted", (config.uncounted, PLAIN.uncounted), uncounted);
    let cancelled = match config.cancelled {
        Cancelled::Release => "release",
        Cancelled::Success => "success",
        Cancelled::Leak => "leak",
        Cancelled::ReleaseAsSuccess => "release_as_success",
    };
    out.put_or(depth, "cancelled", (config.cancelled, PLAIN.cancelled), cancelled);
    let guarded = config.release_guarded;
    out.put_or(depth, "release_guarded", (guarded, PLAIN.release_guarded), guarded);
    let late = match config.late_results {
        LateResults::Ignore => "ignore",
        LateResults::Count => "count",
        LateResults::Record => "record",
        LateResults::Overrule => "overrule",
    };
    out.put_or(depth, "late_results", (config.late_results, defaults::LATE_RESULTS), late);
    let forgets = match config.forgets {
        Forgets::WhenClosed => "when_closed",
        Forgets::WhenOpened => "when_opened",
        Forgets::Never => "never",
    };
    out.put_or(depth, "forgets", (config.forgets, PLAIN.forgets), forgets);
}

/// The key of what opens it, and its value.
fn trip(it: &Trip) -> (&'static str, String) {
    match *it {
        Trip::Consecutive(failures) => ("consecutive", failures.to_string()),
        Trip::Row { failures, forget_after, clear_every } => {
            let mut parts = vec![format!("failures: {failures}")];
            put_span(&mut parts, "forget_after", forget_after);
            put_span(&mut parts, "clear_every", clear_every);
            ("consecutive", map(&parts))
        }
        Trip::Window { length, failure_share, minimum_calls } => (
            "window",
            format!(
                "{{ length: {length}, failure_share: {failure_share}, minimum_calls: {minimum_calls} }}"
            ),
        ),
        Trip::Rate(rate) => ("window", window(&rate)),
        Trip::Average { window, below, minimum_calls, settled_after } => {
            let mut parts = vec![
                format!("window: {window}"),
                format!("below: {below}"),
                format!("minimum_calls: {minimum_calls}"),
            ];
            put_span(&mut parts, "settled_after", settled_after);
            ("average", map(&parts))
        }
        Trip::Exhausted { attempts, within } => {
            ("exhausted", format!("{{ attempts: {attempts}, within: {within} }}"))
        }
    }
}

fn window(it: &Rate) -> String {
    let mut parts = match it.window {
        WindowKind::Calls(calls) => vec![format!("calls: {calls}")],
        WindowKind::Time { length, buckets, turns } => {
            let turns = match turns {
                Turns::Lazily => "lazily",
                Turns::OnTheClock => "on_the_clock",
                Turns::WithOutcomes => "with_outcomes",
            };
            vec![
                format!("length: {length}"),
                format!("buckets: {buckets}"),
                format!("turns: {turns}"),
            ]
        }
    };
    parts.push(match it.limit {
        Limit::AtLeast(share) => format!("failure_share: {share}"),
        Limit::MoreThan(share) => format!("more_than: {share}"),
        Limit::Failures(failures) => format!("failures: {failures}"),
    });
    parts.push(format!("minimum_calls: {}", it.minimum_calls));
    if let Some(slow) = it.slow {
        parts.push(format!("slow: {{ longer_than: {}, share: {} }}", slow.longer_than, slow.share));
    }
    match it.judged {
        Judged::OnFailure => {}
        Judged::OnOutcome => parts.push("judged: on_outcome".to_owned()),
        Judged::AtTurns => parts.push("judged: at_turns".to_owned()),
    }
    if it.divisor == Divisor::Fires {
        parts.push("share_of: fires".to_owned());
    }
    put_span(&mut parts, "warm_up", it.warm_up);
    map(&parts)
}

fn open_for(it: &BreakerConfig) -> String {
    let base = format!("base: {}", it.open_for);
    let mut parts = match it.growth {
        OpenGrowth::Constant if it.jitter == OpenJitter::None => return it.open_for.to_string(),
        OpenGrowth::Constant => vec![base],
        OpenGrowth::Times { cap, forget_every } => {
            let mut inner = vec![format!("cap: {cap}")];
            put_span(&mut inner, "forget_every", forget_every);
            vec![base, format!("times: {}", map(&inner))]
        }
        OpenGrowth::Exponential { factor, cap } => {
            vec![base, format!("exponential: {{ factor: {factor}, cap: {cap} }}")]
        }
        OpenGrowth::EqualJittered { cap } => {
            vec![base, format!("equal_jittered: {{ cap: {cap} }}")]
        }
        OpenGrowth::Table { times, len } => {
            let times: Vec<_> =
                times.iter().take(usize::from(len)).map(Duration::to_string).collect();
            vec![format!("table: [{}]", times.join(", "))]
        }
    };
    match it.jitter {
        OpenJitter::None => {}
        OpenJitter::PlusMinus(share) => parts.push(format!("jitter: {{ plus_minus: {share} }}")),
        OpenJitter::Additive(share) => parts.push(format!("jitter: {{ additive: {share} }}")),
        OpenJitter::Extra(most) => parts.push(format!("jitter: {{ extra: {most} }}")),
    }
    map(&parts)
}

fn half_open(it: &HalfOpen) -> String {
    let begins = match it.begins {
        Begins::Lazily => "lazily",
        Begins::ByTimer => "by_timer",
        Begins::Never => "never",
    };
    let places = match it.places {
        Places::AtOnce => "at_once",
        Places::InAll => "in_all",
    };
    let others = match it.others {
        Others::Refused => "refused",
        Others::Wait => "wait",
    };
    let mut parts =
        vec![format!("begins: {begins}"), format!("places: {places}"), format!("others: {others}")];
    match it.decision {
        Decision::First { successes, failures } => {
            if successes > 0 {
                parts.push(format!("closes_after: {successes}"));
            }
            if failures != 1 {
                parts.push(format!("opens_after: {failures}"));
            }
        }
        Decision::AfterAll(all) => parts.push(format!("decides_after: {all}")),
    }
    put_span(&mut parts, "lease", it.lease.unwrap_or_default());
    put_span(&mut parts, "at_most", it.at_most.unwrap_or_default());
    for (is_set, key) in [(it.strictly_after, "strictly_after"), (it.probes_count, "probes_count")]
    {
        if is_set {
            parts.push(format!("{key}: true"));
        }
    }
    map(&parts)
}

fn put_span(parts: &mut Vec<String>, key: &str, span: Duration) {
    if !span.is_zero() {
        parts.push(format!("{key}: {span}"));
    }
}

fn map(parts: &[String]) -> String {
    format!("{{ {} }}", parts.join(", "))
}
