//! Adaptive limits against a second program of the same formulas (`adaptive/work_out.py`), step by
//! step. It was written from the sources of Netflix's and Envoy's limits, which do not run here: what
//! agrees is the reading, and no recording says that the libraries do.

use serde_json::Value;
use stormlab::policy::limiter::adaptive::Sample;
use stormlab::policy::limiter::adaptive::aimd::AimdConfig;
use stormlab::policy::limiter::adaptive::envoy::EnvoyGradientConfig;
use stormlab::policy::limiter::adaptive::gradient::Gradient2Config;
use stormlab::policy::limiter::adaptive::gradient::GradientConfig;
use stormlab::policy::limiter::adaptive::vegas::VegasConfig;
use stormlab::policy::limiter::adaptive::window::Window;
use stormlab::policy::limiter::adaptive::window::WindowConfig;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use crate::conformance::trace;

/// The settings of a case, each to be asked for.
struct Settings<'c> {
    given: &'c Value,
    asked: Vec<&'static str>,
}

impl Settings<'_> {
    fn real(&mut self, key: &'static str, default: f64) -> f64 {
        self.asked.push(key);
        self.given.get(key).map_or(default, trace::number)
    }

    fn count(&mut self, key: &'static str, default: u32) -> u32 {
        self.real(key, default.into()) as u32
    }

    fn nanos(&mut self, key: &'static str, default: Duration) -> Duration {
        self.asked.push(key);
        self.given.get(key).map_or(default, nanos)
    }
}

