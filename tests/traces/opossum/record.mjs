// Records opossum's circuit breaker under a virtual clock.

import { freshClock, installClock, settle, uniforms, versionOf, write } from '../common/node.mjs';

installClock();
const { default: CircuitBreaker } = await import('opossum');
const version = versionOf('opossum');

const CODES = { EOPENBREAKER: 'refused', ESEMLOCKED: 'semaphore', ETIMEDOUT: 'timeout' };

/** `calls` are [at, outcome, duration, filtered?]; calls of one moment in order, ends after them. */
async function trace(name, options, calls, until = 0) {
  const clock = freshClock();
  const steps = [];
  let id = -1;
  const breaker = new CircuitBreaker(async (outcome, duration) => {
    if (duration) await clock.sleep(duration);
    if (outcome !== 'success') throw new Error(outcome);
  }, { ...options, errorFilter: e => e.message === 'filtered', rollingPercentilesEnabled: false, enableSnapshots: false });
  const state = () => breaker.opened ? 'open' : breaker.halfOpen ? 'half_open' : 'closed';
  const counts = () => {
    const { fires, failures, successes, rejects, timeouts } = breaker.stats;
    return { fires, failures, successes, rejects, timeouts };
  };
  const log = step => steps.push({ at_ms: clock.now, ...step, state: state(), pending_close: breaker.pendingClose, ...counts() });
  for (const event of ['open', 'close', 'halfOpen']) breaker.on(event, () => log({ event: 'state' }));
  for (const [at, outcome, duration = 0] of calls) {
    await clock.runTo(at);
    const me = ++id;
    const before = state();
    const slot = steps.length;
    let verdict = 'run';
    const done = breaker.fire(outcome, duration).then(() => 'success', e => CODES[e.code] ?? e.message);
    done.then(result => {
      if (result === 'refused' || result === 'semaphore') verdict = result;
      else log({ event: 'end', id: me, result });
    });
    await settle();
    steps.splice(slot, 0, { at_ms: at, event: 'call', id: me, outcome, duration_ms: duration, before, verdict });
  }
  await clock.runTo(Math.max(until, clock.now + 60_000 * (steps.some(s => s.duration_ms) ? 1 : 0)));
  breaker.shutdown();
  return { name, options, steps };
}

const S = (at, d) => [at, 'success', d];
const F = (at, d) => [at, 'failure', d];
const X = (at, d) => [at, 'filtered', d];
const repeat = (n, f) => Array.from({ length: n }, (_, i) => f(i));

function randomCalls(seed, n, edge, failing, slow) {
  const u = uniforms(seed);
  const calls = [];
  let at = 0;
  for (let i = 0; i < n; i++) {
    const gap = u();
    if (gap < 0.5) at += Math.floor(u() * 60);
    else if (gap < 0.8) at += Math.floor(u() * edge / 4);
    else if (gap < 0.88) at += edge - 1;
    else if (gap < 0.94) at += edge;
    else at += edge + 1;
    const bad = u() < (Math.floor(i / 25) % 2 ? failing : failing / 4);
    calls.push([at, u() < 0.04 ? 'filtered' : bad ? 'failure' : 'success', u() < slow ? 1 + Math.floor(u() * edge) : 0]);
  }
  return calls;
}

