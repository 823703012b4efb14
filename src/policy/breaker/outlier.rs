//! Outlier detection: a breaker over the hosts of a pool, one of which may be far worse than the
//! rest.
//!
//! A host that fails too often is ejected, and returns in full when its time is over: there is no
//! half-open state. Envoy looks at its hosts every `interval`, and only then does a host return, so
//! an ejection of 30 s lasts between 30 and 40 s under an interval of 10 s. Each ejection lasts one
//! `base_ejection` longer than the last; each look after the one that brought a host back, and that
//! finds it in the pool and leaves it there, takes one off again.
//!
//! Nothing is scheduled: looks are caught up with at the next question, at the moments at which they
//! were due, in the steps that can change anything.
//!
//! Invariant: the share of hosts that are out never passes `most_ejected`, but for the one host of
//! `always_one`.
//! Source: Envoy 1.40, `outlier_detection_impl.cc`; defaults in [`OutlierConfig::ENVOY`].

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::Share;
use crate::units::SimTime;

/// The settings of outlier detection. What is enforced at 0 % in Envoy is `None` here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OutlierConfig {
    /// So many failures in a row eject a host at once.
    pub consecutive: Option<u32>,
    /// So many gateway errors in a row (502, 503, 504, and what never got an answer) do so too; a
    /// failure that is none of them begins the row anew.
    pub gateway_consecutive: Option<u32>,
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SuccessRate {
    /// Fewer hosts than this with enough requests decide nothing.
    pub minimum_hosts: u32,
    /// A host with fewer requests in the interval does not take part.
    pub volume: u32,
    /// Standard deviations below the mean.
    pub factor: f64,
}

/// A host is an outlier when at least this share of its requests in an interval failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FailureShare {
    /// The share.
    pub at_least: Share,
    /// Fewer hosts than this with enough requests decide nothing.
    pub minimum_hosts: u32,
    /// A host with fewer requests in the interval does not take part.
    pub volume: u32,
}

/// What Envoy takes for a gateway error: it answers 503 itself for a connection that cannot be made
/// or breaks, and 504 for a timeout.
const GATEWAY: ClassSet = ClassSet::of(&[
    Class::Unavailable,
    Class::Overloaded,
    Class::Timeout,
    Class::GatewayTimeout,
    Class::BadGateway,
    Class::ConnectionLost,
    Class::Protocol,
    Class::DeadlinePassed,
]);

/// The status codes from 500 on: everything else, 429 included, is a success.
const FAILURES: ClassSet = GATEWAY.union(ClassSet::of(&[Class::Internal, Class::Fatal]));

impl SuccessRate {
    /// Envoy's defaults.
    pub const ENVOY: Self = Self { minimum_hosts: 5, volume: 100, factor: 1.9 };
}

impl FailureShare {
    /// Envoy's defaults, once it is enforced.
    pub const ENVOY: Self = Self { at_least: Share::percent(85), minimum_hosts: 5, volume: 50 };
}

impl OutlierConfig {
    /// The longest ejection where none is set, unless the first one is longer.
    pub const MAX_EJECTION: Duration = Duration::from_secs(300);

    /// Envoy's defaults, for hosts that Envoy may eject for five failures in a row or for their
    /// success rate; at most 10 % of them.
    pub const ENVOY: Self = Self {
        consecutive: Some(5),
        gateway_consecutive: None,
        interval: Duration::from_secs(10),
        base_ejection: Duration::from_secs(30),
        max_ejection: Self::MAX_EJECTION,
        jitter: Duration::ZERO,
        most_ejected: Share::percent(10),
        always_one: false,
        success_rate: Some(SuccessRate::ENVOY),
        failure_share: None,
    };

    /// Is there anything for which it ejects a host?
    pub const fn has_rule(&self) -> bool {
        self.consecutive.is_some()
            || self.gateway_consecutive.is_some()
            || self.success_rate.is_some()
            || self.failure_share.is_some()
    }
}

