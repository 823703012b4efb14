//! What a scenario means where it says nothing: each default once, with its reason.
//!
//! `explain` marks these values, and the checked scenario saved with every run holds them.

use crate::policy::backoff::Jitter;
use crate::policy::breaker::LateResults;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::scenario::model::Balance;
use crate::scenario::model::Cancellation;
use crate::scenario::model::Claim;
use crate::scenario::model::ClaimOrder;
use crate::scenario::model::CounterScope;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::JobsMeanwhile;
use crate::scenario::model::Operation;
use crate::scenario::model::QueueOrder;
use crate::scenario::model::Refused;
use crate::scenario::model::Remembers;
use crate::scenario::model::Requeue;
use crate::scenario::model::Returns;
use crate::scenario::model::WhenFull;
use crate::units::Duration;
use crate::units::Share;

/// Half an hour after the warm-up: long enough for most storms to end or to settle.
pub const HORIZON: Duration = Duration::from_secs(30 * 60);
/// A minute lets queues and orbits of an interactive system fill.
pub const WARM_UP: Duration = Duration::from_secs(60);
/// One second is what people's own dashboards show.
pub const WINDOW: Duration = Duration::from_secs(1);
/// Below 73 runs no share can be called safe, and below 100 none reaches 95 % with a run to spare.
pub const REPLICATIONS: u32 = 100;
/// Any number would do; the same one everywhere makes results comparable.
pub const SEED: u64 = 1;

/// The shortest recovery window: shorter ones read noise as relapse.
pub const RECOVERY_WINDOW_LEAST: Duration = Duration::from_secs(5);
/// Recovery windows cover five attempt timeouts, so one wave of timeouts is not a relapse.
pub const RECOVERY_WINDOW_TIMEOUTS: u32 = 5;
/// Recovery windows cover twenty windows of the time series, the grid they move on.
pub const RECOVERY_WINDOW_WINDOWS: u32 = 20;
/// Recovery windows expect 600 births, so the counting noise stays below the 20 % that is bearable.
pub const RECOVERY_WINDOW_BIRTHS: f64 = 600.0;
/// Goodput must hold for three recovery windows: one good window is not recovery.
pub const HOLD_WINDOWS: u32 = 3;
/// Within 5 % of the baseline counts as recovered.
pub const TOLERANCE: f64 = 0.05;
/// The baseline is ten recovery windows where there is room.
pub const BASELINE_WINDOWS: u32 = 10;
/// Below three recovery windows a baseline is noise.
pub const BASELINE_WINDOWS_LEAST: u32 = 3;

/// One instance: the arrival rate is the population's total, so size only matters to state that
/// is kept per instance.
pub const POPULATION: u32 = 1;
/// One replica: capacity is then what `workers` and `work` say.
pub const REPLICAS: u32 = 1;
/// A thread per request is what most servers do: the worker waits with its request.
pub const HOLDS_WORKER: bool = true;
/// Nobody bounded it: the queue of a server left alone grows until something breaks.
pub const QUEUE_LIMIT: Option<u32> = None;
/// First in, first out.
pub const QUEUE_ORDER: QueueOrder = QueueOrder::Fifo;
/// A full queue answers at once, as an HTTP server with a 503 does.
pub const WHEN_FULL: WhenFull = WhenFull::Reply;
/// Most servers never look whether the caller is still there.
pub const DROP_EXPIRED: bool = false;
/// Most servers never learn that the caller left (rule R9).
pub const CANCELLATION: Cancellation = Cancellation::None;
/// What load balancers do unless told otherwise.
pub const BALANCE: Balance = Balance::RoundRobin;

/// A call asks and changes nothing.
pub const OPERATION: Operation = Operation::Read;
/// Luck is drawn anew for each attempt.
pub const ERRORS_OF: ErrorsOf = ErrorsOf::Attempts;
/// The shorter of the lives of keys that are usual, 24 h and 48 h.
pub const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// 409: the first with this key is still being worked on.
pub const IN_PROGRESS: Class = Class::Rejected;
/// A failure forgets its key, so that a retry can succeed.
pub const REMEMBERS: Remembers = Remembers::Success;

