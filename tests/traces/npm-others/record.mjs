// Records smaller npm libraries: retry, async-retry, p-retry, axios-retry, got, BullMQ, undici.

import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ALMOST_ONE, EPOCH, freshClock, installClock, scriptRandom, uniforms, versionOf, write }
  from '../common/node.mjs';

installClock();
const inside = file => path.join(process.cwd(), 'node_modules', file);
const require = createRequire(path.join(process.cwd(), 'x.js'));
const retry = require('retry');
const asyncRetry = require('async-retry');
const { default: pRetry } = await import(pathToFileURL(inside('p-retry/index.js')));
const axios = require('axios');
const axiosRetry = require('axios-retry').default;
const { default: gotDelay } = await import(pathToFileURL(inside('got/dist/source/core/calculate-retry-delay.js')));
const { default: GotOptions } = await import(pathToFileURL(inside('got/dist/source/core/options.js')));
const { Backoffs } = require(inside('bullmq/dist/cjs/classes/backoffs.js'));
const { RetryHandler } = require('undici');

const SCRIPTS = { zero: () => () => 0, half: () => () => 0.5, almost_one: () => () => ALMOST_ONE, seed_1: () => uniforms(1), seed_2: () => uniforms(2) };
const head = (library, records, fields) => ({ library, version: versionOf(library), records, fields });

/** Runs `work` under a fresh clock until it settles; every timer but the watchdog is a wait. */
async function timed(work) {
  const clock = freshClock();
  const attempts = [];
  let result = null;
  work(() => attempts.push(clock.now)).then(() => { result = 'success'; }, e => { result = e.message || e.name; });
  for (await clock.runTo(0); result === null;) {
    const due = clock.nextDue();
    if (due === null) throw new Error('never ends');
    await clock.runTo(due);
  }
  return { attempts_ms: attempts, result };
}

// retry: the whole list of delays at once
const lists = [];
for (const options of [{}, { retries: 5, minTimeout: 100, maxTimeout: 1_000 }, { retries: 4, factor: 3, minTimeout: 10 }, { retries: 10, factor: 0 },
  { retries: 3, minTimeout: 0 }, { retries: 12, factor: 1.2, minTimeout: 100, randomize: true }, { randomize: true }, { retries: 12, minTimeout: 100, maxTimeout: 1_000, randomize: true }]) {
  for (const [script, make] of Object.entries(SCRIPTS)) {
    if (!options.randomize && script !== 'half') continue;
    const consumed = scriptRandom(make());
    lists.push({ options, script, delays_ms: retry.timeouts(options), uniforms: [...consumed] });
  }
}
write('retry.json', head('retry', 'timeouts(options): all delays of one operation', { delays_ms: 'before retry 1, 2, …; the list is sorted',
  uniforms: 'what Math.random() gave, one a delay, before the sorting' }), lists);

// p-retry and async-retry: a call that always fails
for (const [library, run] of [
  ['p-retry', (options, attempt) => pRetry(() => { attempt(); throw new Error('down'); }, options)],
  ['async-retry', (options, attempt) => asyncRetry(() => { attempt(); throw new Error('down'); }, { ...options })],
]) {
  const cases = [];
  for (const options of [{}, { retries: 0 }, { retries: 5, minTimeout: 100, maxTimeout: 1_000 }, { retries: 3, factor: 0 }, { retries: 8, factor: 1.2, minTimeout: 100, randomize: true },
    { retries: 6, minTimeout: 100, maxTimeout: 500, randomize: true }, { retries: 10, minTimeout: 100, maxRetryTime: 1_000, randomize: false }]) {
    for (const [script, make] of Object.entries(SCRIPTS)) {
      const randomized = options.randomize || library === 'async-retry' && options.randomize === undefined;
      if (!randomized && script !== 'half') continue;
      const consumed = scriptRandom(make());
      const seen = await timed(attempt => run(options, attempt));
      const waits = seen.attempts_ms.slice(1).map((t, i) => t - seen.attempts_ms[i]);
      cases.push({ options, script, attempts_made: seen.attempts_ms.length, waits_ms: waits, uniforms: [...consumed], result: seen.result });
    }
  }
  write(`${library}.json`, head(library, 'one call that always fails at once, virtual clock', { waits_ms: 'between the attempts', uniforms: 'what Math.random() gave, in order' }), cases);
}

