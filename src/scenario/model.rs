//! The scenario as meant: checked, nothing optional that has a default, entities by index.
//!
//! This is what the engine runs and what `explain` prints. Everything in it has passed
//! `validate.rs`; whoever builds one by hand must keep the invariants stated on the fields.

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::stack::Policy;
use crate::random::Distribution;
use crate::units::Duration;
use crate::units::Rate;
use crate::units::Share;

/// A scenario file, checked: the base and its variants.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// Names the results folder.
    pub name: String,
    /// One sentence: what happens.
    pub about: String,
    /// Where the numbers come from; what is left out.
    pub source: String,
    /// The base first (named `base`), then the variants in the order of the file.
    pub variants: Vec<Variant>,
    /// What `check` asserts.
    pub expect: Vec<Expectation>,
    /// BLAKE3 of the text, in hex: names the scenario in manifests.
    pub fingerprint: String,
}

/// One system with one set of policies: the base, or the base with some settings changed.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// `base`, or the variant's key.
    pub name: String,
    /// What it changes and why; empty when the file does not say.
    pub about: String,
    /// The system as meant.
    pub model: Model,
}

/// A system, its load and its disturbances.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// How it is run and judged.
    pub run: RunSettings,
    /// Who asks.
    pub populations: Vec<Population>,
    /// Who answers.
    pub services: Vec<Service>,
    /// Who calls whom, under which policy. Populations' edges first, in order.
    pub edges: Vec<Edge>,
    /// The policies that edges name.
    pub policies: Vec<Policy>,
    /// What goes wrong, by time.
    pub triggers: Vec<Trigger>,
    /// What people do about it, by time.
    pub operator: Vec<Action>,
}

/// Index into `Model::populations`.
pub type PopulationId = usize;
/// Index into `Model::services`.
pub type ServiceId = usize;
/// Index into `Model::edges`.
pub type EdgeId = usize;
/// Index into `Model::policies`.
pub type PolicyId = usize;

/// How a scenario is run and judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSettings {
    /// Simulated time after the warm-up, a whole number of windows; time 0 of every moment in the
    /// scenario is the end of the warm-up.
    pub horizon: Duration,
    /// Simulated before time 0 and left out of every measure; a whole number of windows.
    pub warm_up: Duration,
    /// Width of the time series.
    pub window: Duration,
    /// Independent runs.
    pub replications: u32,
    /// The first seed; replication `i` is keyed by `(seed, i)`.
    pub seed: u64,
    /// How recovery is judged.
    pub recovery: RecoverySettings,
    /// What ends a run that explodes.
    pub limits: Limits,
}

/// How recovery is judged (defaults: w = max(5 s, 5 T, 20 windows, 600/λ), hold 3 w, 5 %, 10 w).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecoverySettings {
    /// w: the span over which goodput is averaged; a whole number of windows.
    pub window: Duration,
    /// How long the criterion must hold; a whole number of windows.
    pub hold: Duration,
    /// eps: how far below the baseline still counts as recovered.
    pub tolerance: Share,
    /// B: the span before the first trigger that gives the baseline.
    pub baseline: Duration,
}

/// Limits of one run. Reaching one ends it, keeps what was measured and says which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Requests and attempts in flight (whichever is more).
    pub in_flight: u64,
    /// Events pending.
    pub pending: u64,
    /// Events of the run, at most 4 · 10⁹.
    pub events: u64,
    /// Memory of the engine's own structures, in bytes.
    pub memory_bytes: u64,
    /// Wall time of one run; `None`: without limit.
    pub wall: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 2_000_000,
            pending: 20_000_000,
            events: 2_000_000_000,
            memory_bytes: 4 << 30,
            wall: None,
        }
    }
}

/// A population of equal clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Population {
    /// Its name in the scenario.
    pub name: String,
    /// Instances; at least 1.
    pub size: u32,
    /// When they ask.
    pub arrivals: Arrivals,
    /// The one call that a request makes.
    pub calls: EdgeId,
    /// How long after its birth an answer is still worth something.
    pub deadline: Option<Duration>,
}