/// The hosts of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Outliers {
    hosts: Vec<Host>,
    ejected: u32,
    /// When all hosts are looked at next.
    next_look: SimTime,
    /// Ejections so far; each has a draw of its own.
    ejections: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Host {
    /// In a row.
    failures: u32,
    gateway_failures: u32,
    /// In this interval.
    requests: u32,
    successes: u32,
    /// The multiplier of the next ejection, less one.
    times: u32,
    /// It is out, and comes back at the first look from then on.
    out_until: Option<SimTime>,
    /// The present look has brought it back.
    is_just_back: bool,
}

impl Outliers {
    /// A pool of so many healthy hosts.
    pub fn new(hosts: usize) -> Self {
        let hosts = vec![Host::default(); hosts];
        Self { hosts, ejected: 0, next_look: SimTime::ZERO, ejections: 0 }
    }

    /// Is a host in the pool?
    pub fn is_in(&self, host: usize) -> bool {
        self.hosts.get(host).is_some_and(|host| host.out_until.is_none())
    }

    /// How many hosts are out.
    pub const fn ejected(&self) -> u32 {
        self.ejected
    }

    /// Memory held beside the record itself, in bytes.
    pub const fn bytes(&self) -> usize {
        self.hosts.capacity() * size_of::<Host>()
    }

    /// A request to a host has ended, with a failure or without. `draw` gives the random part of
    /// the ejection of a number.
    pub fn report(
        &mut self,
        config: &OutlierConfig,
        host: usize,
        now: SimTime,
        failure: Option<Class>,
        draw: &impl Fn(u32) -> Draw,
    ) {
        self.pass_time(config, now, draw);
        let Some(it) = self.hosts.get_mut(host) else { return };
        it.requests = it.requests.saturating_add(1);
        let Some(class) = failure.filter(|class| FAILURES.contains(*class)) else {
            it.successes = it.successes.saturating_add(1);
            (it.failures, it.gateway_failures) = (0, 0);
            return;
        };
        it.failures = it.failures.saturating_add(1);
        if GATEWAY.contains(class) {
            it.gateway_failures = it.gateway_failures.saturating_add(1);
            if reached(it.gateway_failures, config.gateway_consecutive) && it.is_in() {
                it.gateway_failures = 0; // Ejected or not: too many may be out.
                self.eject(config, host, now, draw);
            }
        } else {
            it.gateway_failures = 0;
        }
        let it = &mut self.hosts[host];
        if reached(it.failures, config.consecutive) && it.is_in() {
            it.failures = 0;
            self.eject(config, host, now, draw);
        }
    }

    /// Catches up with the looks that were due.
    #[inline]
    pub fn pass_time(&mut self, config: &OutlierConfig, now: SimTime, draw: &impl Fn(u32) -> Draw) {
        if self.next_look <= now {
            self.look_until(config, now, draw);
        }
    }

    #[inline(never)]
    fn look_until(&mut self, config: &OutlierConfig, now: SimTime, draw: &impl Fn(u32) -> Draw) {
        let interval = config.interval.as_nanos().max(1);
        while self.next_look <= now {
            if self.hosts.iter().all(|host| host.requests == 0) {
                // Until somebody comes back, multipliers go down and nothing else happens.
                let back = self.hosts.iter().filter_map(|host| host.out_until).min();
                let idle_until = back.map_or(now.as_nanos(), |back| {
                    now.as_nanos().min(back.as_nanos().saturating_sub(1))
                });
                if let Some(span) = idle_until.checked_sub(self.next_look.as_nanos()) {
                    let looks = span / interval + 1;
                    for host in self.hosts.iter_mut().filter(|host| host.is_in()) {
                        let looks = looks.min(u32::MAX.into()) as u32;
                        host.times = host.times.saturating_sub(looks);
                    }
                    self.next_look =
                        self.next_look + Duration::from_nanos(looks.saturating_mul(interval));
                    continue;
                }
            }
            let at = self.next_look;
            self.next_look = at + config.interval.max(Duration::from_nanos(1));
            self.look(config, at, draw);
        }
    }

