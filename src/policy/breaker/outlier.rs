//! Outlier detection: a breaker over the hosts of a pool, one of which may be far worse than the
//! rest.
//!
//! A host that fails too often is ejected, and returns in full when its time is over: there is no
//! half-open state. Envoy looks at its hosts every `interval`, and only then does a host return, so
//! an ejection of 30 s lasts between 30 and 40 s under an interval of 10 s. Each ejection lasts one
//! `base_ejection` longer than the last; each interval in which a host is in the pool takes one off
//! again.
//!
//! Invariant: the share of hosts that are out never passes `most_ejected`, but for the one host of
//! `always_one`.
//! Source: Envoy 1.40, `outlier_detection_impl.cc`; defaults in `OutlierConfig::ENVOY`.

use crate::units::Draw;
use crate::units::Duration;
use crate::units::Share;
use crate::units::SimTime;

/// The settings of outlier detection. What is enforced at 0 % in Envoy is `None` here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutlierConfig {
    /// So many failures in a row eject a host at once.
    pub consecutive: Option<u32>,
    /// How often hosts are looked at, and return.
    pub interval: Duration,
    /// How long the first ejection lasts, and how much longer each further one.
    pub base_ejection: Duration,
    /// The longest ejection, before jitter.
    pub max_ejection: Duration,
    /// Up to this much is added to each ejection.
    pub jitter: Duration,
    /// No more than this share of the hosts is out.
    pub most_ejected: Share,
    /// One host may be out even if that is more than the share.
    pub always_one: bool,
    /// Ejects whoever succeeds far less often than the rest.
    pub success_rate: Option<SuccessRate>,
    /// Ejects whoever fails too often, whatever the rest does.
    pub failure_share: Option<FailureShare>,
}

/// A host is an outlier when its share of successes in an interval is below
/// mean − factor · standard deviation of those of all hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SuccessRate {
    /// Fewer hosts than this with enough requests decide nothing.
    pub minimum_hosts: u32,
    /// A host with fewer requests in the interval does not take part.
    pub volume: u32,
    /// Standard deviations below the mean.
    pub factor: f64,
}

/// A host is an outlier when at least this share of its requests in an interval failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureShare {
    /// The share.
    pub at_least: Share,
    /// Fewer hosts than this with enough requests decide nothing.
    pub minimum_hosts: u32,
    /// A host with fewer requests in the interval does not take part.
    pub volume: u32,
}

impl OutlierConfig {
    /// Envoy's defaults, for hosts that Envoy may eject for five failures in a row or for their
    /// success rate; at most 10 % of them.
    pub fn envoy() -> Option<Self> {
        Some(Self {
            consecutive: Some(5),
            interval: Duration::from_secs(10),
            base_ejection: Duration::from_secs(30),
            max_ejection: Duration::from_secs(300),
            jitter: Duration::ZERO,
            most_ejected: Share::new(0.1)?,
            always_one: false,
            success_rate: Some(SuccessRate { minimum_hosts: 5, volume: 100, factor: 1.9 }),
            failure_share: None,
        })
    }
}

/// The hosts of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Outliers {
    hosts: Vec<Host>,
    ejected: u32,
    /// Intervals that have passed.
    ticks: u64,
    /// Ejections so far; each has a draw of its own.
    ejections: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Host {
    /// In a row.
    failures: u32,
    /// In this interval.
    requests: u32,
    successes: u32,
    /// The multiplier of the next ejection, less one.
    times: u32,
    /// Since when it has been out, and what its jitter is.
    out: Option<(SimTime, Duration)>,
}

impl Outliers {
    /// A pool of so many healthy hosts.
    pub fn new(hosts: usize) -> Self {
        Self { hosts: vec![Host::default(); hosts], ejected: 0, ticks: 0, ejections: 0 }
    }

    /// Is a host in the pool?
    pub fn is_in(&self, host: usize) -> bool {
        self.hosts.get(host).is_some_and(|host| host.out.is_none())
    }

    /// How many hosts are out.
    pub const fn ejected(&self) -> u32 {
        self.ejected
    }

    /// A request to a host has ended. `draw` gives the random part of the ejection of a number.
    pub fn report(
        &mut self,
        config: &OutlierConfig,
        host: usize,
        now: SimTime,
        failed: bool,
        draw: &impl Fn(u32) -> Draw,
    ) {
        self.pass_time(config, now, draw);
        let Some(it) = self.hosts.get_mut(host) else { return };
        it.requests = it.requests.saturating_add(1);
        if !failed {
            it.successes = it.successes.saturating_add(1);
            it.failures = 0;
            return;
        }
        it.failures = it.failures.saturating_add(1);
        if config.consecutive.is_some_and(|limit| it.failures >= limit) {
            it.failures = 0;
            self.eject(config, host, now, draw);
        }
    }

