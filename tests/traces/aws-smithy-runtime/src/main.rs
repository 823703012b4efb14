//! Records the standard retry strategy of the AWS SDK for Rust: its waits and its token bucket.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime::client::retries::strategy::StandardRetryStrategy;
use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime_api::client::interceptors::context::{Input, InterceptorContext, Output};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::retries::classifiers::{
    ClassifyRetry, RetryAction, SharedRetryClassifier,
};
use aws_smithy_runtime_api::client::retries::{RequestAttempts, RetryStrategy, ShouldAttempt};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_types::config_bag::{ConfigBag, Layer};
use aws_smithy_types::retry::{ErrorKind, RetryConfig, RetrySpec};
use serde_json::{json, Value};

fn write(file: &str, head: Value, cases: &[Value]) {
    let mut out = String::from("{\n");
    for (key, value) in head.as_object().expect("an object") {
        writeln!(out, " {}: {value},", json!(key)).expect("to a string");
    }
    let mut rows = Vec::new();
    for case in cases {
        let mut case = case.clone();
        let steps = case.as_object_mut().expect("an object").shift_remove("steps");
        let mut line = format!("  {case}");
        if let Some(Value::Array(steps)) = steps {
            line.pop();
            let steps: Vec<String> = steps.iter().map(|step| format!("   {step}")).collect();
            write!(line, ",\"steps\":[\n{}\n  ]}}", steps.join(",\n")).expect("to a string");
        }
        rows.push(line);
    }
    write!(out, " \"cases\": [\n{}\n ]\n}}\n", rows.join(",\n")).expect("to a string");
    let folder = std::env::var("TRACES_OUT").expect("TRACES_OUT");
    std::fs::write(format!("{folder}/{file}"), out).expect("writable");
}

#[derive(Debug, Clone)]
struct Scripted(Arc<Mutex<RetryAction>>);

impl ClassifyRetry for Scripted {
    fn classify_retry(&self, _: &InterceptorContext) -> RetryAction {
        self.0.lock().expect("lock").clone()
    }

    fn name(&self) -> &'static str {
        "scripted"
    }
}

fn action(outcome: &str) -> RetryAction {
    let (word, hint) = outcome.split_once(" hint=").map_or((outcome, None), |(w, h)| (w, Some(h)));
    let kind = match word {
        "transient" => ErrorKind::TransientError,
        "throttled" => ErrorKind::ThrottlingError,
        "server" => ErrorKind::ServerError,
        "client" => ErrorKind::ClientError,
        _ => return RetryAction::NoActionIndicated,
    };
    match hint {
        Some(ms) => RetryAction::retryable_error_with_explicit_delay(
            kind,
            Duration::from_millis(ms.parse().expect("ms")),
        ),
        None => RetryAction::retryable_error(kind),
    }
}

/// One client: a strategy and a bucket that its calls share.
struct Client {
    strategy: StandardRetryStrategy,
    bucket: TokenBucket,
    config: RetryConfig,
    twin: fastrand::Rng,
}

impl Client {
    fn new(spec: &str, attempts: u32, seed: u64) -> Self {
        let config = RetryConfig::standard().with_max_attempts(attempts);
        // What the SDK itself sets for each version of the specification.
        let (config, bucket) = match spec {
            "v2_0" => (config.with_retry_spec(RetrySpec::v2_0()), TokenBucket::default()),
            _ => (
                config.with_retry_spec(RetrySpec::v2_1()),
                TokenBucket::builder()
                    .retry_cost(14)
                    .throttling_retry_cost(5)
                    .timeout_retry_cost(14)
                    .build(),
            ),
        };
        fastrand::seed(seed);
        Client {
            strategy: StandardRetryStrategy::new(),
            bucket,
            config,
            twin: fastrand::Rng::with_seed(seed),
        }
    }

