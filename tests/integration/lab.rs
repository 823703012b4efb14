//! Small systems for tests: a text in, a model out, and a diary of what happens in it.

use std::sync::atomic::AtomicBool;

use stormlab::engine;
use stormlab::engine::RunReport;
use stormlab::engine::observe::DeadLetter;
use stormlab::engine::observe::Deferral;
use stormlab::engine::observe::JobEnd;
use stormlab::engine::observe::Observer;
use stormlab::engine::observe::Reason;
use stormlab::engine::observe::Return;
use stormlab::engine::observe::Verdict;
use stormlab::engine::observe::WaitEnd;
use stormlab::measure::record::RunRecord;
use stormlab::measure::simulate;
use stormlab::policy::outcome::Class;
use stormlab::scenario as language;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Trigger;
use stormlab::units::Duration;
use stormlab::units::SimTime;

/// A scenario, given without its heading.
pub(crate) fn scenario(system: &str) -> String {
    format!("schema: 1\nname: test\nabout: A test.\nsource: Made up.\n{system}")
}

/// The base model of a scenario, given without its heading.
#[track_caller]
pub(crate) fn model(system: &str) -> Model {
    let text = scenario(system);
    match language::parse("test.yaml", text.as_bytes()) {
        Ok(mut scenario) => scenario.variants.remove(0).model,
        Err(problems) => {
            let problems: String = problems.iter().map(ToString::to_string).collect();
            panic!("{problems}\n{text}")
        }
    }
}

/// The model with one more trigger. (In a file, triggers have to leave room for a baseline.)
pub(crate) fn with_trigger(mut model: Model, at_ms: u64, lasts_ms: u64, effect: Effect) -> Model {
    let (at, lasts) = (Duration::from_millis(at_ms), Duration::from_millis(lasts_ms));
    model.triggers.push(Trigger { at, lasts, effect, replicas: None });
    model.triggers.sort_by_key(|trigger| trigger.at);
    model
}

/// Bursts, each at its moment in milliseconds.
pub(crate) fn bursts(of: &[(u32, u64)]) -> String {
    let each: Vec<_> = of
        .iter()
        .map(|(count, at)| format!("{{ burst: {{ count: {count}, at: {at}ms }} }}"))
        .collect();
    format!("[{}]", each.join(", "))
}

/// The first replication under the model's own seed.
#[track_caller]
pub(crate) fn run(model: &Model) -> RunRecord {
    simulate(model, model.run.seed, 0, &AtomicBool::new(false)).expect("the audit holds")
}

/// The diary of the first replication under the model's own seed.
#[track_caller]
pub(crate) fn diary(model: &Model) -> Diary {
    let mut diary = Diary::of(model);
    let report = engine::observe(model, model.run.seed, 0, &AtomicBool::new(false), &mut diary)
        .expect("the audit holds");
    diary.report = Some(report);
    diary
}

/// What an engine tells, a line for each word of it: `1.5s shop refused overloaded`.
///
/// Requests are told of under the name of their population, the caller's side of a call under
/// `caller>callee`, attempts under the name of their service.
#[derive(Debug, Default)]
pub(crate) struct Diary {
    pub(crate) report: Option<RunReport>,
    lines: Vec<String>,
    populations: Vec<String>,
    services: Vec<String>,
    edges: Vec<String>,
    queues: Vec<String>,
}

impl Diary {
    fn of(model: &Model) -> Self {
        use stormlab::scenario::model::Caller;
        let edge = |edge: &stormlab::scenario::model::Edge| {
            let caller = match edge.caller {
                Caller::Population(id) => &model.populations[id].name,
                Caller::Service(id) => &model.services[id].name,
            };
            format!("{caller}>{}", model.services[edge.target].name)
        };
        Self {
            populations: model.populations.iter().map(|it| it.name.clone()).collect(),
            services: model.services.iter().map(|it| it.name.clone()).collect(),
            queues: model.queues.iter().map(|it| it.name.clone()).collect(),
            edges: model.edges.iter().map(edge).collect(),
            ..Self::default()
        }
    }