// axios-retry: real axios over an adapter that answers from a script
const axiosCases = [];
async function axiosCase(name, options, script, method = 'get', draws = 'half', timeout = 0, latency = 0) {
  const consumed = scriptRandom(SCRIPTS[draws]());
  const timeouts = [];
  const seen = await timed(async attempt => {
    let count = 0;
    const client = axios.create({ timeout, adapter: async config => {
      attempt();
      timeouts.push(config.timeout);
      if (latency) await new Promise(r => setTimeout(r, latency));
      const answer = script[Math.min(count++, script.length - 1)];
      const [word, header] = answer.split(' retry-after=');
      if (/^\d/.test(word)) {
        const response = { status: Number(word), headers: header ? { 'retry-after': header } : {}, config, data: '', request: {} };
        if (response.status < 400) return response;
        throw new axios.AxiosError(word, 'ERR_BAD_RESPONSE', config, {}, response);
      }
      throw new axios.AxiosError(word, word, config, {});
    } });
    axiosRetry(client, options);
    await client.request({ url: 'http://localhost/', method });
  });
  const waits = seen.attempts_ms.slice(1).map((t, i) => t - seen.attempts_ms[i] - latency);
  const shown = Object.fromEntries(Object.entries(options).map(([k, v]) => [k, typeof v === 'function' ? v.name || 'linearDelay' : v]));
  axiosCases.push({ name, options: shown, answers: script, method, script: draws, attempts_made: seen.attempts_ms.length, waits_ms: waits, uniforms: consumed.filter((_, i) => i < waits.length), timeouts_ms: timeouts, result: seen.result });
}
for (const method of ['get', 'head', 'options', 'put', 'delete', 'post', 'patch']) {
  for (const answer of ['503', '429', '404', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT']) await axiosCase('defaults', {}, [answer], method);
}
await axiosCase('defaults_retry_after', {}, ['503 retry-after=2']);
await axiosCase('defaults_retry_after_zero', {}, ['503 retry-after=0']);
for (const draws of ['zero', 'half', 'almost_one', 'seed_1']) {
  await axiosCase('exponential', { retries: 8, retryDelay: axiosRetry.exponentialDelay }, ['503'], 'get', draws);
  await axiosCase('exponential_retry_after', { retries: 6, retryDelay: axiosRetry.exponentialDelay }, ['503 retry-after=1'], 'get', draws);
}
await axiosCase('linear', { retries: 5, retryDelay: axiosRetry.linearDelay() }, ['503']);
await axiosCase('one_timeout_for_all', { retries: 5, retryDelay: axiosRetry.exponentialDelay }, ['503'], 'get', 'zero', 1_000, 100);
await axiosCase('timeout_reset', { retries: 3, retryDelay: axiosRetry.exponentialDelay, shouldResetTimeout: true }, ['503'], 'get', 'zero', 1_000, 100);
write('axios-retry.json', head('axios-retry', 'one request through axios, virtual clock', { options: 'of axios-retry; functions by name', answers: 'to attempt 1, 2, …; the last repeats',
  timeouts_ms: 'the timeout that each attempt is given', waits_ms: 'between the end of an attempt and the next', uniforms: 'what Math.random() gave, one a wait where the delay is exponential' }), axiosCases);

// got: its own decision, with its default options
const gotCases = [];
const defaults = new GotOptions().retry;
for (const [name, changes, error] of [
  ['defaults_503', {}, { status: 503 }], ['defaults_429', {}, { status: 429 }], ['defaults_413', {}, { status: 413 }], ['defaults_413_with_a_hint', {}, { status: 413, hint: 3_000 }],
  ['defaults_404', {}, { status: 404 }], ['defaults_post', {}, { status: 503, method: 'POST' }], ['defaults_econnreset', {}, { code: 'ECONNRESET' }], ['defaults_etimedout', {}, { code: 'ETIMEDOUT' }],
  ['hint_within_the_limit', { maxRetryAfter: 5_000 }, { status: 503, hint: 5_000 }], ['hint_above_the_limit', { maxRetryAfter: 5_000 }, { status: 503, hint: 5_001 }],
  ['no_noise_cap_1500', { limit: 8, noise: 0, backoffLimit: 1_500 }, { status: 503 }], ['limit_8', { limit: 8 }, { status: 503 }], ['cap_3000', { limit: 8, backoffLimit: 3_000 }, { status: 503 }],
]) {
  for (const [script, make] of Object.entries(SCRIPTS)) {
    if (script === 'seed_2') continue;
    const consumed = scriptRandom(make());
    const retryOptions = { ...defaults, ...changes };
    const delays = [];
    for (let attemptCount = 1; attemptCount <= 10; attemptCount++) {
      const typed = { name: 'HTTPError', code: error.code ?? 'ERR_NON_2XX_3XX_RESPONSE', options: { method: error.method ?? 'GET' }, response: error.status ? { statusCode: error.status } : undefined };
      delays.push(gotDelay({ attemptCount, retryOptions, error: typed, retryAfter: error.hint, computedValue: retryOptions.maxRetryAfter ?? Infinity }));
    }
    gotCases.push({ name, changes, error, script, delays_ms: delays, uniforms: consumed });
  }
}
write('got.json', { ...head('got', 'the delay that got computes before retry 1 … 10', { delays_ms: '0 means give up', 'error.hint': 'Retry-After, in ms', uniforms: 'what Math.random() gave, in order' }),
  defaults: { limit: defaults.limit, methods: defaults.methods, statusCodes: defaults.statusCodes, errorCodes: defaults.errorCodes, noise: defaults.noise, backoffLimit: defaults.backoffLimit ?? 'Infinity', maxRetryAfter: defaults.maxRetryAfter ?? null } }, gotCases);

// BullMQ
const bull = [];
for (const options of [{ type: 'fixed', delay: 1_000 }, { type: 'fixed', delay: 1_000, jitter: 0.5 }, { type: 'fixed', delay: 333, jitter: 1 }, { type: 'exponential', delay: 1_000 },
  { type: 'exponential', delay: 1_000, jitter: 0.5 }, { type: 'exponential', delay: 3, jitter: 0.2 }, { type: 'exponential', delay: 0.3 }]) {
  for (const [script, make] of Object.entries(SCRIPTS)) {
    if (script === 'seed_2' || !options.jitter && script !== 'half') continue;
    const consumed = scriptRandom(make());
    const delays = [];
    for (let made = 1; made <= 20; made++) delays.push(Backoffs.calculate(options, made, new Error()));
    bull.push({ options, script, delays_ms: delays, uniforms: consumed });
  }
}
bull.push({ options: { type: 'exponential', delay: 1_000 }, script: 'half', attempts_made: [31, 53, 64, 1_000, 1_015, 1_025, 2_000],
  delays_ms: [31, 53, 64, 1_000, 1_015, 1_025, 2_000].map(n => Backoffs.calculate({ type: 'exponential', delay: 1_000 }, n, new Error())), uniforms: [] });
write('bullmq.json', head('bullmq', 'built-in backoff strategies', { delays_ms: 'before retry 1, 2, … (attemptsMade 1, 2, …, or as listed)', uniforms: 'what Math.random() gave, one a delay with jitter' }), bull);

// undici: the default retry of RetryHandler
const undici = [];
const decide = Object.getOwnPropertySymbols(RetryHandler).map(s => RetryHandler[s]).find(f => typeof f === 'function');
for (const [name, options, error] of [
  ['defaults_503', {}, { statusCode: 503 }], ['defaults_429', {}, { statusCode: 429 }], ['defaults_404', {}, { statusCode: 404 }], ['defaults_501', {}, { statusCode: 501 }],
  ['defaults_post', {}, { statusCode: 503, method: 'POST' }], ['defaults_econnreset', {}, { code: 'ECONNRESET' }], ['defaults_other_code', {}, { code: 'ESOMETHING' }],
  ['retry_after_7', {}, { statusCode: 503, hint: '7' }], ['retry_after_120', {}, { statusCode: 503, hint: '120' }], ['retry_after_0', {}, { statusCode: 503, hint: '0' }],
  ['retry_after_date', {}, { statusCode: 503, hint: new Date(EPOCH + 9_000).toUTCString() }], ['retry_after_text', {}, { statusCode: 503, hint: 'soon' }],
  ['min_100_max_1000_factor_3', { maxRetries: 8, minTimeout: 100, maxTimeout: 1_000, timeoutFactor: 3 }, { statusCode: 503 }],
]) {
  const { retryOpts } = new RetryHandler({ retryOptions: options }, { dispatch() {}, handler: {} });
  const delays = [];
  for (let counter = 1; counter <= 10; counter++) {
    const clock = freshClock();
    let failed = false;
    decide({ code: error.code, statusCode: error.statusCode, headers: error.hint === undefined ? {} : { 'retry-after': error.hint } },
      { state: { counter }, opts: { method: error.method ?? 'GET', retryOptions: retryOpts } }, e => { failed = Boolean(e); });
    if (failed) break;
    delays.push(clock.nextDue());
  }
  undici.push({ name, options, error, delays_ms: delays });
}
write('undici.json', head('undici', 'the waits that RetryHandler asks for before retry 1, 2, … until it gives up', { delays_ms: 'empty: not retried at all', 'error.hint': 'Retry-After as sent' }), undici);
process.exit(0);
