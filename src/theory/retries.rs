//! What retries add to the load, and the states they can hold a service in.
//!
//! Source: elementary; the equilibria are the mean-field limit of long waits between attempts, in
//! which attempts form a Poisson process.

/// Mean attempts of a call whose attempts fail independently with probability `failing`:
/// (1 − pⁿ) / (1 − p).
pub fn attempts_per_call(failing: f64, max_attempts: u32) -> f64 {
    let most = f64::from(max_attempts);
    if failing >= 1.0 || max_attempts <= 1 {
        return most;
    }
    // expm1 keeps the digits that 1 − pⁿ would lose near p = 1.
    -(most * failing.ln()).exp_m1() / (1.0 - failing)
}

/// Mean attempts at each of `layers` layers (outermost first) per request, when only the last one
/// fails, independently with probability `failing`, and each caller tries `max_attempts` times:
/// (1 − p^(n^L)) / (1 − p^(n^(L − d))) at depth d. At p = 1: n^d.
pub fn attempts_by_layer(failing: f64, max_attempts: u32, layers: u32) -> Vec<f64> {
    // Seen from layer d, a call to layer d + 1 fails when all attempts below it fail.
    let mut failure = failing;
    let mut per_call: Vec<f64> = (0..layers)
        .map(|_| {
            let attempts = attempts_per_call(failure, max_attempts);
            failure = failure.powf(f64::from(max_attempts));
            attempts
        })
        .collect();
    per_call.reverse();
    // Layers above multiply.
    let multiply = |product: &mut f64, attempts: f64| {
        *product *= attempts;
        Some(*product)
    };
    per_call.into_iter().scan(1.0, multiply).collect()
}

/// Attempts per request in a full outage under a budget into which each call pays `ratio`, with a
/// steady income of `floor` retries per second: 1 + r + floor / λ, at most `max_attempts`.
pub fn amplification_under_budget(
    ratio: f64,
    floor: f64,
    arrival_rate: f64,
    max_attempts: u32,
) -> f64 {
    (1.0 + ratio + floor / arrival_rate).min(f64::from(max_attempts))
}

/// The mean number of attempts until `limit` failures in a row, each attempt failing
/// independently with probability `failing` > 0: (p⁻ᵏ − 1) / (1 − p).
pub fn attempts_to_trip(failing: f64, limit: u32) -> f64 {
    (1..=limit).map(|k| failing.powf(-f64::from(k))).sum()
}

/// Steady states of a service whose callers time out and try again, when waits between attempts
/// are long (mean field): attempts per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equilibria {
    /// Where it settles after a small disturbance; `None`: nowhere.
    pub healthy: Option<f64>,
    /// Beyond this rate it runs away; `None` where there is no storm to run into.
    pub tipping: Option<f64>,
    /// Every call uses every attempt; `None` where capacity suffices even for that.
    pub storm: Option<f64>,
}

/// A service M/M/1 whose callers wait for `timeout` and make up to `max_attempts` attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeoutRetries {
    /// What the server completes per second.
    pub service_rate: f64,
    /// The longest wait of an attempt.
    pub timeout: f64,
    /// Attempts of a call, the first included.
    pub max_attempts: u32,
}

/// Points at which a curve on (0, capacity) is looked at before bisecting between them.
const GRID: u32 = 20_000;

impl TimeoutRetries {
    /// The roots of x = λ (1 − pⁿ) / (1 − p) with p = exp(−(μ − x) T).
    pub fn equilibria(&self, arrival_rate: f64) -> Equilibria {
        let excess = |x: f64| arrival_rate * self.attempts_at(x) - x;
        let all_used = arrival_rate * f64::from(self.max_attempts);
        let storm = (all_used > self.service_rate).then_some(all_used);
        let calm = self.grid().find(|x| excess(*x) < 0.0);
        let healthy = calm.map(|calm| bisect(0.0, calm, |x| excess(x) > 0.0));
        let tipping = calm
            .filter(|_| storm.is_some())
            .map(|calm| bisect(calm, self.service_rate, |x| excess(x) < 0.0));
        Equilibria { healthy, tipping, storm }
    }

    /// The largest arrival rate with a healthy steady state.
    pub fn largest_healthy_rate(&self) -> f64 {
        self.grid().map(|x| x / self.attempts_at(x)).fold(0.0, f64::max)
    }

    /// Attempts per call when attempts come at rate `x`.
    fn attempts_at(&self, x: f64) -> f64 {
        let failing = (-(self.service_rate - x) * self.timeout).exp().min(1.0);
        attempts_per_call(failing, self.max_attempts)
    }

    fn grid(&self) -> impl Iterator<Item = f64> {
        let step = self.service_rate / f64::from(GRID);
        (1..GRID).map(move |i| step * f64::from(i))
    }
}

/// Where `holds` turns from true (at `low`) to false (at `high`).
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}");
    }

    #[test]
    fn r_1_to_r_5_amplification() {
        near(attempts_per_call(0.3, 4), 1.417);
        near(attempts_per_call(1.0, 4), 4.0);
        near(attempts_per_call(0.5, u32::MAX), 2.0);
        near(0.5 * attempts_per_call(0.3, 4), 0.7085);
        assert_eq!(attempts_by_layer(1.0, 4, 3), [4.0, 16.0, 64.0]);
        let half = attempts_by_layer(0.5, 3, 3);
        for (found, expected) in half.iter().zip([1.001_957, 1.142_857, 2.0]) {
            near(*found, expected);
        }
        near(amplification_under_budget(0.2, 0.0, 100.0, 4), 1.2);
        near(amplification_under_budget(0.2, 10.0, 100.0, 4), 1.3);
        near(amplification_under_budget(0.2, 1_000.0, 100.0, 4), 4.0);
    }

    #[test]
    fn r_20_and_r_21_attempts_until_a_breaker_trips() {
        near(attempts_to_trip(0.5, 5), 62.0);
        near(attempts_to_trip(0.8, 5), 10.258_79);
        near(attempts_to_trip(1.0, 5), 5.0);
    }

    #[test]
    fn r_25_and_r_26_equilibria_of_retries() {
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 2e-7 * 5.0, "{found} for {expected}");
        };
        let first = TimeoutRetries { service_rate: 1.0, timeout: 10.0, max_attempts: 4 };
        let found = first.equilibria(0.5);
        near(found.healthy.unwrap(), 0.503_514);
        near(found.tipping.unwrap(), 0.929_51);
        near(found.storm.unwrap(), 2.0);
        near(first.largest_healthy_rate(), 0.693_717_4);
        assert_eq!(first.equilibria(0.7).healthy, None);
        let second = TimeoutRetries { timeout: 5.0, ..first };
        let found = second.equilibria(0.4);
        near(found.healthy.unwrap(), 0.423_754_2);
        near(found.tipping.unwrap(), 0.906_635_2);
        near(found.storm.unwrap(), 1.6);
        let third = TimeoutRetries { max_attempts: 3, ..second };
        near(third.largest_healthy_rate(), 0.550_719_4);
        let harmless = TimeoutRetries { timeout: 3.0, max_attempts: 2, ..first }.equilibria(0.45);
        near(harmless.healthy.unwrap(), 0.576_195_9);
        assert_eq!((harmless.tipping, harmless.storm), (None, None));
    }
}
