//! Defences as pure state machines: `now` and draws come in, decisions go out.
//!
//! Nothing here knows of the engine, of files or of clocks, so each policy can be held against
//! the real library that it imitates, and used on its own: here a caller meets a server that is
//! down, without any engine.
//!
//! ```
//! use stormlab::policy::backoff::{Backoff, Jitter, Past};
//! use stormlab::policy::breaker::{Breaker, BreakerConfig, BreakerState, LateResults, Trip};
//! use stormlab::policy::budget::{BudgetConfig, DepositPoint, Failure, Tab};
//! use stormlab::policy::outcome::{Class, ClassSet};
//! use stormlab::random::{Keys, Purpose};
//! use stormlab::units::{Duration, SimTime};
//!
//! let backoff = Backoff::exponential(
//!     Duration::from_millis(100), // before the first retry,
//!     2.0,                        // twice as long before each further one,
//!     Duration::from_secs(2),     // never longer than this,
//!     Jitter::Full,               // and anywhere between nothing and that.
//! );
//! let budget_config = BudgetConfig::Ratio {
//!     ratio_milli: 200, // Each call pays for a fifth of a retry,
//!     deposit: DepositPoint::Call,
//!     floor_milli_per_s: 0,
//!     cap_milli: 10_000,
//!     start_milli: 1_000, // and the first retry is free.
//! };
//! let breaker_config = BreakerConfig {
//!     trip: Trip::Consecutive(5),
//!     open_for: Duration::from_secs(10),
//!     probes: 1,
//!     counts: ClassSet::TRANSIENT,
//!     late_results: LateResults::Ignore,
//!     ..BreakerConfig::PLAIN
//! };
//!
//! let keys = Keys::new(1, 0); // Seed 1, replication 0.
//! let mut now = SimTime::ZERO;
//! let mut budget = budget_config.start(now);
//! let mut breaker = Breaker::default();
//! let (mut attempts, mut calls) = (0, 0);
//! while breaker.state(now) == BreakerState::Closed {
//!     let (call, mut retry, mut past, mut tab) = (calls, 0, Past::new(), Tab::default());
//!     calls += 1;
//!     budget.call_started(&budget_config, now);
//!     while let Some(permit) = breaker.admit(&breaker_config, now) {
//!         attempts += 1;
//!         let failure = Class::Unavailable; // The server refuses at once.
//!         breaker.settle(&breaker_config, permit, now, breaker_config.judge(Some(failure)));
//!         budget.attempt_failed(&budget_config, now, Failure::of(failure), &mut tab);
//!         if !budget.may_retry(&budget_config, now, failure, &mut tab).is_granted() {
//!             break;
//!         }
//!         retry += 1;
//!         let draw = keys.draw(Purpose::Backoff, call, retry);
//!         now = now + backoff.wait(retry, &mut past, draw);
//!     }
//! }
//! assert_eq!((calls, attempts), (4, 5)); // One retry in all, then the breaker opened.
//! assert_eq!(budget.balance(&budget_config), 800);
//! ```

pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod composition;
pub mod deferred;
pub mod ejection;
pub mod hedge;
pub mod hint;
pub mod limiter;
pub mod outcome;
pub mod shedding;
pub mod stack;
pub mod throttle;
pub mod timeout;