    /// The lines that hold one of `words`, in the order in which things happened.
    pub(crate) fn lines(&self, words: &[&str]) -> Vec<&str> {
        let wanted = |line: &&String| line.split(' ').any(|word| words.contains(&word));
        self.lines.iter().filter(wanted).map(String::as_str).collect()
    }

    /// How many lines hold all of `words`.
    pub(crate) fn count(&self, words: &[&str]) -> usize {
        let holds = |line: &String, word: &str| line.split(' ').any(|other| other == word);
        self.lines.iter().filter(|line| words.iter().all(|word| holds(line, word))).count()
    }

    /// The moments of the lines that hold all of `words`, in milliseconds.
    pub(crate) fn moments_ms(&self, words: &[&str]) -> Vec<f64> {
        let holds = |line: &String, word: &str| line.split(' ').any(|other| other == word);
        let chosen = self.lines.iter().filter(|line| words.iter().all(|word| holds(line, word)));
        chosen
            .map(|line| millis(line.split(' ').next().expect("a line begins with a time")))
            .collect()
    }

    fn note(&mut self, now: SimTime, who: &str, what: impl std::fmt::Display) {
        self.lines.push(format!("{} {who} {what}", Moment(now)));
    }

    fn at_service(&mut self, now: SimTime, service: usize, what: impl std::fmt::Display) {
        let who = self.services[service].clone();
        self.note(now, &who, what);
    }

    fn at_queue(&mut self, now: SimTime, queue: usize, what: impl std::fmt::Display) {
        let who = self.queues[queue].clone();
        self.note(now, &who, what);
    }

    fn at_edge(&mut self, now: SimTime, edge: usize, what: impl std::fmt::Display) {
        let who = self.edges[edge].clone();
        self.note(now, &who, what);
    }
}

/// A moment as its milliseconds: `1500ms`, `0.5ms`.
struct Moment(SimTime);

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}ms", self.0.as_nanos() as f64 / 1e6)
    }
}

fn millis(moment: &str) -> f64 {
    moment.trim_end_matches("ms").parse().expect("a line begins with a moment")
}

impl Observer for Diary {
    fn born(&mut self, now: SimTime, population: usize, shed: bool) {
        let who = self.populations[population].clone();
        self.note(now, &who, if shed { "born shed" } else { "born" });
    }

    fn ended(&mut self, now: SimTime, population: usize, born_at: SimTime, verdict: Verdict) {
        let who = self.populations[population].clone();
        let latency = now.since(born_at);
        match verdict {
            Verdict::Ok => self.note(now, &who, format!("ended ok after {latency}")),
            Verdict::Late => self.note(now, &who, format!("ended late after {latency}")),
            Verdict::Failed(cause) => {
                self.note(now, &who, format!("ended {} after {latency}", cause.name()));
            }
        }
    }

    fn call_began(&mut self, now: SimTime, edge: usize) {
        self.at_edge(now, edge, "calls");
    }

    fn rejected(&mut self, now: SimTime, edge: usize, class: Class) {
        self.at_edge(now, edge, format!("rejected {class}"));
    }

    fn denied(&mut self, now: SimTime, edge: usize) {
        self.at_edge(now, edge, "denied");
    }

    fn timed_out(&mut self, now: SimTime, edge: usize) {
        self.at_edge(now, edge, "timed-out");
    }

    fn backs_off(&mut self, now: SimTime, edge: usize, wait: Duration) {
        self.at_edge(now, edge, format!("backs-off {wait}"));
    }

    fn reached(&mut self, now: SimTime, service: usize, reason: Reason) {
        let reason = match reason {
            Reason::First => "first",
            Reason::AfterTimeout => "after-timeout",
            Reason::AfterRefusal => "after-refusal",
            Reason::AfterError => "after-error",
            Reason::Hedge => "hedge",
        };
        self.at_service(now, service, format!("reached {reason}"));
    }

