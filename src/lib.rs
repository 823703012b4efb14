//! Stormlab: a retry-storm simulation and analysis lab.
//!
//! Describe a system, its load and an outage; replay it under one policy after another, on the same
//! random numbers; see what retries make of it. The program `stormlab` does so from the command
//! line (see [`cli`]); this library is the same road in code.
//!
//! # A first run
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use stormlab::analysis::summarise;
//! use stormlab::experiment;
//! use stormlab::experiment::Plan;
//! use stormlab::experiment::Silent;
//! use stormlab::scenario;
//!
//! let text = "
//! schema: 1
//! name: pause
//! run: { horizon: 8min, warm_up: 0s, replications: 4 }
//! clients:
//!   web: { arrivals: { poisson: 40/s }, calls: database, policy: twice }
//! services:
//!   database: { workers: 4, work: { exponential: 10ms } }
//! policies:
//!   twice: { attempt_timeout: 500ms, retry: { max_attempts: 2, backoff: 100ms, jitter: full } }
//! triggers:
//!   - { at: 3min, lasts: 5s, service: database, effect: refuse }
//! ";
//! let scenario = scenario::parse("pause.yaml", text.as_bytes()).expect("it is valid");
//! let (plan, go_on) = (Plan::everything(&scenario), AtomicBool::new(false));
//! let runs = experiment::run(&scenario, &plan, &Silent, &go_on).expect("no invariant breaks");
//! let summary = summarise(&scenario, &runs);
//! let base = summary.variant("base").expect("it was run");
//! assert_eq!(base.stuck_share.estimate, Some(0.0)); // A pause at a tenth of the load is harmless.
//! ```
//!
//! # The road
//!
//! Modules stand in this order, and each uses itself and what stands before it.
//!
//! - [`units`]: moments, spans, rates, shares and draws that cannot be mixed up.
//! - [`random`]: draws by purpose, entity and index; the same key gives the same number.
//! - [`theory`]: closed forms to test against.
//! - [`stats`]: numbers in, numbers out; knows nothing of retries.
//! - [`policy`]: defences as pure state machines, usable without the rest.
//! - [`preset`]: what real libraries do, as policies in the language of scenarios.
//! - [`scenario`]: text in, checked model out.
//! - [`lint`]: what shows on paper, before anything runs.
//! - [`engine`]: one run; tells an observer what happens.
//! - [`measure`]: listens to one run, leaves one record, and judges it.
//! - [`experiment`]: many runs on every core, with their control twins.
//! - [`analysis`]: what the runs mean, every number with its interval.
//! - [`check`]: what was expected against what was found.
//! - [`report`]: words, tables, pictures.
//! - [`cli`]: the command line.
//!
//! What is simulated is written down rule by rule in `docs/model.md`, how in `ARCHITECTURE.md`.

pub mod analysis;
pub mod check;
pub mod cli;
pub mod engine;
pub mod experiment;
pub mod lint;
pub mod measure;
pub mod policy;
pub mod preset;
pub mod random;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod theory;
pub mod units;
