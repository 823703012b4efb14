//! Queues in their steady state, closed loops, and how long a backlog takes to drain.
//!
//! Source: Erlang 1917 (B and C); Pollaczek 1930, Khinchine 1932 (M/G/1); Reiser and Lavenberg
//! 1980 (mean value analysis); Gross and Harris, "Fundamentals of queueing theory".

/// Erlang B: the share of arrivals that find all `servers` busy where nobody waits; `load` is the
/// arrival rate × the mean service time.
pub fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |blocked, c| load * blocked / (f64::from(c) + load * blocked))
}

/// Erlang C: the share of arrivals that wait where everybody waits; 1 at a load of `servers` and
/// above.
pub fn erlang_c(servers: u32, load: f64) -> f64 {
    let blocked = erlang_b(servers, load);
    let free = 1.0 - load / f64::from(servers);
    if free <= 0.0 { 1.0 } else { blocked / (free + load / f64::from(servers) * blocked) }
}

/// The queue M/M/c without a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Arrivals per second.
    pub arrival_rate: f64,
    /// What one server completes per second.
    pub service_rate: f64,
    /// Servers.
    pub servers: u32,
}

impl Queue {
    /// The share of server time that is busy; not below 1 means that there is no steady state.
    pub fn utilisation(&self) -> f64 {
        self.arrival_rate / self.capacity()
    }

    /// The mean wait before service; `None` without a steady state.
    pub fn waiting_time(&self) -> Option<f64> {
        let spare = self.capacity() - self.arrival_rate;
        (spare > 0.0).then(|| self.share_waiting() / spare)
    }

    /// The mean time in the system; `None` without a steady state.
    pub fn sojourn_time(&self) -> Option<f64> {
        self.waiting_time().map(|wait| wait + 1.0 / self.service_rate)
    }

    /// The mean number in the system; `None` without a steady state.
    pub fn present(&self) -> Option<f64> {
        self.sojourn_time().map(|time| self.arrival_rate * time)
    }

    /// The share of arrivals that wait at all.
    pub fn share_waiting(&self) -> f64 {
        erlang_c(self.servers, self.arrival_rate / self.service_rate)
    }

    /// The share of arrivals that wait longer than `time`.
    pub fn share_waiting_longer(&self, time: f64) -> f64 {
        let spare = (self.capacity() - self.arrival_rate).max(0.0);
        self.share_waiting() * (-spare * time).exp()
    }

    /// With room for `room` jobs, service included; `room` ≥ `servers`.
    pub fn bounded(&self, room: u32) -> BoundedQueue {
        let load = self.arrival_rate / self.service_rate;
        // Weights of the states, scaled as we go so that none overflows.
        let mut weights = vec![1.0f64];
        for n in 1..=room {
            let last = weights[weights.len() - 1];
            weights.push(last * load / f64::from(n.min(self.servers)));
            if weights[weights.len() - 1] > 1e200 {
                weights.iter_mut().for_each(|weight| *weight *= 1e-200);
            }
        }
        let total: f64 = weights.iter().sum();
        let blocked = weights[weights.len() - 1] / total;
        let present = weights.iter().enumerate().map(|(n, w)| n as f64 * w).sum::<f64>() / total;
        let throughput = self.arrival_rate * (1.0 - blocked);
        let waiting_time = present / throughput - 1.0 / self.service_rate;
        BoundedQueue { blocked, throughput, present, waiting_time }
    }

    /// What all servers complete per second when busy.
    fn capacity(&self) -> f64 {
        self.service_rate * f64::from(self.servers)
    }
}

/// The queue M/M/c/K in its steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedQueue {
    /// The share of arrivals turned away.
    pub blocked: f64,
    /// Completions per second.
    pub throughput: f64,
    /// The mean number present.
    pub present: f64,
    /// The mean wait of those served.
    pub waiting_time: f64,
}

/// Pollaczek–Khinchine: the mean wait before service in M/G/1; `None` without a steady state.
pub fn pollaczek_khinchine(
    arrival_rate: f64,
    mean_service: f64,
    second_moment: f64,
) -> Option<f64> {
    let idle = 1.0 - arrival_rate * mean_service;
    (idle > 0.0).then(|| arrival_rate * second_moment / (2.0 * idle))
}

/// A closed loop in its steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedLoop {
    /// Requests per second.
    pub throughput: f64,
    /// Mean time from a request to its answer.
    pub response_time: f64,
    /// The share of time each station is busy.
    pub utilisation: Vec<f64>,
}