impl Population {
    /// The mean arrival rate over `span` after the warm-up, in requests per second; a closed
    /// population counts as if answers took no time.
    pub fn mean_rate(&self, warm_up: Duration, span: Duration) -> f64 {
        match &self.arrivals {
            Arrivals::Open(open) => open.mean_rate(warm_up, warm_up.saturating_add(span)),
            Arrivals::Closed { think } => {
                let think = think.mean().as_secs_f64();
                if think > 0.0 { f64::from(self.size) / think } else { 0.0 }
            }
        }
    }
}

/// When requests are born.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Arrivals ignore replies; each request comes from one instance, drawn evenly.
    Open(OpenArrivals),
    /// Each instance waits for its verdict, thinks, and asks again; it starts with a think time.
    Closed {
        /// The time between a verdict and the next request.
        think: Distribution,
    },
}

/// An open-loop arrival process: a rate over time, and bursts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenArrivals {
    /// How arrivals lie around the rate.
    pub process: Process,
    /// The total rate of the population, piecewise linear, by time from the start of the warm-up.
    /// Segments follow one another without gaps and cover the run; the first starts at 0.
    pub segments: Vec<RateSegment>,
    /// Requests born together.
    pub bursts: Vec<Burst>,
}

impl OpenArrivals {
    /// The mean rate from `from` to `until` (since the start of the warm-up), bursts left out, in
    /// requests per second; the rate at the start when the span is empty.
    pub fn mean_rate(&self, from: Duration, until: Duration) -> f64 {
        let (from, until) = (from.as_secs_f64(), until.as_secs_f64());
        if until <= from {
            return self.segments.first().map_or(0.0, |segment| segment.start.as_per_second());
        }
        let births: f64 = self.segments.iter().map(|segment| segment.births(from, until)).sum();
        births / (until - from)
    }
}

impl RateSegment {
    /// The requests expected between two moments, in seconds.
    fn births(&self, from: f64, until: f64) -> f64 {
        let (start, end) = (self.from.as_secs_f64(), self.until.as_secs_f64());
        let (a, b) = (start.max(from), end.min(until));
        if a >= b {
            return 0.0;
        }
        let (low, high) = (self.start.as_per_second(), self.end.as_per_second());
        let rate = |t: f64| low + (high - low) * ((t - start) / (end - start));
        (b - a) * (rate(a) + rate(b)) / 2.0
    }
}

/// How arrivals lie around their rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// A Poisson process of that rate.
    Poisson,
    /// One arrival each time the integral of the rate passes a whole number.
    Even,
}

/// A stretch of time on which the arrival rate is a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSegment {
    /// Its start, since the start of the warm-up.
    pub from: Duration,
    /// Its end; the last segment ends at `Duration::MAX`, and is level.
    pub until: Duration,
    /// The rate at its start.
    pub start: Rate,
    /// The rate at its end.
    pub end: Rate,
}

/// Requests born at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// When, since the start of the warm-up.
    pub at: Duration,
    /// How many.
    pub count: u32,
}

/// A service: replicas that answer calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Service {
    /// Its name in the scenario.
    pub name: String,
    /// Replicas; at least 1.
    pub replicas: u32,
    /// Workers of each replica; at least 1.
    pub workers: u32,
    /// Does a worker wait with its request while a call and its back-off are out?
    pub holds_worker: bool,
    /// Where attempts wait for a worker; one queue per replica.
    pub queue: Queue,
    /// What happens to work whose caller left.
    pub cancellation: Cancellation,
    /// A worker's own work on one attempt.
    pub work: Distribution,
    /// Errors of its own, besides those of triggers.
    pub errors: Option<Errors>,
    /// Calls made after the own work, one after another.
    pub calls: Vec<EdgeId>,
    /// What pushes a replica over, and how it comes back.
    pub overload: Option<Overload>,
    /// How attempts are spread over replicas.
    pub balance: Balance,
}

