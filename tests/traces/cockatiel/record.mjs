// Records cockatiel: delays, breakers, bulkhead, and the three composed, under a virtual clock.

import { ALMOST_ONE, EPOCH, freshClock, installClock, scriptRandom, settle, uniforms, versionOf, write }
  from '../common/node.mjs';

installClock();
const cockatiel = await import('cockatiel');
const { bulkhead, circuitBreaker, CircuitState, ConsecutiveBreaker, CountBreaker, ConstantBackoff,
  ExponentialBackoff, handleType, handleWhen, IterableBackoff, retry, SamplingBreaker, wrap,
  BulkheadRejectedError, BrokenCircuitError, handleAll,
  noJitterGenerator, halfJitterGenerator, fullJitterGenerator, decorrelatedJitterGenerator } = cockatiel;

const version = versionOf('cockatiel');
const head = (records, fields) => ({ library: 'cockatiel', version, records, fields });

// ---------------------------------------------------------------------------------- delays

const GENERATORS = { none: noJitterGenerator, half: halfJitterGenerator,
  full: fullJitterGenerator, decorrelated: decorrelatedJitterGenerator };

function delays(settings, script, retries) {
  const consumed = scriptRandom(script);
  let backoff = new ExponentialBackoff({ ...settings, generator: GENERATORS[settings.generator] });
  const out = [];
  for (let r = 1; r <= retries; r++) {
    backoff = backoff.next({ attempt: r, result: { error: new Error() } });
    out.push(backoff.duration);
  }
  return { uniforms: consumed, delays_ms: out };
}

const SETTINGS = [
  { initialDelay: 128, maxDelay: 30_000, exponent: 2 },
  { initialDelay: 200, maxDelay: 2_000, exponent: 2 },
  { initialDelay: 1_000, maxDelay: 1_000, exponent: 2 },
  { initialDelay: 100, maxDelay: 1_023, exponent: 3 },
  { initialDelay: 77, maxDelay: 3_600_000, exponent: 1.5 },
  { initialDelay: 1, maxDelay: 4_096, exponent: 2 },
  { initialDelay: 0.5, maxDelay: 10, exponent: 2 },
];
const SCRIPTS = { zero: () => () => 0, half: () => () => 0.5, almost_one: () => () => ALMOST_ONE,
  seed_1: () => uniforms(1), seed_2: () => uniforms(2) };

const delayCases = [];
for (const settings of SETTINGS) {
  for (const generator of Object.keys(GENERATORS)) {
    for (const [script, make] of Object.entries(SCRIPTS)) {
      if (generator === 'none' && script !== 'zero') continue;
      if (script === 'seed_2' && settings.maxDelay !== 2_000 && settings.maxDelay !== 30_000) continue;
      delayCases.push({ generator, settings, script, ...delays({ ...settings, generator }, make(), 30) });
    }
  }
}
write('delays.json', head('the delay before each of 30 retries, for each jitter generator', {
  settings: 'ExponentialBackoff options; delays in ms, exponent a pure number',
  uniforms: 'what Math.random() gave, in order; one a retry, none for "none"',
  delays_ms: 'delay before retry 1, 2, …, as the library asks for it, before any timer rounds it' }),
delayCases);

// Far out: the same generators after hundreds of retries, with and without a cap.
const AT = [1, 2, 10, 31, 32, 53, 54, 63, 64, 100, 500, 1022, 1023, 1024, 1025, 1026, 1100, 2000, 10_000];
const farCases = [];
for (const maxDelay of [30_000, 300_000, Infinity]) {
  for (const generator of Object.keys(GENERATORS)) {
    const all = delays({ initialDelay: 100, maxDelay, exponent: 2, generator }, () => 0.5, 10_000).delays_ms;
    farCases.push({ generator, settings: { initialDelay: 100, maxDelay, exponent: 2 }, uniform: 0.5,
      retries: AT, delays_ms: AT.map(r => all[r - 1]) });
  }
}
write('delays-far.json', head('delays of very late retries, every uniform 0.5', {
  retries: 'retry numbers, 1 = first retry', delays_ms: 'delay before that retry; "Infinity" and "NaN" as strings' }),
farCases);