    /// One look at all hosts.
    fn look(&mut self, config: &OutlierConfig, now: SimTime, draw: &impl Fn(u32) -> Draw) {
        for host in &mut self.hosts {
            if host.out_until.is_some_and(|until| until <= now) {
                host.out_until = None;
                self.ejected -= 1;
                (host.failures, host.gateway_failures) = (0, 0);
                host.is_just_back = true;
            }
        }
        // Whom one rule ejects counts for the other all the same.
        let threshold = config.success_rate.and_then(|rule| self.threshold(rule));
        let failure_share =
            config.failure_share.filter(|rule| self.enough(rule.volume, rule.minimum_hosts));
        for host in 0..self.hosts.len() {
            if let (Some(rule), Some(threshold)) = (config.success_rate, threshold)
                && self.hosts[host].takes_part(rule.volume)
                && self.hosts[host].success_rate() < threshold
            {
                self.eject(config, host, now, draw);
            }
        }
        for host in 0..self.hosts.len() {
            if let Some(rule) = failure_share
                && self.hosts[host].takes_part(rule.volume)
                && 1.0 - self.hosts[host].success_rate() >= rule.at_least.get() - 1e-9
            {
                self.eject(config, host, now, draw);
            }
        }
        for host in &mut self.hosts {
            (host.requests, host.successes) = (0, 0);
            let was_just_back = std::mem::take(&mut host.is_just_back);
            if host.is_in() && !was_just_back {
                host.times = host.times.saturating_sub(1);
            }
        }
    }

    /// Have enough hosts had enough requests in this interval?
    fn enough(&self, volume: u32, minimum_hosts: u32) -> bool {
        let count = self.hosts.iter().filter(|host| host.takes_part(volume)).count();
        count > 0 && count >= minimum_hosts as usize
    }

    /// The share of successes below which a host is an outlier.
    fn threshold(&self, rule: SuccessRate) -> Option<f64> {
        if !self.enough(rule.volume, rule.minimum_hosts) {
            return None;
        }
        let rates =
            || self.hosts.iter().filter(|it| it.takes_part(rule.volume)).map(Host::success_rate);
        let count = rates().count() as f64;
        let mean = rates().sum::<f64>() / count;
        let squares: f64 = rates().map(|rate| (rate - mean) * (rate - mean)).sum();
        Some(mean - rule.factor * (squares / count).sqrt())
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
        if !it.is_in() || !allowed {
            return;
        }
        let base = config.base_ejection.as_nanos();
        let long = |times: u32| Duration::from_nanos(base.saturating_mul(u64::from(times)));
        if long(it.times) < config.max_ejection.saturating_add(config.base_ejection) {
            it.times += 1;
        }
        let jitter = match config.jitter {
            Duration::ZERO => Duration::ZERO,
            most => most.scale(draw(self.ejections).get()),
        };
        let long = long(it.times).min(config.max_ejection);
        it.out_until = Some(now + long.saturating_add(jitter));
        self.ejected += 1;
        self.ejections = self.ejections.wrapping_add(1);
    }
}

/// Is a row as long as it may not be?
fn reached(row: u32, limit: Option<u32>) -> bool {
    limit.is_some_and(|limit| row >= limit)
}

impl Host {
    const fn is_in(&self) -> bool {
        self.out_until.is_none()
    }

    /// Does it count in a rule over all hosts? Who is out does not, nor who had no request.
    fn takes_part(&self, volume: u32) -> bool {
        self.is_in() && self.requests >= volume.max(1)
    }

    fn success_rate(&self) -> f64 {
        f64::from(self.successes) / f64::from(self.requests.max(1))
    }
}

#[cfg(test)]
mod tests;