    /// Catches up with the intervals that have passed.
    pub fn pass_time(&mut self, config: &OutlierConfig, now: SimTime, draw: &impl Fn(u32) -> Draw) {
        let interval = config.interval.as_nanos().max(1);
        let last = now.as_nanos() / interval;
        while self.ticks < last {
            self.ticks += 1;
            let idle = self
                .hosts
                .iter()
                .all(|host| host.out.is_none() && host.times == 0 && host.requests == 0);
            if idle {
                self.ticks = last; // Nothing can happen until somebody reports.
                return;
            }
            self.tick(config, SimTime::from_nanos(self.ticks * interval), draw);
        }
    }

    /// One look at all hosts.
    fn tick(&mut self, config: &OutlierConfig, now: SimTime, draw: &impl Fn(u32) -> Draw) {
        for host in &mut self.hosts {
            let Some((since, jitter)) = host.out else {
                host.times = host.times.saturating_sub(1);
                continue;
            };
            let long = config.base_ejection.as_nanos().saturating_mul(u64::from(host.times));
            let long = Duration::from_nanos(long).min(config.max_ejection);
            if now.since(since) >= long.saturating_add(jitter) {
                host.out = None;
                self.ejected -= 1;
            }
        }
        if let Some(rule) = config.success_rate
            && let Some(threshold) = self.threshold(rule)
        {
            for host in 0..self.hosts.len() {
                let it = self.hosts[host];
                if it.requests >= rule.volume && it.success_rate() < threshold {
                    self.eject(config, host, now, draw);
                }
            }
        }
        if let Some(rule) = config.failure_share
            && self.taking_part(rule.volume) >= rule.minimum_hosts
        {
            for host in 0..self.hosts.len() {
                let it = self.hosts[host];
                let failed = 1.0 - it.success_rate();
                if it.requests >= rule.volume && failed >= rule.at_least.get() {
                    self.eject(config, host, now, draw);
                }
            }
        }
        for host in &mut self.hosts {
            (host.requests, host.successes) = (0, 0);
        }
    }

    /// Hosts with enough requests in this interval.
    fn taking_part(&self, volume: u32) -> u32 {
        self.hosts.iter().filter(|host| host.requests >= volume).count() as u32
    }

    /// The share of successes below which a host is an outlier.
    fn threshold(&self, rule: SuccessRate) -> Option<f64> {
        let count = self.taking_part(rule.volume);
        if count == 0 || count < rule.minimum_hosts {
            return None;
        }
        let rates = || {
            self.hosts.iter().filter(|host| host.requests >= rule.volume).map(Host::success_rate)
        };
        let mean = rates().sum::<f64>() / f64::from(count);
        let squares: f64 = rates().map(|rate| (rate - mean) * (rate - mean)).sum();
        Some(mean - rule.factor * (squares / f64::from(count)).sqrt())
    }

    /// Takes a host out, if it is in and not too many are out.
    fn eject(
        &mut self,
        config: &OutlierConfig,
        host: usize,
        now: SimTime,
        draw: &impl Fn(u32) -> Draw,
    ) {
        let with_it = f64::from(self.ejected + 1);
        let fits = with_it <= config.most_ejected.get() * self.hosts.len() as f64 + 1e-9;
        let allowed = fits || config.always_one && self.ejected == 0;
        let it = &mut self.hosts[host];
        if it.out.is_some() || !allowed {
            return;
        }
        let longest = config.max_ejection.saturating_add(config.base_ejection);
        let long = config.base_ejection.as_nanos().saturating_mul(u64::from(it.times));
        if Duration::from_nanos(long) < longest {
            it.times += 1;
        }
        it.out = Some((now, config.jitter.scale(draw(self.ejections).get())));
        self.ejected += 1;
        self.ejections = self.ejections.wrapping_add(1);
    }
}

