//! `clients`: who asks, when, and whom.

use crate::random::Distribution;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::deferred::read_reply;
use crate::scenario::file::distribution;
use crate::scenario::file::effects::read_operation;
use crate::scenario::file::reference;
use crate::scenario::model::Burst;
use crate::scenario::model::Deferred;
use crate::scenario::model::Operation;
use crate::scenario::model::Process;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;
use crate::units::Rate;

const MOST_CLIENTS: u32 = 100_000_000;
const MOST_IN_A_BURST: u32 = 10_000_000;
const MOST_POINTS: usize = 10_000;
const ARRIVALS: [&str; 4] = ["poisson", "constant", "burst", "schedule"];
const PROCESSES: [(&str, Process); 2] =
    [("poisson", Process::Poisson), ("constant", Process::Even)];

/// A population as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenClients {
    pub(in crate::scenario) population: Option<Spanned<u32>>,
    pub(in crate::scenario) arrivals: Option<WrittenArrivals>,
    pub(in crate::scenario) calls: Option<Spanned<String>>,
    pub(in crate::scenario) policy: Option<Spanned<String>>,
    pub(in crate::scenario) deadline: Option<Spanned<Duration>>,
    pub(in crate::scenario) operation: Option<Spanned<Operation>>,
    pub(in crate::scenario) reply: Option<Deferred>,
    pub(in crate::scenario) queue: Option<Spanned<String>>,
}

/// When they ask, as written: moments count from the end of the warm-up.
#[derive(Clone, Debug)]
pub(in crate::scenario) enum WrittenArrivals {
    /// Open loop.
    Open {
        /// How arrivals lie around the rate.
        process: Process,
        /// The rate over time; empty when there are only bursts.
        points: Vec<RatePoint>,
        /// Requests born together.
        bursts: Vec<Burst>,
    },
    /// Closed loop.
    Users {
        /// Between a verdict and the next request.
        think: Distribution,
    },
}

/// From `at` on, over `ramp`, the rate goes to `rate`.
#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) struct RatePoint {
    pub(in crate::scenario) at: Duration,
    pub(in crate::scenario) rate: Rate,
    pub(in crate::scenario) ramp: Duration,
    pub(in crate::scenario) place: Place,
}

pub(super) fn read(node: &Node, problems: &mut Problems) -> Option<WrittenClients> {
    let mut fields = Fields::open(node, "a population", problems)?;
    let population = fields.get("population", problems, reader::count(1, MOST_CLIENTS));
    let arrivals = match fields.choose(&["arrivals", "users"], problems) {
        Some(("arrivals", node)) => read_arrivals(node, problems),
        Some((_, node)) => read_users(node, problems),
        None => None,
    };
    let calls = fields.need("calls", "name the service its requests go to", problems, reference);
    let policy = fields.get("policy", problems, reference);
    let deadline = fields.get("deadline", problems, reader::positive_span);
    let operation = fields.get("operation", problems, read_operation);
    let reply = fields.take("reply").and_then(|node| read_reply(node, problems));
    let queue = fields.get("queue", problems, reference);
    fields.close(problems);
    Some(WrittenClients { population, arrivals, calls, policy, deadline, operation, reply, queue })
}

fn read_users(node: &Node, problems: &mut Problems) -> Option<WrittenArrivals> {
    let mut fields = Fields::open(node, "`users`", problems)?;
    let help = "the time between an answer and the next request, as `{ exponential: 5s }`";
    let think = fields.need("think", help, problems, distribution::read);
    fields.close(problems);
    Some(WrittenArrivals::Users { think: think?.value })
}

