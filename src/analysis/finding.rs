//! Over the runs of a variant: the finding, and why.
//!
//! The systems are bistable, so the first number is the share of runs that never recover, with its
//! interval. A control twin without triggers must be healthy; where it is not, there is no good
//! state to return to, and the trigger explains nothing.
//!
//! Source: docs/model.md, "Judging a run"; Wilson 1927 for the interval.

use std::fmt;

use crate::analysis::estimate::LEVEL;
use crate::analysis::summary::Finding;
use crate::analysis::words::percent;
use crate::analysis::words::runs;
use crate::analysis::words::span;
use crate::measure::horizon::HorizonTooShort;
use crate::stats::interval::wilson;
use crate::units::Duration;

/// The least share of healthy control runs with which a good state exists, in percent.
const HEALTHY_CONTROLS: u64 = 95;
/// No run is stuck, and the upper limit of the share is at most this: safe.
const SAFE_UP_TO: f64 = 0.05;
/// The lower limit of the share is at least this: metastable.
const METASTABLE_FROM: f64 = 0.5;
/// With fewer runs, none stuck cannot be called safe.
pub const LEAST_RUNS_FOR_SAFE: u32 = 73;

impl Finding {
    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::Safe => "safe",
            Self::Metastable => "metastable",
            Self::Vulnerable => "vulnerable",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a finding rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Runs.
    pub runs: u32,
    /// Runs that are stuck.
    pub stuck: u32,
    /// Runs that were not seen to recover, but are on their way.
    pub recovering: u32,
    /// Control runs.
    pub controls: u32,
    /// Control runs that are healthy.
    pub healthy: u32,
    /// Control runs with requests in the span that gives the baseline.
    pub compared: u32,
    /// Is there a trigger? Without one the runs are their own controls.
    pub triggered: bool,
    /// Simulated time after the last trigger.
    pub watched: Duration,
    /// How long goodput must stay in its band before anything is judged.
    pub hold: Duration,
    /// Is the horizon long enough?
    pub horizon: Result<(), HorizonTooShort>,
}

impl Evidence {
    /// The finding, and one sentence that says why.
    pub fn finding(&self) -> (Finding, String) {
        let Some(share) = wilson(self.stuck.into(), self.runs.into(), LEVEL) else {
            return (Finding::Inconclusive, "no run has finished".into());
        };
        if self.controls == 0 {
            return (Finding::Inconclusive, "no control run has finished".into());
        }
        if self.triggered && self.compared == 0 {
            let because = "no request is made before the trigger: nothing says what healthy is";
            return (Finding::Inconclusive, because.into());
        }
        if !self.triggered && self.watched < self.hold {
            return (Finding::Inconclusive, self.shorter_than_hold());
        }
        if 100 * u64::from(self.healthy) < HEALTHY_CONTROLS * u64::from(self.controls) {
            return (Finding::Overloaded, self.overloaded());
        }
        if let Err(HorizonTooShort { needed }) = self.horizon {
            return (Finding::Inconclusive, self.too_short(needed));
        }
        let confidence = percent(LEVEL);
        let after = if self.triggered { " after the trigger" } else { "" };
        let down = format!(
            "{} of {} {} still down {}{after}",
            self.stuck,
            runs(self.runs),
            if self.runs == 1 { "is" } else { "are" },
            span(self.watched),
        );
        if share.low >= METASTABLE_FROM {
            let least = percent(share.low);
            let because =
                format!("{down}; the share stuck is at least {least} ({confidence} confidence)");
            return (Finding::Metastable, because);
        }
        if self.stuck > 0 {
            let (low, high) = (percent(share.low), percent(share.high));
            let because = format!(
                "{down}; the share stuck lies between {low} and {high} ({confidence} confidence)"
            );
            return (Finding::Vulnerable, because);
        }
        let most = percent(share.high);
        let none = format!("none of {} is stuck{}", runs(self.runs), self.on_their_way());
        if share.high <= SAFE_UP_TO {
            let because =
                format!("{none}; the share stuck is at most {most} ({confidence} confidence)");
            return (Finding::Safe, because);
        }
        let because = format!(
            "{none}, but the share stuck may still be up to {most} ({confidence} confidence); \
             {LEAST_RUNS_FOR_SAFE} runs would tell"
        );
        (Finding::Inconclusive, because)
    }

    fn overloaded(&self) -> String {
        let what = if self.triggered {
            "control runs without any trigger are healthy: the trigger explains nothing"
        } else {
            "runs are healthy, although nothing is triggered"
        };
        format!("only {} of {} {what}", self.healthy, self.controls)
    }