const cases = [
  await trace('defaults_open_on_the_first_failure', {}, [F(0), S(1), S(29_999), S(30_000), S(30_001)]),
  await trace('half_is_not_more_than_half', {}, [S(0), F(1), S(2), F(3), F(4), S(5)]),
  await trace('volume_threshold', { volumeThreshold: 5 }, [F(0), F(1), F(2), F(3), F(4), S(5)]),
  await trace('volume_threshold_counts_running_calls', { volumeThreshold: 3 }, [S(0, 500), S(1, 500), F(2), S(3)]),
  await trace('refused_calls_count_as_fires', { volumeThreshold: 2, resetTimeout: 1_000 }, [F(0), F(1), ...repeat(8, i => S(10 + i)), F(1_001), ...repeat(3, i => S(1_010 + i)), S(2_001), F(2_002), F(2_003)]),
  await trace('window_rotates_each_second', { volumeThreshold: 10, errorThresholdPercentage: 50 }, [...repeat(9, i => F(i * 1_000)), F(9_001), F(10_000), F(10_001), F(11_000), S(11_500)]),
  await trace('window_of_one_bucket', { rollingCountTimeout: 1_000, rollingCountBuckets: 1, volumeThreshold: 3 }, [F(0), F(500), F(999), S(1_000)]),
  await trace('window_of_one_bucket_misses_by_a_millisecond', { rollingCountTimeout: 1_000, rollingCountBuckets: 1, volumeThreshold: 3 }, [F(0), F(500), F(1_000), F(1_001), F(1_002), S(1_003)]),
  await trace('one_probe_others_refused', { resetTimeout: 1_000 }, [F(0), S(1_000, 300), S(1_100), S(1_200), S(1_299), S(1_300), S(1_301)]),
  await trace('failed_probe_opens_again', { resetTimeout: 1_000 }, [F(0), F(1_000, 300), S(1_100), S(1_301), S(2_299), S(2_300), S(2_301), F(2_302)]),
  await trace('after_closing_the_old_failures_still_count', { resetTimeout: 1_000, volumeThreshold: 4 }, [...repeat(4, i => F(i)), S(1_003), F(1_004), S(1_005)]),
  await trace('timeout_is_a_failure', { timeout: 100, resetTimeout: 1_000 }, [S(0, 500), S(101), S(1_100)]),
  await trace('filtered_error_is_a_success', { resetTimeout: 1_000 }, [X(0), X(1), F(2), F(3), X(4), F(5), S(6), X(1_005), S(1_006)]),
  await trace('late_success_while_open_and_half_open', { resetTimeout: 1_000 }, [S(0, 500), S(1, 1_500), F(2), F(3), F(4), S(5), S(1_600), F(1_700)]),
  await trace('late_failure_in_half_open', { resetTimeout: 1_000 }, [F(0, 1_500), F(1), F(2), S(3), S(1_501), S(2_499), S(2_500), S(2_501)]),
  await trace('capacity', { capacity: 2, resetTimeout: 1_000 }, [S(0, 100), S(1, 100), S(2, 100), S(3, 100), S(200)]),
  await trace('warm_up', { allowWarmUp: true, rollingCountTimeout: 1_000, resetTimeout: 500 }, [F(0), F(500), F(999), F(1_000), F(1_001), S(1_002)]),
  await trace('random_51', { resetTimeout: 400, rollingCountTimeout: 2_000, volumeThreshold: 5 }, randomCalls(51, 90, 400, 0.8, 0.3)),
  await trace('random_52', { resetTimeout: 1_000, errorThresholdPercentage: 25, timeout: 300 }, randomCalls(52, 90, 1_000, 0.5, 0.3)),
  await trace('random_53', { resetTimeout: 300, rollingCountTimeout: 1_000, rollingCountBuckets: 4, volumeThreshold: 3 }, randomCalls(53, 90, 250, 0.9, 0.2)),
];
write('breaker.json', { library: 'opossum', version, records: 'calls through a circuit breaker under a virtual clock', fields: {
  options: 'as given to the constructor; an error named "filtered" passes the errorFilter, so it counts as a success',
  'steps.event': 'call: a caller arrives and is answered; end: a call that ran ends; state: the breaker has changed state',
  'steps.verdict': 'run, refused (EOPENBREAKER), semaphore (ESEMLOCKED: the capacity is taken)', 'steps.before': 'state when the caller arrived',
  'steps.pending_close': 'half-open, and the one probe has not begun', 'steps.outcome/duration_ms': 'how the call ends if it runs, and after how long; a run longer than the timeout (10 s by default) is a timeout',
  'fires, failures, successes, rejects, timeouts': 'sums over the rolling window, which turns at whole multiples of rollingCountTimeout/rollingCountBuckets since the breaker was made, here at 0; at one moment the window turns first, then the other timers (ends, timeouts, reset) fire in order of their creation, then calls arrive' } }, cases);
