//! Hedged requests against independent servers that are never busy.

use stormlab::policy::hedge::Hedge;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::hedge::Next;
use stormlab::policy::hedge::PushBack;
use stormlab::policy::outcome::ClassSet;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::units::Duration;

use crate::theory::check;

const REQUESTS: u64 = 2_000_000;

/// exponential service of mean 1 s, a hedge after the 95th percentile, the first answer
/// wins: 5 % of extra load, and 0.8 s off the 99th percentile. Tolerances at 2,000,000 requests.
#[test]
fn r_32_a_hedge_after_the_95th_percentile() {
    let delay = Duration::from_secs_f64(20f64.ln());
    let config =
        HedgeConfig { delay: HedgeDelay::After(delay), max_attempts: 2, on: ClassSet::TRANSIENT };
    let keys = Keys::new(32, 0);
    let service = |request, attempt| {
        Duration::from_secs_f64(keys.exponential(Purpose::Work, request, attempt))
    };
    let (mut hedges, mut latencies) = (0u64, Vec::with_capacity(REQUESTS as usize));
    for request in 0..REQUESTS {
        let mut hedge = Hedge::START;
        let mut answer = service(request, 1);
        let timer = config.timer(Duration::ZERO, None).expect("a timer");
        if timer < answer && hedge.due(&config) {
            answer = answer.min(timer.saturating_add(service(request, hedge.sent())));
        }
        assert_eq!(hedge.settle(&config, Ok(()), PushBack::None), Next::Over(Ok(())));
        hedges += u64::from(hedge.sent() - 1);
        latencies.push(answer);
    }
    latencies.sort_unstable();
    let requests = REQUESTS as f64;
    let mean = latencies.iter().map(|it| it.as_secs_f64()).sum::<f64>() / requests;
    let p99 = latencies[(0.99 * requests) as usize].as_secs_f64();
    let slack = 0.000_96 / 10f64.sqrt();
    check("R-32 extra load", hedges as f64 / requests, 0.05, slack);
    check("R-32 mean latency", mean, 0.975, 0.003_2 / 10f64.sqrt());
    check("R-32 99th percentile", p99, 3.800_451, 0.02 / 10f64.sqrt());
}
