//! A hundred and more bad scenarios, and what a stranger is told of each: the place of the offending
//! text, what is wrong with it, and how to mend it.

use crate::scenario::parse;

/// A small scenario, each part of which is spoilt once.
const SOUND: &str = r#"schema: 1
name: pause
about: A database pauses.
run: { horizon: 6min, warm_up: 30s, window: 1s, replications: 3, seed: 7 }
clients:
  web:
    population: 20
    arrivals: { poisson: 40/s }
    calls: shop
    policy: once
services:
  shop: { workers: 50, work: { constant: 1ms }, calls: [{ to: database, policy: twice }] }
  database:
    workers: 4
    work: { exponential: 10ms }
    queue: { limit: 100 }
policies:
  once: { attempt_timeout: 2s }
  twice:
    attempt_timeout: 500ms
    retry: { max_attempts: 2, backoff: { constant: 100ms }, jitter: none, on: [transient] }
triggers:
  - { at: 2min, lasts: 5s, service: database, effect: refuse }
variants:
  never: { policies: { twice: { retry: { max_attempts: 1 } } } }
expect:
  - { variant: base, stuck_share: "<= 99%" }
"#;

/// What is replaced, by what, and the first problem with its place.
#[rustfmt::skip]
const SPOILT: [(&str, &str, &str); 151] = [
    ("    workers: 4\n", "    workers: ~\n", "14:14 a service needs `workers`, and it has no value here"),
    ("    workers: 4\n", "    workers:\n", "14:5 a service needs `workers`, and it has no value here"),
    ("    work: { exponential: 10ms }\n", "    work: null\n", "15:11 a service needs `work`, and it has no value here"),
    ("exponential: 10ms", "exponential: ~", "15:26 a span of time is wanted here, not nothing (`null`)"),
    ("poisson: 40/s", "poisson: ~", "8:26 a rate is wanted here, not nothing (`null`)"),
    ("to: database", "to: ~", "12:63 a call needs `to`, and it has no value here"),
    ("  web:\n", "  web: ~\n  other:\n", "6:8 a population is a map, not nothing (`null`)"),
    ("name: pause", "name: ~", "2:7 a scenario needs `name`, and it has no value here"),
    ("schema: 1\n", "schema: ~\n", "1:9 a scenario needs `schema`, and it has no value here"),
    ("schema: 1\n", "schema: one\n", "1:9 `one`: this is not a whole number"),
    ("schema: 1\n", "version: 1\n", "1:1 a scenario needs `schema`"),
    ("    workers: 4\n", "    workers: &w 4\n", "14:14 an anchor is not allowed in a scenario"),
    ("    workers: 4\n", "    workers: *w\n", "14:14 an alias is not allowed in a scenario"),
    ("    workers: 4\n", "    <<: *w\n    workers: 4\n", "14:9 an alias is not allowed in a scenario"),
    ("    workers: 4\n", "    workers: !!int 4\n", "14:14 a tag is not allowed in a scenario"),
    ("    workers: 4\n", "    workers: 0\n", "14:14 0 is out of range"),
    ("    workers: 4\n", "    workers: -4\n", "14:14 `-4`: this is negative"),
    ("    workers: 4\n", "    workers: 4.5\n", "14:14 `4.5`: this is not a whole number"),
    ("    workers: 4\n", "    workers: 1e3\n", "14:14 `1e3`: this is not a whole number"),
    ("    workers: 4\n", "    workers: 99999999\n", "14:14 99999999 is out of range"),
    ("    workers: 4\n", "    workers: 99999999999999999999999\n", "14:14 `99999999999999999999999`: this number is too large"),
    ("    workers: 4\n", "    workers: [4]\n", "14:14 a whole number is wanted here, not a list"),
    ("    workers: 4\n", "    workers: {n: 4}\n", "14:14 a whole number is wanted here, not a map"),
    ("    workers: 4\n", "    workers: \"4\"\n", "14:14 a number is wanted here, not a text"),
    ("    workers: 4\n", "    workers: unlimited\n", "14:14 `unlimited`: this is not a whole number"),
    ("exponential: 10ms", "exponential: 10", "15:26 `10`: a span of time needs a unit"),
    ("exponential: 10ms", "exponential: 10 ms", "15:26 `10 ms`: a span of time has no blanks"),
    ("exponential: 10ms", "exponential: 10msec", "15:26 `10msec`: this is not a unit of time"),
    ("exponential: 10ms", "exponential: -10ms", "15:26 `-10ms`: a span of time is not negative"),
    ("exponential: 10ms", "exponential: 0s", "15:26 this span must be longer than 0s"),
    ("exponential: 10ms", "exponential: NaN", "15:26 `NaN`: this is not a span of time"),
    ("exponential: 10ms", "exponential: .inf", "15:26 `.inf`: this is not a span of time"),
    ("exponential: 10ms", "exponential: 10000000d", "15:26 `10000000d`: this span of time is too long"),
    ("exponential: 10ms", "exponental: 10ms", "15:13 there is no distribution `exponental`"),
    ("exponential: 10ms", "exponential: 10ms, constant: 5ms", "15:11 a distribution names one kind, as `{ exponential: 20ms }`, and this is a map of 2"),
    ("exponential: 10ms", "lognormal: { mean: 10ms }", "15:13 `lognormal` needs `cv`"),
    ("exponential: 10ms", "lognormal: { mean: 10ms, cv: 0 }", "15:42 0 is out of range"),
    ("exponential: 10ms", "lognormal: { mean: 10ms, cv: 1000 }", "15:42 1000 is out of range"),
    ("exponential: 10ms", "uniform: { low: 10ms, high: 5ms }", "15:22 low must be below high"),
    ("exponential: 10ms", "empirical: []", "15:24 `empirical` lists 1 to 10000 values, and here are 0"),
    ("exponential: 10ms", "empirical: [5ms, 1ms]", "15:24 the values of `empirical` rise, and so do their shares, up to 100%"),
    ("exponential: 10ms", "empirical: [[50%, 1ms]]", "15:24 the values of `empirical` rise, and so do their shares, up to 100%"),
    ("exponential: 10ms", "pareto: { mean: 10ms, alpha: 1 }", "15:42 1 is out of range"),
    ("poisson: 40/s", "poisson: 40", "8:26 `40`: a rate needs its unit"),
    ("poisson: 40/s", "poisson: 40/sec", "8:26 `40/sec`: this is not a unit of a rate"),
    ("poisson: 40/s", "poisson: -40/s", "8:26 `-40/s`: this is negative"),
    ("poisson: 40/s", "poisson: 0/s", "8:26 this rate must be above 0/s"),
    ("poisson: 40/s", "poisson: 1e12/s", "8:26 `1e12/s`: this rate is too high"),
    ("poisson: 40/s", "poison: 40/s", "8:17 there is no kind of arrivals `poison`"),
    ("arrivals: { poisson: 40/s }", "arrivals: 40/s", "8:15 a source of arrivals names one kind, as `{ poisson: 25/s }`, and this is `40/s`"),
    ("arrivals: { poisson: 40/s }", "arrivals: { poisson: 40/s }\n    users: { think: 1s }", "9:5 a population has `arrivals` or `users`, not both"),
    ("    arrivals: { poisson: 40/s }\n", "", "6:3 a population needs one of `arrivals` or `users`"),
    ("population: 20", "population: 0", "7:17 0 is out of range"),
    ("population: 20", "population: 1e6", "7:17 `1e6`: this is not a whole number"),
    ("population: 20", "popluation: 20", "7:5 a population has no key `popluation`"),
    ("calls: shop", "calls: shpo", "9:12 there is no service `shpo`"),
    ("calls: shop", "calls: [shop]", "9:12 a name is wanted here, not a list"),
    ("policy: once", "policy: onec", "10:13 there is no policy `onec`"),
    ("to: database", "to: shop", "12:63 services call one another in a circle: shop -> shop"),
    ("to: database, ", "", "12:57 a call needs `to`"),
    ("max_attempts: 2", "max_attempts: 0", "21:28 0 is out of range"),
    ("max_attempts: 2", "max_attempts: infinite", "21:28 a whole number or `unlimited` is wanted here, not `infinite`"),
    ("max_attempts: 2", "max_attempts: -1", "21:28 `-1`: this is negative"),
    ("backoff: { constant: 100ms }", "backoff: { exponential: { base: 100ms, factor: 0.5 } }", "21:78 0.5 is out of range"),
    ("backoff: { constant: 100ms }", "backoff: { exponential: { base: 0s } }", "21:63 this span must be longer than 0s"),
    ("backoff: { constant: 100ms }", "backoff: { exponential: 100ms }", "21:55 `exponential` is a map, not `100ms`"),
    ("backoff: { constant: 100ms }", "backoff: exponential", "21:40 `exponential` is no back-off"),
    ("backoff: { constant: 100ms }", "backoff: []", "21:40 `backoff` is a map, not a list"),
    ("jitter: none", "jitter: half", "21:69 `half` is none of the words known here"),
    ("jitter: none", "jitter: { plus_minus: 150% }", "21:83 `150%`: this share is out of range"),
    ("jitter: none", "jitter: decorrelated, backoff: none", "21:83 the key `backoff` occurs twice"),
    ("on: [transient]", "on: [timeouts]", "21:80 `timeouts` is none of the words known here"),
    ("on: [transient]", "on: 503", "21:79 `503` is none of the words known here"),
    ("at: 2min", "at: -2min", "23:11 `-2min`: a span of time is not negative"),
    ("at: 2min", "at: 10min", "23:11 this trigger ends at 605s, after the horizon of 6min"),
    ("lasts: 5s", "lasts: 0s", "23:24 this span must be longer than 0s"),
    ("lasts: 5s, ", "", "23:5 a trigger needs `lasts`"),
    ("effect: refuse", "effect: refused", "23:55 there is no effect `refused`"),
    ("effect: refuse", "effect: { slow: 0.5 }", "23:63 0.5 is out of range"),
    ("effect: refuse", "effect: { slow: 1e9 }", "23:63 1000000000 is out of range"),
    ("effect: refuse", "effect: { surge: 3 }", "23:37 this effect strikes `clients`, not `service`"),
    ("effect: refuse", "effect: { workers: 150% }", "23:66 `150%`: this share is out of range"),
    ("effect: refuse", "effect: { workers: 2 }", "23:66 `2`: a share is between 0 and 1"),
    ("effect: refuse", "effect: { errors: 30% }", "23:65 `errors` is a map, not `30%`"),
    ("service: database, effect", "effect", "23:5 a trigger with this effect needs `service`"),
    ("service: database, effect", "service: databse, effect", "23:37 there is no service `databse`"),
    ("  - { at: 2min, lasts: 5s, service: database, effect: refuse }", "  at: 2min", "23:3 `triggers` is a list, not a map"),
    ("  never: {", "  never: { run: { seed: 3 }, ", "25:19 a variant cannot change `seed`"),
    ("  never: {", "  base: {", "25:3 `base` is the scenario without changes"),
    ("  never: {", "  \"\": {", "25:3 a key is one line of text"),
    ("  never: {", "  \"a b\": {", "25:3 this is not a name"),
    ("  never: {", "  Never: {}\n  never: {", "26:3 `never` and `Never` would share their files"),
    ("policies: { twice: { retry", "polices: { twice: { retry", "25:12 a scenario has no key `polices`"),
    ("variant: base", "variant: bsae", "27:16 there is no variant `bsae`"),
    ("\"<= 99%\"", "\"99%\"", "27:35 `99%`: a bound begins with `>=`, `<=` or `==`"),
    ("\"<= 99%\"", "\"< 99%\"", "27:35 `< 99%`: a bound begins with `>=`, `<=` or `==`"),
    ("\"<= 99%\"", "\"<= 199%\"", "27:35 `<= 199%`: this share is out of range"),
    ("\"<= 99%\"", "0.99", "27:35 `0.99`: a bound begins with `>=`, `<=` or `==`"),
    ("stuck_share", "stuck", "27:5 this expects nothing"),
    ("stuck_share: \"<= 99%\"", "peak_amplification: \"<= 3\"", "27:42 amplification is that of one service"),
    ("stuck_share: \"<= 99%\"", "finding: bad", "27:31 `bad` is none of the words known here"),
    ("horizon: 6min", "horizon: 0s", "4:17 this span must be longer than 0s"),
    ("horizon: 6min", "horizon: 1000d", "4:17 the run has 86400030 windows; 1000000 are allowed"),
    ("horizon: 6min", "horizon: 6.5min, horizon: 7min", "4:25 the key `horizon` occurs twice"),
    ("window: 1s", "window: 7s", "4:17 the horizon of 6min is not a whole number of windows of 7s"),
    ("window: 1s", "window: 0s", "4:45 this span must be longer than 0s"),
    ("replications: 3", "replications: 0", "4:63 0 is out of range"),
    ("replications: 3", "replications: 1e9", "4:63 `1e9`: this is not a whole number"),
    ("seed: 7", "seed: -1", "4:72 `-1`: this is negative"),
    ("seed: 7", "seed: 99999999999999999999", "4:72 `99999999999999999999`: this number is too large"),
    ("seed: 7", "seed: 7, limits: { in_flight: 0 }", "4:96 0 is out of range"),
    ("seed: 7", "seed: 7, limits: { memory: 4GB }", "4:93 `4GB`: this is not a unit of memory"),
    ("seed: 7", "seed: 7, limits: { events: 1e12 }", "4:93 `1e12`: this is not a whole number"),
    ("seed: 7", "seed: 7, limits: { events: 10000000000 }", "4:93 10000000000 is out of range"),
    ("seed: 7", "seed: 7, recovery: { window: 1s }", "4:95 a recovery window of 1s covers fewer than three windows of 1s"),
    ("seed: 7", "seed: 7, recovery: { tolerance: 90% }", "4:98 with a tolerance of 90% a storm passes for recovery"),
    ("queue: { limit: 100 }", "queue: { limit: -1 }", "16:21 `-1`: this is negative"),
    ("queue: { limit: 100 }", "queue: { limit: none }", "16:21 a whole number or `unlimited` is wanted here, not `none`"),
    ("queue: { limit: 100 }", "queue: { limit: 100, order: random }", "16:33 `random` is none of the words known here"),
    ("queue: { limit: 100 }", "queue: 100", "16:12 `queue` is a map, not `100`"),
    ("queue: { limit: 100 }", "queue: { limit: 100, drop_expired: yes }", "16:40 a switch is wanted here, not `yes`"),
    ("queue: { limit: 100 }", "errors: { class: 500, share: 1% }", "16:22 `500` is none of the words known here"),
    ("queue: { limit: 100 }", "errors: { class: breaker_open, share: 1% }", "16:22 `breaker_open` is made by a caller's policy, not by a service"),
    ("queue: { limit: 100 }", "overload: { crashes_at: 400 }", "16:29 `crashes_at` is a map, not `400`"),
    ("queue: { limit: 100 }", "cancellation: all", "16:19 `all` is none of the words known here"),
    ("queue: { limit: 100 }", "balance: least_conn", "16:14 `least_conn` is none of the words known here"),
    ("policies:\n", "links: { \"web -> database\": { latency: 1ms } }\npolicies:\n", "17:10 `web` does not call `database`"),
    ("policies:\n", "links: { \"web\": { latency: 1ms } }\npolicies:\n", "17:10 a link is named by its ends"),
    ("policies:\n", "links: { default: { latency: 1ms, loss: 200% } }\npolicies:\n", "17:41 `200%`: this share is out of range"),
    ("policies:\n", "links: { default: { latency: 1ms, loss: 5 } }\npolicies:\n", "17:41 `5`: a share is between 0 and 1"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, breaker: { open_for: 5s } }", "18:32 `breaker` needs one of `consecutive`, `window`, `average` or `exhausted`"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, breaker: { consecutive: 5, window: {}, open_for: 5s } }", "18:59 `breaker` has `consecutive` or `window`, not both"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, breaker: { consecutive: 5 } }", "18:32 `breaker` needs `open_for`"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 0s }", "18:28 an attempt needs some time: the timeout must be longer than 0s"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, order: [retry] }", "18:39 `order` leaves out `attempt_timeout`, which the policy sets"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, bulkhead: 5 }", "18:42 `bulkhead` is a map, not `5`"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, bulkhead: { limit: 0 } }", "18:51 0 is out of range"),
    ("once: { attempt_timeout: 2s }", "once: 2s", "18:9 a policy is a map, not `2s`"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, retry: { budget: { ratio: { share: 20% } } } }", "18:51 `ratio` needs `deposit`"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, retry: { budget: 20% } }", "18:49 `budget` is a map, not `20%`"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, retry: { budget: { ratio: { share: 0.12345%, deposit: call } } } }", "18:67 tokens are counted in thousandths, and this is finer"),
    ("once: { attempt_timeout: 2s }", "once: { attempt_timeout: 2s, bulkhead: { limit: 5, per: [callers] } }", "18:60 nothing is kept per `callers`"),
    ("  - { at: 2min, lasts", "  - \"x\"\n  - { at: 2min, lasts", "23:5 a trigger is a map, not `x`"),
    ("variants:\n", "operator:\n  - { at: 3min, set: { services.database.replicas: 3 } }\nvariants:\n", "25:24 this cannot be set during a run"),
    ("variants:\n", "operator:\n  - { at: 3min }\nvariants:\n", "25:5 an operator action needs one of `shed`, `set`, `flush`, `restart` or `resume`"),
    ("variants:\n", "operator:\n  - { at: 3min, set: { policies.twise.retry.max_attempts: 3 } }\nvariants:\n", "25:24 there is no policy `twise`"),
    ("variants:\n", "operator:\n  - { at: 3min, shed: { clients: web, share: 90% } }\nvariants:\n", "25:17 `shed` needs `lasts`"),
    ("about: A database pauses.", "about: A: database pauses.", "3:9 this is not YAML: mapping values are not allowed in this context"),
    ("about: A database pauses.", "about: [a]", "3:8 a text is wanted here, not a list"),
    ("about: A database pauses.", "\tabout: x", "3:1 this is not YAML: while scanning a plain scalar, found a tab"),
    ("about: A database pauses.", "about: \"unterminated", "3:8 this is not YAML: invalid indentation in quoted scalar"),
];

