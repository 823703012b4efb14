//! A bulkhead as meant, as text.

use crate::lint::meant::Lines;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::limiter::adaptive::AdaptiveConfig;
use crate::policy::limiter::bulkhead::Abandoned;
use crate::policy::limiter::bulkhead::Line;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::units::Duration;

pub(super) fn bulkhead(out: &mut Lines, it: &Scoped<BulkheadConfig>) {
    let BulkheadConfig { limit, adapts, samples, queue, max_wait, line, abandoned } = it.config;
    out.open(2, "bulkhead");
    match &adapts {
        None => out.put(3, "limit", limit),
        Some(adapts) => out.put(3, "limit", adaptive(adapts)),
    }
    if let Some(it) = samples {
        let shown = format!(
            "{{ shortest: {}, longest: {}, more_than: {}, ignored: {} }}",
            it.shortest, it.longest, it.minimum, it.ignored
        );
        out.put(3, "samples", shown);
    }
    let shown = match queue {
        BulkheadConfig::UNLIMITED => "unlimited".to_owned(),
        queue => queue.to_string(),
    };
    out.put_or(3, "queue", (queue, defaults::BULKHEAD_QUEUE), shown);
    if max_wait != Duration::MAX {
        out.put(3, "max_wait", max_wait);
    }
    if line == Line::Lifo {
        out.put(3, "line", "lifo");
    }
    if abandoned == Abandoned::KeepsPlace {
        out.put(3, "abandoned", "keeps_place");
    }
    out.put(3, "per", it.per);
}

/// An adaptive limit on one line.
fn adaptive(it: &AdaptiveConfig) -> String {
    let share = |milli: u32| f64::from(milli) / 1_000.0;
    match it {
        AdaptiveConfig::Aimd(it) => format!(
            "{{ aimd: {{ initial: {}, min: {}, max: {}, backoff: {}, timeout: {} }} }}",
            it.initial,
            it.min,
            it.max,
            share(it.backoff_milli),
            it.timeout
        ),
        AdaptiveConfig::Vegas(it) => format!(
            "{{ vegas: {{ initial: {}, max: {}, smoothing: {}, probe_multiplier: {} }} }}",
            it.initial, it.max, it.smoothing, it.probe_multiplier
        ),
        AdaptiveConfig::Gradient(it) => format!(
            "{{ gradient: {{ initial: {}, min: {}, max: {}, smoothing: {}, tolerance: {}, \
             backoff: {}, probe_interval: {} }} }}",
            it.initial, it.min, it.max, it.smoothing, it.tolerance, it.backoff, it.probe_interval
        ),
        AdaptiveConfig::Gradient2(it) => format!(
            "{{ gradient2: {{ initial: {}, min: {}, max: {}, smoothing: {}, tolerance: {}, \
             queue: {}, long_window: {} }} }}",
            it.initial, it.min, it.max, it.smoothing, it.tolerance, it.queue, it.long_window
        ),
        AdaptiveConfig::MinRtt(it) => format!(
            "{{ min_rtt: {{ min: {}, max: {}, buffer: {}, percentile: {}, update_interval: {}, \
             interval: {}, jitter: {}, requests: {} }} }}",
            it.min,
            it.max,
            it.buffer,
            share(it.percentile_milli),
            it.update_interval,
            it.min_rtt_interval,
            it.min_rtt_jitter,
            it.min_rtt_requests
        ),
    }
}