/// Runs each case through the limit that `make` makes of its settings; a setting that it does not
/// ask for is an error.
fn each(path: &str, make: impl Fn(&mut Settings<'_>, Draw) -> Box<dyn FnMut(Sample, Draw) -> u32>) {
    for case in trace::cases(path) {
        let mut settings = Settings { given: &case["settings"], asked: Vec::new() };
        let mut limit = make(&mut settings, trace::draw(trace::number(&case["start_draw"])));
        all_asked(path, &settings);
        for (at, step) in steps(&case).iter().enumerate() {
            let sample = sample(&step[0], &step[1], &step[2]);
            let found = limit(sample, trace::draw(trace::number(&step[3])));
            let name = &case["name"];
            assert_eq!(found, whole(&step[4]), "{path}, {name}: step {at}, {step}");
        }
    }
}

fn all_asked(path: &str, settings: &Settings<'_>) {
    for key in settings.given.as_object().expect("settings").keys() {
        assert!(settings.asked.contains(&key.as_str()), "{path}: {key} is not looked at");
    }
}

fn steps(case: &Value) -> &[Value] {
    let steps = case["steps"].as_array().expect("steps");
    assert!(steps.len() > 100, "{}", steps.len());
    steps
}

fn whole(value: &Value) -> u32 {
    value.as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or_else(|| panic!("{value}"))
}

fn nanos(value: &Value) -> Duration {
    Duration::from_nanos(value.as_u64().unwrap_or_else(|| panic!("{value} is no span")))
}

fn micros(value: &Value) -> Duration {
    Duration::from_nanos(u64::from(whole(value)) * 1_000)
}

fn sample(rtt: &Value, in_flight: &Value, dropped: &Value) -> Sample {
    Sample { rtt: nanos(rtt), in_flight: whole(in_flight), dropped: whole(dropped) == 1 }
}

#[test]
fn aimd_by_its_formula() {
    each("adaptive/aimd.json", |settings, _| {
        let known = AimdConfig::DEFAULT;
        let config = AimdConfig {
            initial: settings.count("initial_limit", known.initial),
            min: settings.count("min_limit", known.min),
            max: settings.count("max_limit", known.max),
            backoff_milli: (settings.real("backoff_ratio", 0.9) * 1_000.0).round() as u32,
            timeout: settings.nanos("timeout_ns", known.timeout),
        };
        let mut limit = config.initial;
        Box::new(move |sample, _| {
            limit = config.next(limit, sample);
            limit
        })
    });
}

#[test]
fn vegas_by_its_formula() {
    each("adaptive/vegas.json", |settings, draw| {
        let known = VegasConfig::DEFAULT;
        let config = VegasConfig {
            initial: settings.count("initial_limit", known.initial),
            max: settings.count("max_concurrency", known.max),
            smoothing: settings.real("smoothing", known.smoothing),
            probe_multiplier: settings.count("probe_multiplier", known.probe_multiplier),
        };
        let mut limit = config.start(draw);
        Box::new(move |sample, draw| {
            limit.update(&config, sample, draw);
            limit.limit()
        })
    });
}

#[test]
fn gradient_by_its_formula() {
    each("adaptive/gradient.json", |settings, draw| {
        let known = GradientConfig::DEFAULT;
        let config = GradientConfig {
            initial: settings.count("initial_limit", known.initial),
            min: settings.count("min_limit", known.min),
            max: settings.count("max_concurrency", known.max),
            smoothing: settings.real("smoothing", known.smoothing),
            tolerance: settings.real("rtt_tolerance", known.tolerance),
            backoff: settings.real("backoff_ratio", known.backoff),
            probe_interval: settings.count("probe_interval", known.probe_interval),
        };
        let mut limit = config.start(draw);
        Box::new(move |sample, draw| {
            limit.update(&config, sample, draw);
            limit.limit()
        })
    });
}

#[test]
fn gradient2_by_its_formula() {
    each("adaptive/gradient2.json", |settings, _| {
        let known = Gradient2Config::DEFAULT;
        let config = Gradient2Config {
            initial: settings.count("initial_limit", known.initial),
            min: settings.count("min_limit", known.min),
            max: settings.count("max_concurrency", known.max),
            smoothing: settings.real("smoothing", known.smoothing),
            tolerance: settings.real("rtt_tolerance", known.tolerance),
            queue: settings.count("queue_size", known.queue),
            long_window: settings.count("long_window", known.long_window),
        };
        let mut limit = config.start();
        Box::new(move |sample, _| {
            limit.update(&config, sample);
            limit.limit()
        })
    });
}

#[test]
fn windows_of_samples_by_their_formula() {
    for case in trace::cases("adaptive/window.json") {
        let mut settings = Settings { given: &case["settings"], asked: Vec::new() };
        let known = WindowConfig::DEFAULT;
        let config = WindowConfig {
            shortest: settings.nanos("min_window_ns", known.shortest),
            longest: settings.nanos("max_window_ns", known.longest),
            minimum: settings.count("window_size", known.minimum),
            ignored: settings.nanos("min_rtt_ns", known.ignored),
        };
        all_asked("adaptive/window.json", &settings);
        let mut window = Window::default();
        for (at, step) in steps(&case).iter().enumerate() {
            let now = SimTime::ZERO + nanos(&step[0]);
            let found = window.add(&config, now, sample(&step[1], &step[2], &step[3]));
            let whole = &step[4];
            let expected = whole.is_array().then(|| sample(&whole[0], &whole[1], &whole[2]));
            assert_eq!(found, expected, "{}: step {at}, {step}", case["name"]);
        }
    }
}

#[test]
fn envoys_gradient_by_its_formula() {
    for case in trace::cases("adaptive/envoy.json") {
        let mut settings = Settings { given: &case["settings"], asked: Vec::new() };
        let known = EnvoyGradientConfig::DEFAULT;
        let config = EnvoyGradientConfig {
            min: settings.count("min_concurrency", known.min),
            max: settings.count("max_concurrency_limit", known.max),
            buffer: settings.real("min_rtt_buffer", known.buffer),
            ..known
        };
        all_asked("adaptive/envoy.json", &settings);
        let mut limit = config.start();
        for (at, step) in steps(&case).iter().enumerate() {
            let measured = step[0] == "measured";
            assert_eq!(limit.is_measuring(), measured, "{}: step {at}, {step}", case["name"]);
            if measured {
                limit.measured(&config, SimTime::ZERO, micros(&step[1]), trace::draw(0.0));
            } else {
                limit.window_ended(&config, micros(&step[1]));
            }
            assert_eq!(limit.limit(), whole(&step[2]), "{}: step {at}, {step}", case["name"]);
        }
    }
}
