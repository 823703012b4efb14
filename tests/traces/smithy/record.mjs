// Records the retry strategies of the AWS SDK for JavaScript (@smithy/core/retry), through the
// retry middleware of the SDK, under a virtual clock and scripted random numbers.

import { ALMOST_ONE, EPOCH, freshClock, installClock, scriptRandom, uniforms, versionOf, write }
  from '../common/node.mjs';

installClock();
const { retryMiddleware, StandardRetryStrategy, AdaptiveRetryStrategy, DeprecatedStandardRetryStrategy }
  = await import('@smithy/core/retry');
const { HttpResponse } = await import('@smithy/core/protocols');

const version = versionOf('@smithy/core');
const head = (records, fields) => ({ library: '@smithy/core', version, records, fields });

/** An outcome as text, as in the traces of botocore. */
function failure(outcome, clock) {
  const [word, ...extras] = outcome.split(' ');
  const names = { throttled: 'ThrottlingException', slow_down: 'SlowDown', invalid: 'ValidationException',
    request_timeout: 'RequestTimeout', timeout_error: 'TimeoutError' };
  const error = new Error(outcome);
  if (word === 'connection_error') return Object.assign(error, { code: 'ECONNREFUSED', name: 'Error' });
  if (word === 'timeout_error') return Object.assign(error, { name: 'TimeoutError' });
  const status = names[word] ? 400 : Number(word);
  const headers = {};
  for (const extra of extras) {
    const [key, value] = extra.split('=');
    headers[key === 'hint' ? 'x-amz-retry-after' : 'retry-after'] = value;
  }
  return Object.assign(error, { name: names[word] ?? 'ServiceError', $metadata: { httpStatusCode: status },
    $response: new HttpResponse({ statusCode: status, headers }) });
}

class Client {
  constructor(strategy, clock, scope = {}) {
    this.strategy = strategy;
    this.clock = clock;
    this.scope = scope;
  }

  async call(outcomes) {
    const { clock } = this;
    const attempts = [];
    const next = async () => {
      const outcome = outcomes[Math.min(attempts.length, outcomes.length - 1)];
      attempts.push([clock.now, outcome]);
      if (outcome === '200') return { response: new HttpResponse({ statusCode: 200 }), output: { $metadata: {} } };
      throw failure(outcome, clock);
    };
    const options = { retryStrategy: async () => this.strategy, maxAttempts: async () => 3 };
    let result;
    let over = false;
    const begun = clock.now;
    retryMiddleware(options)(next, this.scope)({}).then(() => { result = 'success'; }, e => { result = e.message.split(' ')[0]; })
      .finally(() => { over = true; });
    for (await clock.runTo(clock.now); !over;) {
      const due = clock.nextDue();
      if (due === null) throw new Error('the call never ends');
      await clock.runTo(due);
    }
    const times = attempts.map(([at]) => at).concat(clock.now);
    return { outcomes: attempts.map(([, o]) => o), waits_ms: times.slice(1).map((t, i) => t - times[i]).slice(0, attempts.length - 1),
      slept_after_ms: times.at(-1) - times.at(-2), begun, times: attempts.map(([at]) => at), result };
  }
}

const SCRIPTS = { zero: () => () => 0, half: () => () => 0.5, almost_one: () => () => ALMOST_ONE, seed_1: () => uniforms(1) };
const FIELDS = {
  answer: 'how every attempt is answered: an HTTP status, an error name (throttled, slow_down, request_timeout, invalid: status 400; timeout_error: none), or connection_error; hint=N is x-amz-retry-after in ms, retry-after=N the standard header in s',
  waits_ms: 'virtual time between attempts, in ms', uniforms: 'what Math.random() gave, in order',
  slept_after_ms: 'what was slept after the last attempt, before the error came out (long polls)',
  attempts: 'attempts allowed, the first included', capacity: 'tokens of the quota after the call (start 500)' };

const STRATEGIES = {
  standard: attempts => new StandardRetryStrategy({ maxAttempts: attempts }),
  standard_dynamodb: attempts => new StandardRetryStrategy({ maxAttempts: attempts, baseDelay: 25 }),
  deprecated: attempts => new DeprecatedStandardRetryStrategy(async () => attempts),
};

const delays = [];
for (const strategy of Object.keys(STRATEGIES)) {
  for (const answer of ['503', 'throttled', '429', '501', '500 hint=10', '500 hint=2000', '500 hint=60000', 'throttled hint=3000',
    '503 retry-after=2', '503 retry-after=120', '503 hint=-1', '503 hint=x', 'connection_error', 'timeout_error']) {
    for (const [script, make] of Object.entries(SCRIPTS)) {
      if ((script === 'zero' || script === 'almost_one') && !['503', 'throttled', '500 hint=2000'].includes(answer)) continue;
      const clock = freshClock();
      const consumed = scriptRandom(make());
      const client = new Client(STRATEGIES[strategy](14), clock);
      const { outcomes, waits_ms, result } = await client.call([answer]);
      delays.push({ strategy, attempts: 14, answer, script, attempts_made: outcomes.length, waits_ms, uniforms: consumed, result });
    }
  }
}
write('delays.json', head('one call whose every attempt is answered alike, 14 attempts allowed', { ...FIELDS,
  strategy: 'standard: the present StandardRetryStrategy; standard_dynamodb: with base 25 ms; deprecated: the strategy of the first v3 clients, still exported' }), delays);