/// How attempts are spread over replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// Each edge deals its attempts out in turn.
    RoundRobin,
    /// Drawn evenly for each attempt.
    Random,
}

/// Where attempts wait for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Attempts that may wait, service not included; `None`: without limit.
    pub limit: Option<u32>,
    /// Who is next.
    pub order: QueueOrder,
    /// What an attempt hears that finds it full.
    pub when_full: WhenFull,
    /// Is work dropped, unserved, when its turn comes and its caller has left or its deadline has
    /// passed?
    pub drop_expired: bool,
}

/// Who is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueOrder {
    /// First in, first out.
    Fifo,
    /// Last in, first out.
    Lifo,
}

/// What an attempt hears that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// `overloaded`, at once.
    Reply,
    /// Nothing.
    Drop,
}

/// What happens to work whose caller left (the caller tells it, along the link).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancellation {
    /// The server never learns of it: everything is finished.
    None,
    /// Work still waiting is removed from the queue; work in service is finished.
    Queue,
    /// Both stop, and so do calls and retries below.
    Full,
}

/// A share of attempts that end in an error instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// What the caller hears.
    pub class: Class,
    /// How many of them.
    pub share: Share,
}

/// What pushes a replica over, and how it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overload {
    /// Attempts present at one replica (in service, waiting, and out on calls; abandoned ones
    /// included) at which it crashes; `None`: it never crashes of its own, but restarts use the
    /// rest.
    pub crashes_at: Option<u32>,
    /// How long a crashed or restarted replica refuses.
    pub restarts_after: Duration,
    /// How slow it is afterwards.
    pub cold: Option<Cold>,
}

/// A replica that has just come back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cold {
    /// Work begun while cold takes that many times as long; at least 1.
    pub work_factor: f64,
    /// For how long after coming back.
    pub lasts: Duration,
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// A client of a population.
    Population(PopulationId),
    /// A handler of a service.
    Service(ServiceId),
}

/// Who calls whom.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// Who asks.
    pub caller: Caller,
    /// Who answers.
    pub target: ServiceId,
    /// Under which policy.
    pub policy: PolicyId,
    /// The network between them.
    pub link: Link,
}

/// The network between a caller and a service; the same both ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// The time one message takes.
    pub latency: Distribution,
    /// The share of messages that never arrive, each way.
    pub loss: Share,
}

/// A disturbance: it starts, lasts, and is lifted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trigger {
    /// Its start, since the end of the warm-up.
    pub at: Duration,
    /// How long until it is lifted.
    pub lasts: Duration,
    /// What it does.
    pub effect: Effect,
}

/// What a disturbance does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The service refuses new attempts at once (`unavailable`); what is inside goes on.
    Refuse(ServiceId),
    /// The service swallows: what is inside at the start and what arrives is never answered; when
    /// lifted it begins empty.
    Hang(ServiceId),
    /// Work begun takes `factor` times as long.
    Slow {
        /// Where.
        service: ServiceId,
        /// At least 1.
        factor: f64,
    },
    /// A share of the attempts that end their work during it end with an error.
    Errors {
        /// Where.
        service: ServiceId,
        /// Which and how many.
        errors: Errors,
    },
    /// Only `share` of the workers of each replica take up work (rounded to the nearest whole
    /// worker; work in service is finished). Zero pauses the service.
    Workers {
        /// Where.
        service: ServiceId,
        /// The share that is left.
        share: Share,
    },
    /// Every replica loses what is inside (`connection_lost`), refuses for the length of the
    /// trigger and comes back cold, if the service has `overload.cold`.
    Restart(ServiceId),
    /// The arrival rate of a population is multiplied.
    Surge {
        /// Whose.
        population: PopulationId,
        /// By how much, at least 0.
        factor: f64,
    },
}

/// What people do, at a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    /// When, since the end of the warm-up.
    pub at: Duration,
    /// What.
    pub what: Deed,
}