#[test]
fn each_is_refused_at_its_place_with_a_way_to_mend_it() {
    let mut wrong = Vec::new();
    for (from, to, expected) in SPOILT {
        assert!(SOUND.contains(from), "{from}");
        let Err(found) = parse(&SOUND.replacen(from, to, 1)) else {
            wrong.push(format!("{to:?}: accepted"));
            continue;
        };
        let first = format!("{}:{} {}", found[0].line, found[0].column, found[0].problem);
        if first != expected {
            wrong.push(format!("{to:?}: {first:?}, expected {expected:?}"));
        }
        for problem in &found {
            if problem.help.as_ref().is_none_or(|help| help.len() < 10) {
                wrong.push(format!("{to:?}: no help with {:?}", problem.problem));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), SPOILT.len(), wrong.join("\n"));
}

#[test]
fn lines_are_counted_whatever_ends_them() {
    for ending in ["\n", "\r\n", "\r"] {
        let text = SOUND.replace("workers: 4", "workers: 0").replace('\n', ending);
        let found = parse(&text).unwrap_err();
        assert_eq!((found[0].line, found[0].column), (14, 14), "{ending:?}");
        assert!(found[0].to_string().contains("  14 |     workers: 0\n"), "{}", found[0]);
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let found = parse(&SOUND.replace("once: { attempt_timeout: 2s }", "once: 2s")).unwrap_err();
    assert_eq!(found.len(), 1, "whoever uses the policy is not to blame: {found:?}");
}