impl Host {
    fn success_rate(&self) -> f64 {
        f64::from(self.successes) / f64::from(self.requests.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn at(secs: u64) -> SimTime {
        SimTime::from_nanos(secs * 1_000_000_000)
    }

    fn middle(_: u32) -> Draw {
        Draw::MIDDLE
    }

    fn fail(pool: &mut Outliers, config: &OutlierConfig, host: usize, secs: u64, times: u32) {
        (0..times).for_each(|_| pool.report(config, host, at(secs), true, &middle));
    }

    #[test]
    fn envoy_hand_trace_of_five_failures_in_a_row() {
        let config = OutlierConfig::envoy().unwrap();
        let mut pool = Outliers::new(10);
        fail(&mut pool, &config, 3, 4, 4);
        pool.report(&config, 3, at(4), false, &middle);
        fail(&mut pool, &config, 3, 4, 4);
        assert!(pool.is_in(3), "a success began the row anew");
        fail(&mut pool, &config, 3, 4, 1);
        assert!(!pool.is_in(3));
        fail(&mut pool, &config, 5, 5, 5);
        assert!(pool.is_in(5), "two of ten would be more than 10 %");
        pool.pass_time(&config, at(39), &middle);
        assert!(!pool.is_in(3), "out at 4 s for 30 s, but hosts return at whole intervals");
        pool.pass_time(&config, at(40), &middle);
        assert!(pool.is_in(3), "and return in full");
        fail(&mut pool, &config, 3, 45, 5);
        pool.pass_time(&config, at(100), &middle);
        assert!(!pool.is_in(3), "the second lasts 60 s from 45 s");
        pool.pass_time(&config, at(110), &middle);
        assert!(pool.is_in(3));
        // Two healthy intervals forget both; the next is a first one again.
        pool.pass_time(&config, at(130), &middle);
        fail(&mut pool, &config, 3, 131, 5);
        pool.pass_time(&config, at(170), &middle);
        assert!(pool.is_in(3));
    }

    #[test]
    fn a_small_pool_loses_nobody_unless_told_to() {
        let config = OutlierConfig::envoy().unwrap();
        let mut pool = Outliers::new(5);
        fail(&mut pool, &config, 0, 1, 5);
        assert!(pool.is_in(0), "one of five is 20 %");
        let one = OutlierConfig { always_one: true, ..config };
        fail(&mut pool, &one, 0, 1, 5);
        fail(&mut pool, &one, 1, 1, 5);
        assert_eq!((pool.is_in(0), pool.is_in(1), pool.ejected()), (false, true, 1));
    }

    #[test]
    fn the_longest_ejection_is_five_minutes() {
        let config = OutlierConfig { always_one: true, ..OutlierConfig::envoy().unwrap() };
        let mut pool = Outliers::new(1);
        let mut now = 0;
        for nth in 1..=20 {
            fail(&mut pool, &config, 0, now, 5);
            let out_at = now;
            while !pool.is_in(0) {
                now += 10;
                pool.pass_time(&config, at(now), &middle);
            }
            assert_eq!(now - out_at, (30 * nth).min(300), "ejection {nth}");
        }
    }

    /// Ten hosts, one of which succeeds half of the time and the others always: mean 95 %,
    /// deviation 15 %, threshold 66.5 %.
    #[test]
    fn envoy_hand_trace_of_success_rates() {
        let config = OutlierConfig { consecutive: None, ..OutlierConfig::envoy().unwrap() };
        let run = |requests: u32| {
            let mut pool = Outliers::new(10);
            for request in 0..requests {
                for host in 0..10 {
                    let failed = host == 7 && request % 2 == 0;
                    pool.report(&config, host, at(1), failed, &middle);
                }
            }
            pool.pass_time(&config, at(10), &middle);
            pool
        };
        assert!(!run(100).is_in(7));
        assert!(run(99).is_in(7), "below the volume");
        assert_eq!(run(100).ejected(), 1);
    }

    #[test]
    fn a_share_of_failures_ejects_whatever_the_rest_does() {
        let rule =
            FailureShare { at_least: Share::new(0.85).unwrap(), minimum_hosts: 5, volume: 50 };
        let config = OutlierConfig {
            consecutive: None,
            success_rate: None,
            failure_share: Some(rule),
            most_ejected: Share::ONE,
            ..OutlierConfig::envoy().unwrap()
        };
        let mut pool = Outliers::new(5);
        for host in 0..5 {
            (0..100).for_each(|n| pool.report(&config, host, at(1), n < 85, &middle));
        }
        pool.pass_time(&config, at(10), &middle);
        assert_eq!(pool.ejected(), 5);
    }

    proptest! {
        /// Whoever fails whenever, no more hosts are out than allowed.
        #[test]
        fn never_too_many_are_out(
            steps in vec((0u64..8, 0usize..20, any::<bool>()), 1..800),
            percent in 0u32..100,
        ) {
            let most_ejected = Share::new(f64::from(percent) / 100.0).unwrap();
            let config = OutlierConfig { most_ejected, ..OutlierConfig::envoy().unwrap() };
            let mut pool = Outliers::new(20);
            let mut now = 0;
            for (pass, host, failed) in steps {
                now += pass;
                (0..3).for_each(|_| pool.report(&config, host, at(now), failed, &middle));
                prop_assert!(pool.ejected() * 100 <= percent * 20);
                let out = (0..20).filter(|host| !pool.is_in(*host)).count();
                prop_assert_eq!(out, pool.ejected() as usize);
            }
        }
    }
}