/// One source of arrivals, or a list of at most one rate and any number of bursts.
fn read_arrivals(node: &Node, problems: &mut Problems) -> Option<WrittenArrivals> {
    let sources = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if sources.is_empty() || sources.len() > MOST_POINTS {
        problems.push_with(
            node.place,
            format!("`arrivals` lists 1 to {MOST_POINTS} sources, and here are {}", sources.len()),
            "as `[{ poisson: 25/s }, { burst: { count: 500, at: 5min } }]`",
        );
        return None;
    }
    let mut stream: Option<(Process, Vec<RatePoint>)> = None;
    let mut bursts = Vec::new();
    for source in sources {
        let Some(entry) = reader::only_entry(
            source,
            "a source of arrivals",
            "{ poisson: 25/s }",
            &ARRIVALS,
            problems,
        ) else {
            continue;
        };
        let found = match entry.key.as_str() {
            "poisson" => level(&entry.node, Process::Poisson, problems),
            "constant" => level(&entry.node, Process::Even, problems),
            "schedule" => read_schedule(&entry.node, problems),
            "burst" => {
                bursts.extend(read_burst(&entry.node, problems));
                continue;
            }
            other => {
                reader::unknown(entry.place, "kind of arrivals", other, &ARRIVALS, problems);
                continue;
            }
        };
        if stream.is_some() {
            problems.push_with(
                entry.place,
                "a population has one rate besides its bursts",
                "add a second population, or use `schedule`",
            );
        }
        stream = found.or(stream);
    }
    let (process, points) = stream.unwrap_or((Process::Poisson, Vec::new()));
    Some(WrittenArrivals::Open { process, points, bursts })
}

fn level(
    node: &Node,
    process: Process,
    problems: &mut Problems,
) -> Option<(Process, Vec<RatePoint>)> {
    let rate = reader::positive_rate(node, problems)?;
    let start = Duration::ZERO;
    Some((process, vec![RatePoint { at: start, rate, ramp: start, place: node.place }]))
}

fn read_burst(node: &Node, problems: &mut Problems) -> Option<Burst> {
    let mut fields = Fields::open(node, "`burst`", problems)?;
    let count = fields.need("count", "how many", problems, reader::count(1, MOST_IN_A_BURST));
    let at = fields.need("at", "when, from the end of the warm-up", problems, reader::span);
    fields.close(problems);
    Some(Burst { at: at?.value, count: count?.value })
}

fn read_schedule(node: &Node, problems: &mut Problems) -> Option<(Process, Vec<RatePoint>)> {
    let mut fields = Fields::open(node, "`schedule`", problems)?;
    let process = fields.get("process", problems, reader::word(&PROCESSES));
    let help = "a list of `{ at: 5min, rate: 250/s, ramp: 10s }`";
    let rates = fields.need("rates", help, problems, |n, p| {
        let items = reader::list(n, "`rates`", p)?;
        if items.is_empty() || items.len() > MOST_POINTS {
            let problem =
                format!("`rates` lists 1 to {MOST_POINTS} moments, and here are {}", items.len());
            p.push_with(n.place, problem, help);
            return None;
        }
        let points: Vec<_> = items.iter().filter_map(|item| read_point(item, p)).collect();
        (points.len() == items.len()).then_some(points)
    });
    fields.close(problems);
    let points = rates?.value;
    if !points[0].at.is_zero() || !points[0].ramp.is_zero() {
        problems.push_with(
            points[0].place,
            "the first rate holds from the start, warm-up included",
            "leave `at` and `ramp` out of the first entry",
        );
    }
    for pair in points.windows(2) {
        if pair[1].at <= pair[0].at || pair[1].at < pair[0].at.saturating_add(pair[0].ramp) {
            problems.push_with(
                pair[1].place,
                "the moments of a schedule rise, and ramps do not overlap",
                "sort the entries by `at`",
            );
        }
    }
    Some((process.map_or(Process::Poisson, |process| process.value), points))
}

fn read_point(node: &Node, problems: &mut Problems) -> Option<RatePoint> {
    let mut fields = Fields::open(node, "an entry of `rates`", problems)?;
    let at = fields.get("at", problems, reader::span);
    let rate = fields.need("rate", "the rate from there on, as `250/s`", problems, reader::rate);
    let ramp = fields.get("ramp", problems, reader::span);
    fields.close(problems);
    Some(RatePoint {
        at: at.map_or(Duration::ZERO, |at| at.value),
        rate: rate?.value,
        ramp: ramp.map_or(Duration::ZERO, |ramp| ramp.value),
        place: node.place,
    })
}