    /// Tokens in the bucket, as Debug shows them; those that a call still holds are not there.
    fn tokens(&self) -> u64 {
        let text = format!("{:?}", self.bucket);
        let from = text.find("permits: ").expect("permits") + "permits: ".len();
        text[from..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            .expect("number")
    }

    fn call(&mut self, outcomes: &[&str]) -> Value {
        let scripted = Scripted(Arc::new(Mutex::new(RetryAction::NoActionIndicated)));
        let components = RuntimeComponentsBuilder::for_tests()
            .with_retry_classifier(SharedRetryClassifier::new(scripted.clone()))
            .build()
            .expect("components");
        let (mut made, mut waits, mut uniforms) = (Vec::new(), Vec::new(), Vec::new());
        let result = loop {
            let outcome = outcomes[made.len().min(outcomes.len() - 1)];
            made.push(outcome);
            *scripted.0.lock().expect("lock") = action(outcome);
            let mut context = InterceptorContext::new(Input::erase(()));
            context.set_output_or_error(if outcome == "ok" {
                Ok(Output::erase(()))
            } else {
                Err(OrchestratorError::other("scripted"))
            });
            let mut layer = Layer::new("scripted");
            layer.store_put(RequestAttempts::new(u32::try_from(made.len()).expect("few")));
            layer.store_put(self.config.clone());
            layer.store_put(self.bucket.clone());
            let bag = ConfigBag::of_layers(vec![layer]);
            let before = fastrand::get_seed();
            let verdict = self
                .strategy
                .should_attempt_retry(&context, &components, &bag)
                .expect("infallible");
            if fastrand::get_seed() != before {
                uniforms.push(self.twin.f64());
            }
            match verdict {
                ShouldAttempt::YesAfterDelay(wait) => {
                    waits.push(u64::try_from(wait.as_nanos()).expect("short"))
                }
                ShouldAttempt::Yes => waits.push(0),
                ShouldAttempt::No => break outcome,
            }
        };
        json!({"outcomes": made, "waits_ns": waits, "uniforms": uniforms, "result": result, "tokens": self.tokens()})
    }
}

fn main() {
    let fields = json!({
        "spec": "version of the retry specification (RetrySpec): v2_0 before 2026-11-10, v2_1 from then",
        "outcomes": "of each attempt: ok, or an error classified as transient, throttled, server or client (all four retryable), or final; hint=N is an explicit delay in ms",
        "waits_ns": "the delay before each retry", "uniforms": "what fastrand::f64() gave, in order: also where the bucket then refused the retry",
        "tokens": "in the bucket after the call (start 500), less those of the last retry, which the strategy still holds if the call failed"});
    let head = |records: &str| json!({"library": "aws-smithy-runtime", "version": "1.16.2", "records": records, "fields": fields});

    let mut delays = Vec::new();
    for spec in ["v2_0", "v2_1"] {
        for outcome in [
            "transient",
            "throttled",
            "server",
            "client",
            "transient hint=10",
            "transient hint=2000",
            "transient hint=60000",
            "throttled hint=3000",
        ] {
            for seed in [1, 2] {
                let mut client = Client::new(spec, 14, seed);
                let mut row = client.call(&[outcome]);
                let made = row["outcomes"].as_array().expect("list").len();
                let object = row.as_object_mut().expect("object");
                object.shift_remove("outcomes");
                let mut case = json!({"spec": spec, "attempts": 14, "answer": outcome, "seed": seed, "attempts_made": made});
                case.as_object_mut().expect("object").append(object);
                delays.push(case);
            }
        }
    }
    write(
        "delays.json",
        head("one call whose every attempt ends alike, 14 attempts allowed"),
        &delays,
    );

    let mut quotas = Vec::new();
    for spec in ["v2_0", "v2_1"] {
        let mut trace = |name: &str, attempts: u32, calls: Vec<Vec<&str>>| {
            let mut client = Client::new(spec, attempts, 1);
            let steps: Vec<Value> = calls.iter().map(|call| client.call(call)).collect();
            quotas.push(json!({"name": name, "spec": spec, "attempts": attempts, "steps": steps}));
        };
        let times = |n: usize, call: Vec<&'static str>| vec![call; n];
        trace("drained_by_transient", 3, times(40, vec!["transient"]));
        trace("drained_by_throttling", 3, times(55, vec!["throttled"]));
        trace("drained_by_server_errors", 3, times(55, vec!["server"]));
        trace(
            "drained_then_refilled",
            3,
            [times(30, vec!["transient"]), times(30, vec!["ok"]), times(3, vec!["transient"])]
                .concat(),
        );
        trace(
            "two_retries_and_success",
            3,
            vec![
                vec!["transient", "transient", "ok"],
                vec!["transient", "throttled", "ok"],
                vec!["throttled", "transient", "ok"],
                vec!["ok"],
                vec!["ok"],
                vec!["final"],
                vec!["transient", "final"],
                vec!["ok"],
                vec!["ok"],
            ],
        );
        trace(
            "the_next_success_gets_what_a_failed_call_paid_last",
            3,
            vec![
                vec!["transient"],
                vec!["ok"],
                vec!["ok"],
                vec!["throttled"],
                vec!["throttled"],
                vec!["ok"],
                vec!["ok"],
            ],
        );
        let mut random = fastrand::Rng::with_seed(99);
        let pool = ["transient", "transient", "throttled", "server", "final"];
        let calls = (0..140)
            .map(|i| {
                let bad = if (i / 35) % 2 == 0 { 0.9 } else { 0.15 };
                let mut call = Vec::new();
                while call.len() < 4 && random.f64() < bad {
                    call.push(pool[random.usize(..pool.len())]);
                }
                call.push("ok");
                call
            })
            .collect();
        trace("random", 4, calls);
    }
    write(
        "quota.json",
        head("calls one after another on one client: one strategy and one token bucket"),
        &quotas,
    );
}