/// One process: `workers` then says how much is executed at once.
pub const PROCESSES: u32 = 1;
/// A look at the table each second takes up to a hundred due jobs, those due for longest first, and
/// no more than there are workers for; nothing else holds it back.
pub const CLAIM: Claim = Claim {
    every: Duration::from_secs(1),
    batch: 100,
    prefetch: 0,
    order: ClaimOrder::OldestDue,
    rate: None,
    idles_when_open: false,
};
/// Without a word about it, a claim holds for ever.
pub const LEASE: Option<Duration> = None;
/// Without a word about it, no job is tried again.
pub const EXECUTIONS: u32 = 1;
/// The library throws, and to the queue that is a failure as any other.
pub const REFUSED: Refused = Refused::Fails;
/// What was never sent says nothing of the job.
pub const CONSUMES_ATTEMPT: bool = false;
/// Executions to one destination follow one another evenly.
pub const DELIVERY_BURST: u32 = 1;
/// What will not change by itself is worth telling the owner.
pub const SUSPENDS: ClassSet = ClassSet::PERMANENT;
/// Nothing is lost while the owner is told.
pub const JOBS_MEANWHILE: JobsMeanwhile = JobsMeanwhile::Wait;
/// Back to pending, with the same due time.
pub const RETURNS: Returns = Returns::Due(Duration::ZERO);
/// What is counted outside a job is meant to count its own failures.
pub const COUNTER_SCOPE: CounterScope = CounterScope::Job;
/// Whoever lost the claim has nothing to say any more.
pub const REQUEUE: Requeue = Requeue::CompareAndSet;
/// Whoever looks first takes it.
pub const ELSEWHERE: bool = false;
/// The standard: each attempt is signed afresh.
pub const SIGNED_ONCE: bool = false;
/// A signature that is too old proves nothing: 401.
pub const STALE_SIGNATURE: Class = Class::Denied;

/// Nothing adds a delay that nobody wrote down.
pub const LATENCY: Duration = Duration::ZERO;
/// Networks within a data centre lose next to nothing.
pub const LOSS: Share = Share::ZERO;

/// The policy of a caller that names none: one attempt, no timeout, no state.
pub const NO_POLICY: &str = "none";
/// One attempt and two retries, as the AWS SDKs' standard mode.
pub const MAX_ATTEMPTS: u32 = 3;
/// The window doubles.
pub const FACTOR: f64 = 2.0;
/// Without a word about it, nothing spreads the waits: that is how storms are made.
pub const JITTER: Jitter = Jitter::None;
/// What another try may cure.
pub const RETRIED: ClassSet = ClassSet::TRANSIENT;
/// gRPC allows retries while more than half of the tokens are left.
pub const THRESHOLD: f64 = 0.5;
/// The reserve of Finagle and tower: 10 retries per second over a window of 10 s.
pub const BUDGET_CAP_TOKENS: u32 = 100;
/// A failure takes one token (gRPC); google-cloud-gax takes ten of a hundred.
pub const TOKEN_COST: u32 = 1;
/// A success without a retry gives the quota of the AWS SDKs one token.
pub const QUOTA_REWARD: u32 = 1;
/// Deposits and withdrawals of Finagle, tower and Linkerd count for ten seconds.
pub const BUDGET_TTL: Duration = Duration::from_secs(10);
/// Their reserve pays for ten retries per second.
pub const BUDGET_MIN_PER_SECOND: u32 = 10;
/// Envoy always grants three retries at once.
pub const ACTIVE_SHARE_MIN: u32 = 3;
/// The SRE book counts requests and accepts over two minutes.
pub const THROTTLE_WINDOW: Duration = Duration::from_secs(120);
/// Two requests for each one accepted (SRE book).
pub const THROTTLE_K: u32 = 2;
/// Envoy's admission control counts over half a minute,
pub const ADMISSION_WINDOW: Duration = Duration::from_secs(30);
/// turns nothing away above 95 % of successes,
pub const ADMISSION_THRESHOLD: f64 = 0.95;
/// and never more than 80 %.
pub const ADMISSION_CAP: f64 = 0.8;
/// One probe decides (Polly, Hystrix, cockatiel).
pub const PROBES: u32 = 1;
/// A result from before the last change of state says nothing about the present one.
pub const LATE_RESULTS: LateResults = LateResults::Ignore;
/// Breakers of most libraries count whatever they do not recognise as a caller's own mistake: the
/// transient classes, `internal` and `protocol`. A domain failure (`rejected`, `denied`, `gone`,
/// `not_found`, `fatal`) proves the endpoint alive, and what the caller's own policy refused says
/// nothing about it. A token bucket, by contrast, is paid by the failures that are retried, as in
/// gRPC.
pub const BREAKER_COUNTS: ClassSet =
    ClassSet::TRANSIENT.union(ClassSet::of(&[Class::Internal, Class::Protocol]));
/// A bulkhead without a queue, as in Polly, Hystrix and resilience4j.
pub const BULKHEAD_QUEUE: u32 = 0;
/// One attempt and one beside it: Polly, .NET and Finagle send one.
pub const HEDGE_ATTEMPTS: u32 = 2;
/// Finagle's latencies are those of the last half minute.
pub const HEDGE_WINDOW: Duration = Duration::from_secs(30);
/// Of fewer than twenty latencies the 95th percentile is the longest.
pub const HEDGE_MINIMUM: u32 = 20;
