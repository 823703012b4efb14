//! Bulkheads as written.

use crate::policy::limiter::BulkheadConfig;
use crate::policy::limiter::adaptive::AdaptiveConfig;
use crate::policy::limiter::adaptive::aimd::AimdConfig;
use crate::policy::limiter::adaptive::envoy::EnvoyGradientConfig;
use crate::policy::limiter::adaptive::envoy::MOST_SAMPLES;
use crate::policy::limiter::adaptive::gradient::Gradient2Config;
use crate::policy::limiter::adaptive::gradient::GradientConfig;
use crate::policy::limiter::adaptive::vegas::VegasConfig;
use crate::policy::limiter::adaptive::window::WindowConfig;
use crate::policy::limiter::bulkhead::Abandoned;
use crate::policy::limiter::bulkhead::Line;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;

const LINES: [(&str, Line); 2] = [("fifo", Line::Fifo), ("lifo", Line::Lifo)];
const ABANDONED: [(&str, Abandoned); 2] =
    [("free", Abandoned::Free), ("keeps_place", Abandoned::KeepsPlace)];

/// A limit: constant, or one that adapts.
type Limit = (u32, Option<AdaptiveConfig>);

pub(super) fn read_bulkhead(
    node: &Node,
    problems: &mut Problems,
) -> Option<Scoped<BulkheadConfig>> {
    let mut fields = Fields::open(node, "`bulkhead`", problems)?;
    let help = "how many may be under way at once";
    let limit = fields.need("limit", help, problems, read_limit);
    let queue = fields.get("queue", problems, reader::count_or_unlimited(0, MOST_CALLS));
    let max_wait = fields.get("max_wait", problems, reader::positive_span);
    let samples = fields.get("samples", problems, read_samples);
    let line = fields.get("line", problems, reader::word(&LINES));
    let abandoned = fields.get("abandoned", problems, reader::word(&ABANDONED));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let queue = queue
        .map_or(defaults::BULKHEAD_QUEUE, |queue| queue.value.unwrap_or(BulkheadConfig::UNLIMITED));
    let about_waiting: [(&str, Option<Place>); 2] =
        [("max_wait", max_wait.map(|it| it.place)), ("line", line.map(|it| it.place))];
    for (key, place) in about_waiting {
        if let Some(place) = place
            && queue == 0
        {
            problems.push_with(
                place,
                format!("`{key}` is about who waits, and nobody does: the `queue` takes none"),
                "give `queue` a number, or `unlimited`",
            );
        }
    }
    let (limit, adapts) = limit?.value;
    if let Some(samples) = &samples
        && adapts.is_none_or(|it| matches!(it, AdaptiveConfig::MinRtt(_)))
    {
        problems.push_with(
            samples.place,
            "`samples` is about a limit that adapts to them, and does not gather them itself",
            "leave it out, or let `limit` be `{ aimd: {} }`, `{ vegas: {} }`, `{ gradient: {} }` or \
             `{ gradient2: {} }`",
        );
    }
    let config = BulkheadConfig {
        limit,
        adapts,
        samples: samples.map(|samples| samples.value),
        queue,
        max_wait: max_wait.map_or(Duration::MAX, |span| span.value),
        line: line.map_or(Line::Fifo, |word| word.value),
        abandoned: abandoned.map_or(Abandoned::Free, |word| word.value),
    };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

/// A number, or `{ aimd: … }`, `{ vegas: … }`, `{ gradient: … }`, `{ gradient2: … }`,
/// `{ min_rtt: … }`.
fn read_limit(node: &Node, problems: &mut Problems) -> Option<Limit> {
    if !matches!(node.value, Value::Map(_)) {
        return Some((reader::count(1, MOST_CALLS)(node, problems)?, None));
    }
    let mut fields = Fields::open(node, "`limit`", problems)?;
    let chosen = fields.choose(&["aimd", "vegas", "gradient", "gradient2", "min_rtt"], problems);
    fields.close(problems);
    let (kind, node) = chosen?;
    let adapts = match kind {
        "aimd" => AdaptiveConfig::Aimd(read_aimd(node, problems)?),
        "vegas" => AdaptiveConfig::Vegas(read_vegas(node, problems)?),
        "gradient" => AdaptiveConfig::Gradient(read_gradient(node, problems)?),
        "gradient2" => AdaptiveConfig::Gradient2(read_gradient2(node, problems)?),
        _ => AdaptiveConfig::MinRtt(read_min_rtt(node, problems)?),
    };
    Some((adapts.initial(), Some(adapts)))
}

/// The bounds of a limit: where it starts, and what it stays within.
struct Bounds {
    initial: Option<Spanned<u32>>,
    min: Option<Spanned<u32>>,
    max: Option<Spanned<u32>>,
}

impl Bounds {
    fn read(fields: &mut Fields<'_>, with_min: bool, problems: &mut Problems) -> Self {
        let mut count = |key| fields.get(key, problems, reader::count(1, MOST_CALLS));
        let (initial, max) = (count("initial"), count("max"));
        Self { initial, min: if with_min { count("min") } else { None }, max }
    }

    /// What was written, or the defaults; they must be in order.
    fn or(self, default: [u32; 3], place: Place, problems: &mut Problems) -> [u32; 3] {
        let written = [self.initial, self.min, self.max];
        let mut bounds = default;
        for (bound, written) in bounds.iter_mut().zip(written) {
            *bound = written.map_or(*bound, |count| count.value);
        }
        let [initial, min, max] = bounds;
        if min > initial || initial > max {
            problems.push_with(
                written.into_iter().flatten().next().map_or(place, |count| count.place),
                format!("the limit starts at {initial}, outside of {min} to {max}"),
                "set `initial` (and `min`, `max`) so that min ≤ initial ≤ max",
            );
        }
        bounds
    }
}

fn share(fields: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<f64> {
    fields.get(key, problems, reader::real(0.001..=1.0)).map(|it| it.value)
}

fn read_aimd(node: &Node, problems: &mut Problems) -> Option<AimdConfig> {
    let mut fields = Fields::open(node, "`aimd`", problems)?;
    let bounds = Bounds::read(&mut fields, true, problems);
    let backoff = share(&mut fields, "backoff", problems);
    let timeout = fields.get("timeout", problems, reader::positive_span);
    fields.close(problems);
    let known = AimdConfig::DEFAULT;
    let default = [known.initial, known.min, known.max];
    let [initial, min, max] = bounds.or(default, node.place, problems);
    Some(AimdConfig {
        initial,
        min,
        max,
        backoff_milli: backoff.map_or(known.backoff_milli, |share| (share * 1_000.0 + 0.5) as u32),
        timeout: timeout.map_or(known.timeout, |span| span.value),
    })
}

fn read_vegas(node: &Node, problems: &mut Problems) -> Option<VegasConfig> {
    let mut fields = Fields::open(node, "`vegas`", problems)?;
    let bounds = Bounds::read(&mut fields, false, problems);
    let smoothing = share(&mut fields, "smoothing", problems);
    let probe = fields.get("probe_multiplier", problems, reader::count(1, MOST_CALLS));
    fields.close(problems);
    let known = VegasConfig::DEFAULT;
    let [initial, _, max] = bounds.or([known.initial, 1, known.max], node.place, problems);
    Some(VegasConfig {
        initial,
        max,
        smoothing: smoothing.unwrap_or(known.smoothing),
        probe_multiplier: probe.map_or(known.probe_multiplier, |count| count.value),
    })
}

fn read_gradient(node: &Node, problems: &mut Problems) -> Option<GradientConfig> {
    let mut fields = Fields::open(node, "`gradient`", problems)?;
    let bounds = Bounds::read(&mut fields, true, problems);
    let smoothing = share(&mut fields, "smoothing", problems);
    let tolerance = fields.get("tolerance", problems, reader::real(1.0..=100.0));
    let backoff = share(&mut fields, "backoff", problems);
    let probe = fields.get("probe_interval", problems, reader::count(1, MOST_CALLS));
    fields.close(problems);
    let known = GradientConfig::DEFAULT;
    let default = [known.initial, known.min, known.max];
    let [initial, min, max] = bounds.or(default, node.place, problems);
    Some(GradientConfig {
        initial,
        min,
        max,
        smoothing: smoothing.unwrap_or(known.smoothing),
        tolerance: tolerance.map_or(known.tolerance, |it| it.value),
        backoff: backoff.unwrap_or(known.backoff),
        probe_interval: probe.map_or(known.probe_interval, |count| count.value),
    })
}

fn read_gradient2(node: &Node, problems: &mut Problems) -> Option<Gradient2Config> {
    let mut fields = Fields::open(node, "`gradient2`", problems)?;
    let bounds = Bounds::read(&mut fields, true, problems);
    let smoothing = share(&mut fields, "smoothing", problems);
    let tolerance = fields.get("tolerance", problems, reader::real(1.0..=100.0));
    let queue = fields.get("queue", problems, reader::count(0, MOST_CALLS));
    let window = fields.get("long_window", problems, reader::count(1, MOST_CALLS));
    fields.close(problems);
    let known = Gradient2Config::DEFAULT;
    let default = [known.initial, known.min, known.max];
    let [initial, min, max] = bounds.or(default, node.place, problems);
    Some(Gradient2Config {
        initial,
        min,
        max,
        smoothing: smoothing.unwrap_or(known.smoothing),
        tolerance: tolerance.map_or(known.tolerance, |it| it.value),
        queue: queue.map_or(known.queue, |count| count.value),
        long_window: window.map_or(known.long_window, |count| count.value),
    })
}

fn read_min_rtt(node: &Node, problems: &mut Problems) -> Option<EnvoyGradientConfig> {
    let mut fields = Fields::open(node, "`min_rtt`", problems)?;
    let bounds = Bounds { initial: None, ..Bounds::read(&mut fields, true, problems) };
    let buffer = fields.get("buffer", problems, reader::real(0.0..=100.0));
    let percentile = fields.get("percentile", problems, reader::share);
    let update = fields.get("update_interval", problems, reader::positive_span);
    let interval = fields.get("interval", problems, reader::positive_span);
    let jitter = fields.get("jitter", problems, reader::share);
    let requests = fields.get("requests", problems, reader::count(1, MOST_SAMPLES));
    fields.close(problems);
    let known = EnvoyGradientConfig::DEFAULT;
    let min = bounds.min.map_or(known.min, |count| count.value);
    let [_, min, max] = bounds.or([min, known.min, known.max], node.place, problems);
    Some(EnvoyGradientConfig {
        min,
        max,
        buffer: buffer.map_or(known.buffer, |it| it.value),
        percentile_milli: percentile
            .map_or(known.percentile_milli, |it| (it.value.get() * 1_000.0 + 0.5) as u32),
        update_interval: update.map_or(known.update_interval, |span| span.value),
        min_rtt_interval: interval.map_or(known.min_rtt_interval, |span| span.value),
        min_rtt_jitter: jitter.map_or(known.min_rtt_jitter, |share| share.value.get()),
        min_rtt_requests: requests.map_or(known.min_rtt_requests, |count| count.value),
    })
}

/// Windows of requests that a limit hears of; `{}` for Netflix's.
fn read_samples(node: &Node, problems: &mut Problems) -> Option<WindowConfig> {
    let mut fields = Fields::open(node, "`samples`", problems)?;
    let shortest = fields.get("shortest", problems, reader::positive_span);
    let longest = fields.get("longest", problems, reader::positive_span);
    let more_than = fields.get("more_than", problems, reader::count(0, MOST_CALLS));
    let ignored = fields.get("ignored", problems, reader::span);
    fields.close(problems);
    let known = WindowConfig::DEFAULT;
    let shortest = shortest.map_or(known.shortest, |span| span.value);
    let most = longest.as_ref().map_or(known.longest.max(shortest), |span| span.value);
    if let Some(longest) = longest
        && longest.value < shortest
    {
        problems.push_with(
            longest.place,
            format!("the longest window is shorter than the shortest, {shortest}"),
            "set `longest` to `shortest` or more",
        );
    }
    Some(WindowConfig {
        shortest,
        longest: most,
        minimum: more_than.map_or(known.minimum, |count| count.value),
        ignored: ignored.map_or(known.ignored, |span| span.value),
    })
}