// -------------------------------------------------------------------------------- breakers

const STATES = { [CircuitState.Closed]: 'closed', [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half_open', [CircuitState.Isolated]: 'isolated' };

class Failure extends Error {}
class Unhandled extends Error {}

const BREAKERS = {
  consecutive: o => new ConsecutiveBreaker(o.threshold),
  count: o => new CountBreaker(o),
  sampling: o => new SamplingBreaker({ threshold: o.threshold, duration: o.duration_ms, minimumRps: o.minimum_rps }),
};

/** The moving parts of a breaker, in as few numbers as say all. */
function counters(kind, breaker) {
  if (kind === 'consecutive') return { failures: breaker.state };
  const s = breaker.state;
  if (kind === 'count') return { failures: s.failures, successes: s.successes };
  return { failures: s.currentFailures, successes: s.currentSuccesses };
}

/**
 * `calls` are [at, outcome, duration]; a call that runs ends `duration` later, after every call
 * that arrives at that same moment.
 */
async function breakerTrace(name, kind, options, halfOpenAfter, calls) {
  const clock = freshClock();
  const breaker = BREAKERS[kind](options);
  const halfOpen = Array.isArray(halfOpenAfter) ? new IterableBackoff(halfOpenAfter) : halfOpenAfter;
  const policy = circuitBreaker(handleType(Failure), { halfOpenAfter: halfOpen, breaker });
  const steps = [];
  const state = () => STATES[policy.state];
  const log = step => steps.push({ at_ms: clock.now, ...step, state: state(), ...counters(kind, breaker) });
  policy.onStateChange(s => log({ event: 'state', to: STATES[s] }));

  // Arrivals and ends on one list of our own, so that their order at one moment is known.
  const pending = calls.map(([at, outcome, duration = 0], id) => ({ at, rank: 0, id, outcome, duration }));
  const take = () => {
    pending.sort((a, b) => a.at - b.at || a.rank - b.rank || a.id - b.id);
    return pending.shift();
  };
  for (let item = take(); item; item = take()) {
    await clock.runTo(item.at);
    if (item.finish) {
      item.finish();
      await settle();
      continue;
    }
    const { id, outcome, duration } = item;
    let ran = false;
    let verdict = null;
    const before = state();
    policy.execute(() => {
      const first = verdict === null;
      ran = true;
      verdict = state() === 'half_open' || before === 'open' && first ? 'probe' : 'run';
      if (!first) log({ event: 'resumed', id, verdict });
      const end = () => {
        if (outcome === 'success') return true;
        throw outcome === 'failure' ? new Failure() : new Unhandled();
      };
      if (duration === 0) return end();
      return new Promise((resolve, reject) => pending.push({ at: clock.now + duration, rank: 1, id,
        finish: () => { try { resolve(end()); } catch (e) { reject(e); } } }));
    }).then(() => log({ event: 'end', id, result: 'success' }), error => {
      const refused = error instanceof BrokenCircuitError;
      if (refused && verdict === 'wait') log({ event: 'resumed', id, verdict: 'refused' });
      else if (!refused) log({ event: 'end', id, result: error instanceof Failure ? 'failure' : 'unhandled' });
      if (refused) verdict = 'refused';
    });
    if (verdict === null) {
      verdict = 'wait';
      const slot = steps.length;
      await settle();
      if (verdict === 'refused' && steps.at(-1)?.event === 'resumed' && steps.length === slot + 1) steps.pop();
      steps.splice(slot, 0, { at_ms: clock.now, event: 'call', id, outcome, duration_ms: duration, before,
        verdict: verdict === 'refused' ? 'refused' : 'wait' });
    } else {
      // The function began at once: the line of the call goes before what it set off.
      const slot = steps.length;
      steps.push({ at_ms: clock.now, event: 'call', id, outcome, duration_ms: duration, before, verdict });
      if (verdict === 'probe') {
        const at = steps.findLastIndex((s, i) => i < slot && s.event === 'state' && s.to === 'half_open' && s.at_ms === clock.now);
        if (at >= 0) steps.splice(at, 0, steps.splice(slot, 1)[0]);
      }
      await settle();
    }
    if (!ran && verdict === 'wait') verdict = 'wait';
  }
  return { name, breaker: kind, options, half_open_after_ms: halfOpenAfter, calls: calls.length, steps };
}

/** Calls at random: bursts, pauses that just reach or just miss `edge`, slow calls that overlap. */
function randomCalls(seed, n, { edge, failing, slow = 0.3, unhandled = 0.05 }) {
  const u = uniforms(seed);
  const calls = [];
  let at = 0;
  for (let i = 0; i < n; i++) {
    const gap = u();
    if (gap < 0.45) at += Math.floor(u() * 40);
    else if (gap < 0.75) at += Math.floor(u() * edge / 4);
    else if (gap < 0.83) at += edge - 1;
    else if (gap < 0.91) at += edge;
    else if (gap < 0.95) at += edge + 1;
    const phase = Math.floor(i / 25) % 2;
    const bad = u() < (phase ? failing : failing / 3);
    const outcome = u() < unhandled ? 'unhandled' : bad ? 'failure' : 'success';
    calls.push([at, outcome, u() < slow ? 1 + Math.floor(u() * edge * 1.5) : 0]);
  }
  return calls;
}

const S = (at, d) => [at, 'success', d];
const F = (at, d) => [at, 'failure', d];
const U = (at, d) => [at, 'unhandled', d];
const repeat = (n, f) => Array.from({ length: n }, (_, i) => f(i));

const consecutive = [];
const k5 = { threshold: 5 };
consecutive.push(await breakerTrace('fifth_failure_opens', 'consecutive', k5, 10_000,
  [...repeat(4, i => F(i * 10)), S(50), ...repeat(5, i => F(60 + i * 10)), S(101), S(10_099), S(10_100), S(10_101)]));
consecutive.push(await breakerTrace('one_failed_probe_reopens', 'consecutive', k5, 10_000,
  [...repeat(5, () => F(0)), S(9_999), F(10_000), S(19_999), F(20_000), S(30_000), ...repeat(5, i => F(30_001 + i))]));
consecutive.push(await breakerTrace('unhandled_error_closes_and_keeps_the_count', 'consecutive', k5, 10_000,
  [...repeat(5, () => F(0)), U(10_000), F(10_001), S(10_002), S(20_001), F(20_002), F(20_003)]));
consecutive.push(await breakerTrace('callers_wait_on_a_probe_that_succeeds', 'consecutive', k5, 10_000,
  [...repeat(5, () => F(0)), S(10_000, 500), ...repeat(6, i => S(10_100 + i, 50)), S(10_500, 10), S(10_501)]));
consecutive.push(await breakerTrace('callers_wait_on_a_probe_that_fails', 'consecutive', k5, 10_000,
  [...repeat(5, () => F(0)), F(10_000, 500), ...repeat(6, i => S(10_100 + i, 50)), S(10_500, 10), S(10_501), S(20_499), S(20_500)]));
consecutive.push(await breakerTrace('late_results_arrive_while_open_and_half_open', 'consecutive', { threshold: 2 }, 1_000,
  [...repeat(6, i => F(i, 100 + i * 400)), S(7, 200), S(8, 1_300), S(9, 1_990), S(1_110, 500), S(1_950, 800),
    S(2_000), S(2_600), S(3_104), S(3_105), S(3_106)]));
consecutive.push(await breakerTrace('late_failure_takes_the_decision_from_the_probe', 'consecutive', { threshold: 2 }, 1_000,
  [F(0, 100), F(1, 100), F(2, 1_500), S(1_200, 1_000), S(1_400), S(1_600), S(2_300), S(2_501), S(2_502), S(2_503)]));
consecutive.push(await breakerTrace('growing_break', 'consecutive', { threshold: 1 }, [100, 200, 400],
  [F(0), F(99), F(100), F(299), F(300), F(699), F(700), F(1_099), F(1_100), S(1_500), F(1_501), F(1_600), F(1_601)]));
consecutive.push(await breakerTrace('no_break', 'consecutive', { threshold: 1 }, 0,
  [F(0), F(0), S(0), F(1), S(1)]));
for (const [seed, threshold, edge] of [[11, 1, 300], [12, 2, 300], [13, 3, 1_000], [14, 5, 500]]) {
  consecutive.push(await breakerTrace(`random_${seed}`, 'consecutive', { threshold }, edge,
    randomCalls(seed, 100, { edge, failing: 0.85 })));
}
const BREAKER_FIELDS = {
  half_open_after_ms: 'halfOpenAfter; a list is an IterableBackoff (its last value repeats)',
  'steps.event': 'call: a caller arrives and is answered; resumed: a caller that waited on the probe is answered; end: a call that ran ends; state: the breaker changes state',
  'steps.verdict': 'run; probe (runs and decides); wait (stands behind the probe); refused (BrokenCircuitError)',
  'steps.before': 'state when the caller arrived', 'steps.state': 'state as the step is written',
  'steps.outcome': 'how the call ends if it runs: success, failure (handled), unhandled (an error the policy does not handle)',
  'steps.duration_ms': 'how long it runs if it runs; 0 ends at once, before anything else; otherwise at one moment arrivals come before ends, both by id',
  'steps.failures/successes': 'the counters of the breaker after the step' };
write('breaker-consecutive.json', head('ConsecutiveBreaker under a circuitBreaker policy', BREAKER_FIELDS), consecutive);

const count = [];
const half4 = { threshold: 0.5, size: 4 };
count.push(await breakerTrace('half_is_not_more_than_half', 'count', half4, 1_000,
  [F(0), F(1), S(2), S(3), F(4), F(5), F(6), S(7), S(1_006), S(1_007), F(1_008), F(1_009), F(1_010), F(1_011)]));
count.push(await breakerTrace('minimum_of_calls', 'count', { threshold: 0.5, size: 10, minimumNumberOfCalls: 3 }, 1_000,
  [F(0), F(1), F(2), S(3), F(1_002), S(2_002), F(2_003), F(2_004), F(2_005)]));
count.push(await breakerTrace('success_alone_never_opens', 'count', { threshold: 0.2, size: 5 }, 1_000,
  [F(0), F(1), S(2), S(3), S(4), S(5), F(6), F(7), S(8)]));
count.push(await breakerTrace('ring_forgets_the_oldest', 'count', { threshold: 0.6, size: 5 }, 1_000,
  [S(0), S(1), F(2), F(3), F(4), S(5), F(6), F(7), F(8)]));
count.push(await breakerTrace('callers_wait_on_the_probe', 'count', { threshold: 0.5, size: 2 }, 1_000,
  [F(0), F(1), S(1_001, 100), F(1_050), F(1_060), S(1_101), F(1_102), F(1_103)]));
count.push(await breakerTrace('late_failures_are_counted', 'count', { threshold: 0.5, size: 4 }, 1_000,
  [...repeat(8, i => F(i, 500 + i * 150)), S(1_100), S(2_000), S(2_700, 10), S(2_710)]));
for (const [seed, options, edge] of [[21, half4, 300], [22, { threshold: 0.3, size: 10 }, 400],
  [23, { threshold: 0.75, size: 7, minimumNumberOfCalls: 2 }, 200], [24, { threshold: 0.5, size: 20, minimumNumberOfCalls: 10 }, 500]]) {
  count.push(await breakerTrace(`random_${seed}`, 'count', options, edge, randomCalls(seed, 100, { edge, failing: 0.8 })));
}
write('breaker-count.json', head('CountBreaker under a circuitBreaker policy', BREAKER_FIELDS), count);

const sampling = [];
const s5 = { threshold: 0.2, duration_ms: 5_000, minimum_rps: 1 };
sampling.push(await breakerTrace('minimum_throughput_edge', 'sampling', s5, 1_000,
  [F(0), F(1), F(2), F(3), F(4), S(5), F(1_004), S(2_004), F(2_005)]));
sampling.push(await breakerTrace('share_edge', 'sampling', s5, 1_000,
  [...repeat(8, i => S(i)), F(8), F(9), S(10), F(11), S(12)]));
sampling.push(await breakerTrace('default_minimum', 'sampling', { threshold: 0.5, duration_ms: 1_000 }, 1_000,
  [...repeat(12, i => F(i)), S(20)]));
sampling.push(await breakerTrace('windows_turn_one_at_a_time', 'sampling', s5, 1_000,
  [...repeat(4, i => F(i * 10)), F(4_999), F(999 + 5_000), F(6_000), S(20_000), F(20_001), S(21_000), S(22_000), F(23_000), F(24_000), F(25_000)]));
sampling.push(await breakerTrace('stale_failures_outlast_the_duration', 'sampling', s5, 1_000,
  [...repeat(4, i => F(i)), F(60_000), S(61_001)]));
sampling.push(await breakerTrace('success_of_the_probe_clears_the_windows', 'sampling', s5, 1_000,
  [...repeat(5, i => F(i)), S(1_004, 100), F(1_050), F(1_110), F(1_111), F(1_112), F(1_113), F(1_114)]));
sampling.push(await breakerTrace('duration_not_a_multiple_of_a_second', 'sampling', { threshold: 0.5, duration_ms: 7_300, minimum_rps: 0.5 }, 700,
  [...repeat(30, i => [i * 457, i % 3 === 0 ? 'success' : 'failure'])]));
for (const [seed, options, edge] of [[31, s5, 1_000], [32, { threshold: 0.5, duration_ms: 1_000, minimum_rps: 3 }, 200],
  [33, { threshold: 0.4, duration_ms: 10_000, minimum_rps: 0.6 }, 1_000], [34, { threshold: 0.5, duration_ms: 2_500, minimum_rps: 2 }, 500]]) {
  sampling.push(await breakerTrace(`random_${seed}`, 'sampling', options, edge, randomCalls(seed, 100, { edge, failing: 0.8 })));
}
write('breaker-sampling.json', head('SamplingBreaker under a circuitBreaker policy', {
  ...BREAKER_FIELDS, clock: `virtual time 0 is ${EPOCH} on the wall: the first outcome always opens a window of its own` }), sampling);

// -------------------------------------------------------------------------------- bulkhead

/** `calls` are [at, duration]; a call that ends frees its place before the next arrival. */
async function bulkheadTrace(name, limit, queue, calls) {
  const clock = freshClock();
  const policy = bulkhead(limit, queue);
  const steps = [];
  const log = step => steps.push({ at_ms: clock.now, ...step,
    running: limit - policy.executionSlots, queued: queue - policy.queueSlots });
  for (const [id, [at, duration]] of calls.entries()) {
    await clock.runTo(at);
    let started = false;
    let rejected = false;
    const slot = steps.length;
    policy.execute(() => {
      started = true;
      log({ event: 'start', id });
      return clock.sleep(duration);
    }).then(() => log({ event: 'end', id }), error => {
      if (!(error instanceof BulkheadRejectedError)) throw error;
      rejected = true;
    });
    for (let i = 0; i < 3 && !started; i++) await Promise.resolve();
    const verdict = started ? 'run' : rejected ? 'rejected' : 'queued';
    steps.splice(slot, 0, { at_ms: clock.now, event: 'call', id, duration_ms: duration, verdict,
      running: limit - policy.executionSlots, queued: queue - policy.queueSlots });
  }
  await clock.runTo(1e9);
  return { name, limit, queue, steps };
}

function loadCalls(seed, n, gap, length) {
  const u = uniforms(seed);
  let at = 0;
  return repeat(n, () => {
    at += u() < 0.3 ? 0 : Math.floor(u() * gap * 2);
    return [at, 1 + Math.floor(u() * length * 2)];
  });
}
const bulkheads = [
  await bulkheadTrace('no_queue', 2, 0, repeat(5, i => [i, 10])),
  await bulkheadTrace('first_come_first_served', 2, 3, repeat(8, i => [i, 100 - i * 10])),
  await bulkheadTrace('thirty_first_of_35_is_rejected', 10, 20, repeat(35, () => [0, 100])),
  await bulkheadTrace('an_end_and_an_arrival_at_one_moment', 1, 1, [[0, 10], [1, 10], [10, 5], [10, 5], [20, 5], [25, 5]]),
  await bulkheadTrace('one_at_a_time', 1, 1_000, repeat(20, i => [i, 7])),
  await bulkheadTrace('random_41', 3, 5, loadCalls(41, 100, 10, 30)),
  await bulkheadTrace('random_42', 10, 20, loadCalls(42, 120, 4, 60)),
];
write('bulkhead.json', head('which callers run, queue or are rejected, and when', {
  limit: 'calls running at once', queue: 'calls waiting at once',
  'steps.event': 'call: a caller arrives; start: its function begins; end: its function has ended',
  'steps.duration_ms': 'how long its function runs', 'steps.running/queued': 'places taken after the step',
  order: 'at one moment ends come before arrivals. A queued caller is taken off the queue when a place falls free, and starts a few promise turns later' }),
bulkheads);

// -------------------------------------------------------------------------------- composed

const RESULTS = error => error instanceof BulkheadRejectedError ? 'bulkhead_rejected'
  : error instanceof BrokenCircuitError ? 'broken_circuit' : 'error';

/**
 * wrap(bulkhead, breaker, retry) over a function that takes `latency_ms` and fails while down.
 * `calls` are arrival times; `down` is [from, until) in ms.
 */
async function composedTrace({ name, start, generator = 'none', latency_ms = 0, down, calls, seed = 1,
  limit = 10, queue = 20, threshold = 5, half_open_after_ms = 10_000, retries = 3,
  initial_ms = 200, max_ms = 2_000, order = 'bulkhead, breaker, retry' }) {
  const clock = freshClock();
  const consumed = scriptRandom(uniforms(seed));
  const layers = {
    bulkhead: bulkhead(limit, queue),
    breaker: circuitBreaker(handleAll, { halfOpenAfter: half_open_after_ms, breaker: new ConsecutiveBreaker(threshold) }),
    retry: retry(handleWhen(e => !(e instanceof BrokenCircuitError) && !(e instanceof BulkheadRejectedError)),
      { maxAttempts: retries, backoff: new ExponentialBackoff({ initialDelay: initial_ms, maxDelay: max_ms, generator: GENERATORS[generator] }) }),
  };
  const policy = wrap(...order.split(', ').map(l => layers[l]));
  const raw = [];
  const results = [];
  const states = [];
  const waits = [];
  let warm = true;
  const call = (id, forced) => {
    let attempt = 0;
    return policy.execute(async () => {
      attempt++;
      if (!warm) raw.push([clock.now - base, id, attempt]);
      const fails = forced ?? (clock.now - base >= down[0] && clock.now - base < down[1]);
      if (latency_ms && !warm) await clock.sleep(latency_ms);
      if (fails) throw new Failure();
    }).then(() => 'success', RESULTS).then(result => { if (!warm) results.push([clock.now - base, id, result]); });
  };
  let base = 0;
  if (start !== 'closed') {
    for (let i = 0; i < threshold; i++) {
      let over = false;
      call(-1, true).then(() => { over = true; });
      for (await settle(); !over; await clock.runTo(clock.now + 10));
    }
    if (layers.breaker.state !== CircuitState.Open) throw new Error('the breaker did not open');
    // Half-open is lazy: the breaker is open, and its break has just run out.
    const openedAt = layers.breaker.toJSON().ownState.openedAt - EPOCH;
    if (start === 'half_open') await clock.runTo(openedAt + half_open_after_ms);
  }
  warm = false;
  base = clock.now;
  consumed.length = 0;
  const left = start === 'open' ? layers.breaker.toJSON().ownState.openedAt - EPOCH + half_open_after_ms - base : undefined;
  layers.breaker.onStateChange(s => states.push([clock.now - base, STATES[s]]));
  layers.retry.onRetry(({ delay }) => waits.push([clock.now - base, delay]));
  for (const [id, at] of calls.entries()) {
    // Calls of one moment are made in one turn, so that they stand beside one another.
    if (calls[id - 1] !== at) await clock.runTo(base + at);
    call(id);
  }
  await clock.runTo(base + 1e8);
  const totals = { raw_calls: raw.length };
  for (const [, , r] of results) totals[r] = (totals[r] ?? 0) + 1;
  return { name, order, limit, queue, threshold, half_open_after_ms, retries, initial_ms, max_ms, generator,
    latency_ms, down_ms: down, start, ...(left === undefined ? {} : { break_left_ms: left }), totals, uniforms: consumed,
    calls_ms: calls, raw_calls: raw, waits, results, states };
}

const at0 = repeat(35, () => 0);
const ALWAYS = [0, 1e9];
const NEVER = [0, 0];
const composed = [];
for (const latency_ms of [0, 30]) {
  for (const start of ['closed', 'open', 'half_open']) {
    for (const [word, down] of [['down', ALWAYS], ['up', NEVER]]) {
      composed.push(await composedTrace({ name: `35_at_once_${start}_${word}_latency_${latency_ms}`, start, latency_ms, down, calls: at0 }));
    }
  }
}
composed.push(await composedTrace({ name: 'open_runs_out_under_load', start: 'open', latency_ms: 20, down: [0, 12_000], calls: repeat(100, i => i * 250) }));
composed.push(await composedTrace({ name: 'one_failing_call', start: 'closed', down: ALWAYS, calls: [0] }));
composed.push(await composedTrace({ name: 'failing_calls_one_after_another', start: 'closed', down: ALWAYS, calls: repeat(12, i => i * 2_000) }));
composed.push(await composedTrace({ name: 'recovers_between_retries', start: 'closed', down: [0, 500], calls: at0 }));
composed.push(await composedTrace({ name: 'recovers_while_open', start: 'closed', down: [0, 5_000], latency_ms: 20, calls: repeat(60, i => i * 333) }));
for (const [generator, seed] of [['full', 5], ['half', 6], ['decorrelated', 7]]) {
  composed.push(await composedTrace({ name: `35_at_once_closed_down_${generator}`, generator, seed, start: 'closed', latency_ms: 10, down: ALWAYS, calls: at0 }));
  composed.push(await composedTrace({ name: `outage_of_5_s_${generator}`, generator, seed, start: 'closed', latency_ms: 10, down: [1_000, 6_000], calls: repeat(80, i => i * 250) }));
}
for (const order of ['bulkhead, retry, breaker', 'retry, breaker, bulkhead', 'retry, bulkhead, breaker']) {
  composed.push(await composedTrace({ name: `35_at_once_closed_down: ${order}`, order, start: 'closed', latency_ms: 30, down: ALWAYS, calls: at0 }));
  composed.push(await composedTrace({ name: `outage_of_5_s: ${order}`, order, start: 'closed', latency_ms: 10, down: [1_000, 6_000], calls: repeat(80, i => i * 250) }));
}
write('composed.json', head('wrap(bulkhead, breaker, retry), and other orders, under load', {
  order: 'layers from outermost to innermost; the retry does not retry refusals of breaker or bulkhead',
  'limit, queue': 'bulkhead', 'threshold, half_open_after_ms': 'ConsecutiveBreaker',
  'retries, initial_ms, max_ms, generator': 'retry: retries after the first execution, and its ExponentialBackoff',
  latency_ms: 'how long a raw call takes, failed or not; whether it fails is decided as it begins',
  down_ms: 'raw calls that begin in [from, until) fail', start: 'the breaker as the first call arrives; half_open: open, and its break has just run out',
  break_left_ms: 'start open only: how much of the break remains at 0', calls_ms: 'when each call arrives; its index is its id',
  raw_calls: '[at_ms, id, attempt]: executions of the inner function, in order',
  waits: '[at_ms, delay_ms]: each wait of the retry, in order', uniforms: 'what Math.random() gave, one a wait',
  results: '[at_ms, id, result] in order; error is the failure of the inner function after the last attempt',
  states: '[at_ms, state]: each change of the breaker',
  ties: 'at one moment timers (waits, latencies) fire first, in order of their creation, then calls arrive, all of that moment in one turn' }), composed);