    /// Nothing is triggered, and no run is long enough to be found healthy.
    fn shorter_than_hold(&self) -> String {
        format!(
            "horizon too short: {} of simulated time are less than the {} for which goodput must \
             hold before a run is called healthy",
            self.watched, self.hold,
        )
    }

    fn too_short(&self, needed: Duration) -> String {
        let enough = if needed.as_secs_f64() < 1e9 {
            format!("a horizon of {} would do", span(needed))
        } else {
            "no horizon would do".into()
        };
        format!(
            "horizon too short: {} after the trigger cannot tell slow from stuck ({} of {} not back); \
             {enough}",
            span(self.watched),
            self.stuck + self.recovering,
            runs(self.runs),
        )
    }

    fn on_their_way(&self) -> String {
        match self.recovering {
            0 => String::new(),
            count => format!(" ({count} still recovering)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORM: Evidence = Evidence {
        runs: 20,
        stuck: 20,
        recovering: 0,
        controls: 20,
        healthy: 20,
        compared: 20,
        triggered: true,
        watched: Duration::from_secs(2_400),
        hold: Duration::from_secs(180),
        horizon: Ok(()),
    };

    #[test]
    fn each_finding_has_its_rule() {
        #[track_caller]
        fn check(evidence: Evidence, expected: Finding, says: &str) {
            let (finding, because) = evidence.finding();
            assert_eq!(finding, expected, "{because}");
            assert!(because.contains(says), "{because}");
        }
        check(
            STORM,
            Finding::Metastable,
            "20 of 20 runs are still down 40 min after the trigger; the share stuck is at least 83.9%",
        );
        check(Evidence { stuck: 14, ..STORM }, Finding::Vulnerable, "between 48.1% and 85.5%");
        check(Evidence { stuck: 15, ..STORM }, Finding::Metastable, "at least 53.1%");
        check(Evidence { stuck: 1, ..STORM }, Finding::Vulnerable, "1 of 20 runs");
        check(Evidence { stuck: 0, ..STORM }, Finding::Inconclusive, "73 runs would tell");
        let many = Evidence { runs: 73, controls: 73, healthy: 73, ..STORM };
        check(Evidence { stuck: 0, ..many }, Finding::Safe, "at most 5%");
        check(Evidence { stuck: 0, runs: 72, ..many }, Finding::Inconclusive, "up to 5.1%");
        check(Evidence { stuck: 0, recovering: 4, ..many }, Finding::Safe, "4 still recovering");
    }

    #[test]
    fn an_unhealthy_twin_comes_before_everything_else() {
        assert_eq!(Evidence { healthy: 18, ..STORM }.finding().0, Finding::Overloaded);
        assert_eq!(Evidence { healthy: 19, ..STORM }.finding().0, Finding::Metastable); // 95 %.
        let short = Err(HorizonTooShort { needed: Duration::from_secs(7_200) });
        assert_eq!(
            Evidence { healthy: 0, horizon: short, ..STORM }.finding().0,
            Finding::Overloaded
        );
    }

    #[test]
    fn without_requests_before_the_trigger_there_is_nothing_to_compare() {
        let none = Evidence { healthy: 0, compared: 0, ..STORM };
        let (finding, because) = none.finding();
        assert_eq!(finding, Finding::Inconclusive);
        assert!(because.contains("no request is made before the trigger"), "{because}");
        let calm = Evidence { triggered: false, stuck: 0, ..none };
        assert_eq!(calm.finding().0, Finding::Overloaded);
    }

    #[test]
    fn a_short_horizon_decides_nothing_and_says_what_would_do() {
        let short = Err(HorizonTooShort { needed: Duration::from_secs(7_200) });
        let (finding, because) = Evidence { horizon: short, ..STORM }.finding();
        assert_eq!(finding, Finding::Inconclusive);
        assert!(because.contains("a horizon of 2 h would do"), "{because}");
    }

    #[test]
    fn a_calm_run_shorter_than_the_hold_is_not_called_overloaded() {
        let calm = Evidence { triggered: false, stuck: 0, healthy: 0, ..STORM };
        let of = |secs| Evidence { watched: Duration::from_secs(secs), ..calm }.finding();
        let (finding, because) = of(179);
        assert_eq!(finding, Finding::Inconclusive);
        assert!(
            because.contains("3 min are less than the 3 min") || because.contains("179"),
            "{because}"
        );
        assert_eq!(of(180).0, Finding::Overloaded);
    }

    #[test]
    fn without_runs_there_is_no_finding() {
        let nothing = Evidence { runs: 0, stuck: 0, controls: 0, healthy: 0, ..STORM };
        assert_eq!(nothing.finding().0, Finding::Inconclusive);
        assert_eq!(
            Evidence { controls: 0, healthy: 0, ..STORM }.finding().0,
            Finding::Inconclusive
        );
    }
}