/// What people do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// A share of the requests of a population ends at birth, for a while.
    Shed {
        /// Whose.
        population: PopulationId,
        /// How many of them.
        share: Share,
        /// For how long.
        lasts: Duration,
    },
    /// From here on the system is `model`, which has the same populations, services and edges:
    /// settings of policies, queues, workers and the like may differ.
    Set {
        /// The change as written, for people.
        change: String,
        /// The whole system after the change.
        model: Box<Model>,
    },
    /// Everything that waits in the service's queues is removed; callers hear `overloaded`.
    Flush(ServiceId),
    /// As the effect of that name, for `Overload::restarts_after` (1 s where there is none).
    Restart(ServiceId),
}

impl Deed {
    /// How long a restart takes where the service has no `overload.restarts_after`.
    pub const RESTART_LASTS: Duration = Duration::from_secs(1);
}

/// One line of `expect`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    /// The variant it speaks of (index into `Scenario::variants`).
    pub variant: usize,
    /// What is compared.
    pub measure: ExpectedMeasure,
    /// How.
    pub comparison: Comparison,
    /// Line of the scenario file, from 1.
    pub line: usize,
    /// The expectation as written.
    pub text: String,
}

/// What an expectation speaks of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedMeasure {
    /// The share of stuck runs.
    StuckShare,
    /// The share of runs that recovered, within a span after the last trigger if given.
    RecoveredShare(Option<Duration>),
    /// The share of runs that recovered within a span after the first operator action.
    RecoveredAfterActionShare(Duration),
    /// The share of control runs that are healthy.
    ControlHealthyShare,
    /// The median recovery time in seconds.
    RecoveryMedian,
    /// The restricted mean of the recovery time in seconds.
    RecoveryRestrictedMean,
    /// Peak amplification of a service.
    PeakAmplification(ServiceId),
    /// Amplification of a service over the whole run.
    WholeAmplification(ServiceId),
    /// Goodput ratio before the trigger, during it, or in the last quarter after it.
    GoodputRatio(Phase),
    /// The share of requests born between trigger and recovery horizon that failed.
    LostShare,
    /// The finding, by name.
    Finding(String),
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// From time 0 to the first trigger.
    Before,
    /// From the first trigger's start to the last one's end.
    During,
    /// From the last trigger's end to the horizon.
    After,
}

/// How an expectation compares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// At least.
    AtLeast(f64),
    /// At most.
    AtMost(f64),
    /// The name given is the name found.
    Is,
}

impl Model {
    /// The first trigger's start and the last trigger's end, since the end of the warm-up.
    pub fn trigger_span(&self) -> Option<(Duration, Duration)> {
        let starts = self.triggers.iter().map(|trigger| trigger.at).min()?;
        let ends =
            self.triggers.iter().map(|trigger| trigger.at.saturating_add(trigger.lasts)).max()?;
        Some((starts, ends))
    }

    /// The same system with nothing going wrong and nobody acting: the control twin.
    pub fn control_twin(&self) -> Self {
        Self { triggers: Vec::new(), operator: Vec::new(), ..self.clone() }
    }

    /// Does no request ever give up? Then goodput says nothing of a backlog: it is back at once
    /// after an outage, although every answer is late.
    pub fn waits_for_ever(&self) -> bool {
        let patient =
            |policy: &Policy| policy.attempt_timeout.is_none() && policy.timeout.is_none();
        self.populations.iter().all(|population| population.deadline.is_none())
            && self.edges.iter().all(|edge| patient(&self.policies[edge.policy]))
    }

    /// The mean arrival rate of a population from the end of the warm-up to the first trigger (to
    /// the horizon where there is none), in requests per second. A closed population counts as if
    /// answers took no time, which is the most it can ask.
    pub fn healthy_rate(&self, population: PopulationId) -> f64 {
        let until = self.trigger_span().map_or(self.run.horizon, |(start, _)| start);
        self.populations[population].mean_rate(self.run.warm_up, until)
    }

    /// The policy of an edge.
    pub fn policy_of(&self, edge: EdgeId) -> &Policy {
        &self.policies[self.edges[edge].policy]
    }
}