/// Exact mean value analysis: `users` think for `think` on average, then visit one station of one
/// server after another with these mean service `demands`.
pub fn mean_value_analysis(users: u32, think: f64, demands: &[f64]) -> ClosedLoop {
    let mut queues = vec![0.0; demands.len()];
    let (mut throughput, mut response_time) = (0.0, demands.iter().sum());
    for n in 1..=users {
        let times: Vec<f64> = demands.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
        response_time = times.iter().sum();
        throughput = f64::from(n) / (response_time + think);
        queues = times.iter().map(|time| throughput * time).collect();
    }
    let utilisation = demands.iter().map(|demand| throughput * demand).collect();
    ClosedLoop { throughput, response_time, utilisation }
}

/// A mean and a standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// The time from the end of an outage of length `outage` until M/M/1 is first empty, without
/// retries and timeouts; `None` where it never drains.
pub fn drain_time(arrival_rate: f64, service_rate: f64, outage: f64) -> Option<Spread> {
    let spare = service_rate - arrival_rate;
    if spare <= 0.0 {
        return None;
    }
    let load = arrival_rate / service_rate;
    let (present, variance) = (load / (1.0 - load), load / ((1.0 - load) * (1.0 - load)));
    let backlog = present + arrival_rate * outage;
    // Each job's busy period, and the spread of how many jobs there are at the end.
    let count_variance = variance + arrival_rate * outage;
    let per_job = (arrival_rate + service_rate) / (spare * spare * spare);
    let within = backlog * per_job;
    let between = count_variance / (spare * spare);
    Some(Spread { mean: backlog / spare, deviation: (within + between).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}");
    }

    fn queue(arrival_rate: f64, servers: u32) -> Queue {
        Queue { arrival_rate, service_rate: 1.0, servers }
    }

    #[test]
    fn q_1_and_q_2_waiting_in_line() {
        let single = queue(0.8, 1);
        near(single.present().unwrap(), 4.0);
        near(single.waiting_time().unwrap(), 4.0);
        near(single.sojourn_time().unwrap(), 5.0);
        let four = queue(3.0, 4);
        near(four.share_waiting(), 0.509_434);
        near(four.waiting_time().unwrap(), 0.509_434);
        near(four.share_waiting_longer(1.0), 0.187_410_3);
        near(four.share_waiting_longer(3.930_715_138), 0.01);
        near(four.utilisation(), 0.75);
        assert_eq!(queue(1.0, 1).waiting_time(), None);
        assert_eq!(queue(5.0, 4).share_waiting(), 1.0);
    }

    #[test]
    fn q_3_to_q_5_bounded_room() {
        near(erlang_b(10, 8.0), 0.121_661_1);
        near(8.0 * (1.0 - erlang_b(10, 8.0)), 7.026_711);
        near(queue(8.0, 10).bounded(10).blocked, erlang_b(10, 8.0));
        let two = queue(1.8, 2).bounded(10);
        near(two.blocked, 0.054_807_33);
        near(two.throughput, 1.701_347);
        near(two.present, 4.281_411);
        near(two.waiting_time, 1.516_483);
        let full = queue(1.0, 1).bounded(20);
        near(full.blocked, 0.047_619_05);
        near(full.present, 10.0);
        near(queue(1_000.0, 1).bounded(500).blocked, 0.999); // No overflow on the way.
    }

    #[test]
    fn q_6_to_q_8_any_service_law() {
        near(pollaczek_khinchine(0.8, 1.0, 1.0).unwrap(), 2.0);
        near(pollaczek_khinchine(0.7, 1.0, 5.0).unwrap(), 5.833_333_3);
        near(pollaczek_khinchine(0.7, 1.0, 5.0 * 0.64 / 3.0).unwrap(), 1.244_444_4);
        assert_eq!(pollaczek_khinchine(1.0, 1.0, 1.0), None);
    }

    #[test]
    fn q_18_to_q_20_closed_loops() {
        let single = mean_value_analysis(20, 5.0, &[0.5]);
        near(single.throughput, 1.996_262);
        near(single.response_time, 5.018_725);
        near(single.utilisation[0], 0.998_131);
        let double = mean_value_analysis(10, 2.0, &[0.1, 0.15]);
        near(double.throughput, 4.067_171);
        near(double.response_time, 0.458_711_5);
        near(double.utilisation[1], 0.610_075_6);
        let triple = mean_value_analysis(30, 3.0, &[0.08, 0.1, 0.05]);
        near(triple.throughput, 8.155_814);
        near(triple.response_time, 0.678_357_5);
        near(triple.utilisation[1], 0.815_581_4);
    }

    #[test]
    fn r_30_drain_time() {
        let drain = drain_time(80.0, 100.0, 30.0).unwrap();
        near(drain.mean, 120.2);
        near(drain.deviation, 7.754_998);
        assert_eq!(drain_time(100.0, 100.0, 30.0), None);
    }
}
