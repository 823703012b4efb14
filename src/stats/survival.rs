//! Times to an event that some never reach: recovery, where runs end first.
//!
//! A run that ended before it recovered says "longer than this". Dropping such runs hides exactly
//! the storms that matter; counting them as recovered at the end is no better. The product-limit
//! estimate uses both kinds for what they say.
//!
//! Source: Kaplan and Meier 1958; Royston and Parmar 2013 (restricted mean); the standard error is
//! √ Σ A(t)² d / (n (n − d)), where A(t) is the area under the curve to the right of t.

/// The share that has not yet met the event, over time.
#[derive(Clone, Debug, PartialEq)]
pub struct SurvivalCurve {
    steps: Vec<Step>,
    last: f64,
}

/// A moment at which the curve falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// When.
    pub time: f64,
    /// How many had neither met the event nor left before.
    pub at_risk: u32,
    /// How many met the event.
    pub events: u32,
    /// The share that is left afterwards.
    pub share: f64,
}

/// Products of fractions that should be a half may miss it by their last digits.
const ROUNDING: f64 = 1e-12;

impl SurvivalCurve {
    /// The product-limit estimate from (time, did the event happen?); `None` of nothing or when a
    /// time is NaN. At equal times events come before departures.
    pub fn fit(times: &[(f64, bool)]) -> Option<Self> {
        if times.is_empty() || times.iter().any(|(time, _)| time.is_nan()) {
            return None;
        }
        let mut sorted = times.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut steps, mut share, mut gone) = (Vec::new(), 1.0, 0);
        for group in sorted.chunk_by(|a, b| a.0 == b.0) {
            let at_risk = (sorted.len() - gone) as u32;
            let events = group.iter().filter(|(_, happened)| *happened).count() as u32;
            gone += group.len();
            if events > 0 {
                share *= f64::from(at_risk - events) / f64::from(at_risk);
                steps.push(Step { time: group[0].0, at_risk, events, share });
            }
        }
        Some(Self { steps, last: sorted[sorted.len() - 1].0 })
    }

    /// Where the curve falls, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The longest time seen, event or not: beyond it nothing is known.
    pub const fn last(&self) -> f64 {
        self.last
    }

    /// The share that has not met the event by `time` (the event at `time` itself counts).
    pub fn share_at(&self, time: f64) -> f64 {
        let passed = self.steps.partition_point(|step| step.time <= time);
        passed.checked_sub(1).map_or(1.0, |last| self.steps[last].share)
    }

    /// The first time by which a share `p` has met the event; `None`: not reached.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let reached = |step: &&Step| step.share <= 1.0 - p + ROUNDING;
        self.steps.iter().find(reached).map(|step| step.time)
    }

    /// The time by which half have met the event; `None`: not reached.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The mean of min(time, tau) with its standard error: the area under the curve up to `tau`.
    /// Beyond the longest time seen the curve goes on level; choose `tau` no larger than the
    /// smallest censoring limit.
    pub fn restricted_mean(&self, tau: f64) -> (f64, f64) {
        let (mut area, mut variance, mut end) = (0.0, 0.0, tau);
        // From the right, so that the area to the right of each step is at hand.
        for step in self.steps.iter().rev().filter(|step| step.time < tau) {
            area += (end - step.time) * step.share;
            end = step.time;
            let (at_risk, events) = (f64::from(step.at_risk), f64::from(step.events));
            if step.at_risk > step.events {
                variance += area * area * events / (at_risk * (at_risk - events));
            }
        }
        (area + end, variance.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} for {expected}");
    }

    #[test]
    fn t_2_remission_of_21_patients() {
        let times = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35];
        let events = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0];
        let data: Vec<_> = times.iter().zip(events).map(|(t, e)| (f64::from(*t), e == 1)).collect();
        let curve = SurvivalCurve::fit(&data).unwrap();
        let expected = [
            (6.0, 0.857_143),
            (7.0, 0.806_723),
            (10.0, 0.752_941),
            (13.0, 0.690_196),
            (16.0, 0.627_451),
            (22.0, 0.537_815),
            (23.0, 0.448_179),
        ];
        assert_eq!(curve.steps().len(), expected.len());
        for (time, share) in expected {
            near(curve.share_at(time), share, 1e-6);
        }
        let (mean, error) = curve.restricted_mean(35.0);
        near(mean, 23.2874, 1e-5);
        near(error, 2.827_468, 1e-4);
        near(curve.restricted_mean(20.0).0, 16.116_53, 1e-5);
        assert_eq!(curve.median(), Some(23.0));
        assert_eq!((curve.share_at(5.9), curve.last()), (1.0, 35.0));
    }

    #[test]
    fn t_3_runs_that_never_recover_stay_in_the_mean() {
        let recovered = [1.2, 1.5, 1.9, 2.2, 2.4, 3.0, 4.0];
        let mut data: Vec<_> = recovered.map(|time| (time, true)).to_vec();
        data.extend([(30.0, false); 3]);
        let curve = SurvivalCurve::fit(&data).unwrap();
        let (mean, error) = curve.restricted_mean(30.0);
        near(mean, 10.62, 1e-6);
        near(error, 4.018_776, 1e-4);
        assert_eq!(curve.median(), Some(2.4));
        assert_eq!(curve.quantile(0.95), None, "three in ten never get there");
    }

    #[test]
    fn everybody_recovers_in_the_end() {
        let curve = SurvivalCurve::fit(&[(1.0, true), (3.0, true)]).unwrap();
        assert_eq!(curve.restricted_mean(10.0), (2.0, (1.0f64 / 2.0).sqrt()));
        assert_eq!(curve.quantile(0.95), Some(3.0));
        assert_eq!(SurvivalCurve::fit(&[]), None);
        let nobody = SurvivalCurve::fit(&[(5.0, false)]).unwrap();
        assert_eq!((nobody.median(), nobody.restricted_mean(5.0)), (None, (5.0, 0.0)));
    }
}