    fn refused(&mut self, now: SimTime, service: usize, class: Option<Class>) {
        self.at_service(now, service, format!("refused {}", class.map_or("silence", Class::name)));
    }

    fn started(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        self.at_service(now, service, format!("started waited {}", now.since(arrived_at)));
    }

    fn worked(&mut self, now: SimTime, service: usize, span: Duration, wasted: bool) {
        let wasted = if wasted { " wasted" } else { "" };
        self.at_service(now, service, format!("worked {span}{wasted}"));
    }

    fn answered(&mut self, now: SimTime, service: usize, _arrived_at: SimTime, ok: bool) {
        self.at_service(now, service, if ok { "answered ok" } else { "answered error" });
    }

    fn took_effect(&mut self, now: SimTime, service: usize, times: u32) {
        let which = if times == 1 { "first" } else { "duplicate" };
        self.at_service(now, service, format!("effect {which}"));
    }

    fn replayed(&mut self, now: SimTime, service: usize) {
        self.at_service(now, service, "replayed");
    }

    fn conflicted(&mut self, now: SimTime, service: usize) {
        self.at_service(now, service, "conflict");
    }

    fn mismatched(&mut self, now: SimTime, service: usize) {
        self.at_service(now, service, "mismatch");
    }

    fn removed(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {
        self.at_service(now, service, format!("removed after {}", now.since(arrived_at)));
    }

    fn deferred(&mut self, now: SimTime, service: usize, what: Deferral) {
        let what = match what {
            Deferral::Written { malformed: false } => "written".to_owned(),
            Deferral::Written { malformed: true } => "written malformed".to_owned(),
            Deferral::Misread => "misread".to_owned(),
            Deferral::Destroyed => "destroyed".to_owned(),
            Deferral::Ended { why, idle } => {
                let why = match why {
                    WaitEnd::Done => "done",
                    WaitEnd::Failed => "failed",
                    WaitEnd::FalseSuccess => "false-success",
                    WaitEnd::Overwritten => "overwritten",
                    WaitEnd::RanOut => "ran-out",
                    WaitEnd::Vanished => "vanished",
                    WaitEnd::Unread => "unread",
                };
                format!("wait-ends {why} idle {idle}")
            }
        };
        self.at_service(now, service, what);
    }

    fn crashed(&mut self, now: SimTime, service: usize) {
        self.at_service(now, service, "crashed");
    }

    fn enqueued(&mut self, now: SimTime, queue: usize, _population: usize) {
        self.at_queue(now, queue, "stored");
    }

    fn claimed(&mut self, now: SimTime, queue: usize, due_at: SimTime) {
        self.at_queue(now, queue, format!("claimed due {}", Moment(due_at)));
    }

    fn executed(&mut self, now: SimTime, queue: usize, nth: u32) {
        self.at_queue(now, queue, format!("executed {nth}"));
    }

    fn returned(&mut self, now: SimTime, queue: usize, why: Return, due_at: SimTime) {
        self.at_queue(now, queue, format!("returned {why:?} due {}", Moment(due_at)));
    }

    fn job_ended(&mut self, now: SimTime, end: &JobEnd) {
        let how = end.dead.map_or("done", DeadLetter::name);
        self.at_queue(now, end.queue, format!("over {how} executions {}", end.executions));
    }

    fn reopened(&mut self, now: SimTime, queue: usize, put_back: bool) {
        self.at_queue(now, queue, if put_back { "reopened" } else { "over-again" });
    }

    fn suspended(&mut self, now: SimTime, queue: usize, is: bool) {
        self.at_queue(now, queue, if is { "suspended" } else { "resumed" });
    }

    fn stale_signature(&mut self, now: SimTime, service: usize) {
        self.at_service(now, service, "stale");
    }
}