const quota = [];
async function quotaTrace(name, calls, { attempts = 3, scope = {}, seed = 1 } = {}) {
  const clock = freshClock();
  const consumed = scriptRandom(uniforms(seed));
  const client = new Client(new StandardRetryStrategy({ maxAttempts: attempts }), clock, scope);
  const steps = [];
  for (const outcomes of calls) {
    consumed.length = 0;
    const { outcomes: made, waits_ms, slept_after_ms, result } = await client.call(outcomes);
    steps.push({ outcomes: made, waits_ms, slept_after_ms, uniforms: [...consumed], result, capacity: client.strategy.getCapacity() });
  }
  quota.push({ name, attempts, steps });
}
const times = (n, x) => Array.from({ length: n }, () => x);
await quotaTrace('drained_by_failures', times(40, ['503']));
await quotaTrace('drained_by_throttling', times(55, ['throttled']));
await quotaTrace('drained_then_refilled', [...times(30, ['503']), ...times(30, ['200']), ...times(3, ['503'])]);
await quotaTrace('two_retries_and_success', [['503', '503', '200'], ['503', 'throttled', '200'], ['throttled', '503', '200'],
  ['timeout_error', '200'], ['200'], ['200'], ['invalid'], ['503', 'invalid'], ['501'], ['429', '200']]);
await quotaTrace('long_poll_waits_when_drained', times(25, ['503']), { scope: { __retryLongPoll: true } });
{
  const u = uniforms(99);
  const pool = ['503', '500', 'throttled', 'timeout_error', '429', 'invalid', '501'];
  const calls = Array.from({ length: 160 }, (_, i) => {
    const bad = Math.floor(i / 40) % 2 === 0 ? 0.9 : 0.15;
    const call = [];
    while (call.length < 4 && u() < bad) call.push(pool[Math.floor(u() * pool.length)]);
    return [...call, '200'];
  });
  await quotaTrace('random', calls, { attempts: 4 });
}
write('quota.json', head('calls one after another on one strategy', FIELDS), quota);

const rate = [];
async function rateTrace(name, calls, attempts = 1) {
  const clock = freshClock();
  clock.now = 100_000;
  const consumed = scriptRandom(uniforms(1));
  const strategy = new AdaptiveRetryStrategy(attempts, { maxAttempts: attempts });
  const client = new Client(strategy, clock);
  const steps = [];
  for (const [gap, outcomes] of calls) {
    await clock.runTo(Math.round(clock.now + gap));
    consumed.length = 0;
    const called = clock.now;
    const { outcomes: made, times: sent, result } = await client.call(outcomes);
    const l = strategy.rateLimiter;
    steps.push({ called_at_ms: called, sent_at_ms: sent, outcomes: made, ...(consumed.length ? { uniforms: [...consumed] } : {}), result,
      enabled: l.enabled, measured_rate: l.measuredTxRate, fill_rate: l.fillRate, capacity: l.maxCapacity, tokens: l.availableTokens,
      w_max: l.lastMaxRate, k: l.timeWindow, last_throttle_ms: Math.round((l.lastThrottleTime * 1000 - EPOCH) * 1e6) / 1e6 });
  }
  rate.push({ name, attempts, steps });
}
await rateTrace('steady_10_per_s_then_one_throttle', [...times(60, [100, ['200']]), [100, ['throttled']], ...times(80, [100, ['200']])]);
await rateTrace('throttled_twice', [...times(40, [100, ['200']]), [100, ['throttled']], ...times(20, [100, ['200']]), ...times(2, [100, ['throttled']]), ...times(40, [100, ['200']])]);
await rateTrace('floor_of_the_rate', [...times(20, [50, ['200']]), ...times(20, [50, ['throttled']]), ...times(20, [50, ['200']])]);
await rateTrace('with_retries', [...times(20, [100, ['200']]), [100, ['throttled', '503', '200']], [100, ['503']], [100, ['throttled']], ...times(20, [100, ['200']])], 3);
write('adaptive.json', head('calls one after another on one AdaptiveRetryStrategy, under a virtual clock', { ...FIELDS,
  called_at_ms: 'virtual time of the call, from 100 000 ms', sent_at_ms: 'when each attempt left', enabled: 'the limiter holds attempts back',
  measured_rate: 'attempts a second as the client sees them', fill_rate: 'tokens a second (at least 0.5)', capacity: 'most tokens (at least 1)',
  tokens: 'tokens left', 'w_max, k, last_throttle_ms': 'state of the cubic curve; k in s' }), rate);
