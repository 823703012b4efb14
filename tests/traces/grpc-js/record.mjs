// Records @grpc/grpc-js against a server in the same process on the loopback.
//
// Only what the retrying call itself draws and waits is scripted: its Math.random() comes from the
// script, and its setTimeout is noted and then fires at once. Everything else runs as ever.

import { ALMOST_ONE, uniforms, versionOf, write } from '../common/node.mjs';

const waits = [];
const consumed = [];
let script = () => 0.5;
let realTime = false;
const ours = () => !realTime && new Error().stack.includes('retrying-call');
const realRandom = Math.random;
Math.random = () => {
  if (!ours()) return realRandom();
  const u = script();
  consumed.push(u);
  return u;
};
const realSetTimeout = globalThis.setTimeout;
globalThis.setTimeout = (f, ms, ...rest) => {
  if (!ours()) return realSetTimeout(f, ms, ...rest);
  waits.push(Number.isNaN(ms) ? 'NaN' : ms);
  return realSetTimeout(f, 0, ...rest);
};

const grpc = (await import('@grpc/grpc-js')).default;
const version = versionOf('@grpc/grpc-js');
const head = (records, fields) => ({ library: '@grpc/grpc-js', version, records, fields });
const identity = x => x;
const METHOD = { path: '/traces.Traces/Call', requestStream: false, responseStream: false,
  requestSerialize: identity, requestDeserialize: identity, responseSerialize: identity, responseDeserialize: identity };

/** A server of its own, so that no throttle is shared. */
async function serve() {
  const seen = [];
  let answers = ['OK'];
  const server = new grpc.Server();
  server.addService({ Call: METHOD }, { Call(call, callback) {
    const outcome = answers[Math.min(seen.length, answers.length - 1)];
    seen.push(outcome);
    const [code, pushback] = outcome.replace(/ after=\d+/, '').split(' pushback=');
    const after = Number(/after=(\d+)/.exec(outcome)?.[1] ?? 0);
    if (after) return realSetTimeout(() => callback(null, Buffer.alloc(0)), after);
    if (code === 'OK') return callback(null, Buffer.alloc(0));
    const metadata = new grpc.Metadata();
    if (pushback !== undefined) metadata.set('grpc-retry-pushback-ms', pushback);
    callback({ code: grpc.status[code], details: '', metadata });
  } });
  const port = await new Promise((resolve, reject) => server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (e, p) => e ? reject(e) : resolve(p)));
  return { port, seen, answer(list) { answers = list; seen.length = 0; waits.length = 0; consumed.length = 0; }, stop: () => server.forceShutdown() };
}

function connect(port, method, throttle, extra = {}) {
  const config = { methodConfig: [{ name: [{}], ...method }], loadBalancingConfig: [], ...(throttle ? { retryThrottling: throttle } : {}) };
  return new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(),
    { 'grpc.service_config': JSON.stringify(config), 'grpc.use_local_subchannel_pool': 1, ...extra });
}

const call = client => new Promise(resolve => client.makeUnaryRequest(METHOD.path, identity, identity, Buffer.alloc(0),
  { deadline: Date.now() + 10_000 }, error => resolve(error ? grpc.status[error.code] : 'OK')));

const policy = (maxAttempts = 5, initial = '0.1s', longest = '0.3s', multiplier = 2, codes = ['UNAVAILABLE']) =>
  ({ maxAttempts, initialBackoff: initial, maxBackoff: longest, backoffMultiplier: multiplier, retryableStatusCodes: codes });

const backoffs = [];
for (const [name, retryPolicy, answers, options] of [
  ['documented_example', policy(), ['UNAVAILABLE']],
  ['cap_below_the_first', policy(4, '0.2s', '0.1s', 2), ['UNAVAILABLE']],
  ['multiplier_below_one', policy(5, '0.2s', '1s', 0.5), ['UNAVAILABLE']],
  ['limit_8_is_5', policy(8), ['UNAVAILABLE']],
  ['limit_8_with_a_wider_channel', policy(8, '0.1s', '1s', 2), ['UNAVAILABLE'], { 'grpc-node.retry_max_attempts_limit': 10 }],
  ['pushback_50_ms', policy(), ['UNAVAILABLE pushback=50']],
  ['pushback_then_the_sequence_restarts', policy(5, '0.1s', '1s', 3), ['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE pushback=20', 'UNAVAILABLE']],
  ['pushback_0', policy(), ['UNAVAILABLE pushback=0']],
  ['pushback_minus_one', policy(), ['UNAVAILABLE', 'UNAVAILABLE pushback=-1']],
  ['pushback_not_a_number', policy(), ['UNAVAILABLE pushback=abc']],
  ['pushback_on_a_code_not_listed', policy(), ['INTERNAL pushback=10']],
  ['code_not_listed', policy(), ['INTERNAL']],
  ['success_on_the_third', policy(), ['UNAVAILABLE', 'UNAVAILABLE', 'OK']],
]) {
  for (const [word, make] of [['zero', () => () => 0], ['half', () => () => 0.5], ['almost_one', () => () => ALMOST_ONE], ['seed_1', () => uniforms(1)]]) {
    if (!/example|cap|mult|wider|restarts/.test(name) && word !== 'half') continue;
    script = make();
    const server = await serve();
    const client = connect(server.port, { retryPolicy }, null, options);
    server.answer(answers);
    const result = await call(client);
    backoffs.push({ name, retry_policy: retryPolicy, script: answers, draws: word, attempts_made: server.seen.length, waits_ms: [...waits], uniforms: [...consumed], result });
    client.close();
    server.stop();
  }
}
write('backoff.json', head('one call: attempts, and the waits that the retrying call asked for', {
  retry_policy: 'as in the service config', script: 'how the server answers attempt 1, 2, …; the last repeats; pushback=N is grpc-retry-pushback-ms',
  waits_ms: 'the argument of setTimeout, unrounded', uniforms: 'what Math.random() gave', result: 'status of the call' }), backoffs);

const throttles = [];
script = () => 0.5;
async function trace(name, maxTokens, tokenRatio, calls, retryPolicy = policy(5, '0.01s', '0.01s', 1)) {
  const server = await serve();
  const client = connect(server.port, { retryPolicy }, { maxTokens, tokenRatio });
  const steps = [];
  for (const answers of calls) {
    server.answer(answers);
    const result = await call(client);
    steps.push({ answers: [...server.seen], attempts_made: server.seen.length, waits: waits.length, result });
  }
  throttles.push({ name, max_tokens: maxTokens, token_ratio: tokenRatio, max_attempts: retryPolicy.maxAttempts, retryable: retryPolicy.retryableStatusCodes, steps });
  client.close();
  server.stop();
}
const times = (n, x) => Array.from({ length: n }, () => x);
const down = ['UNAVAILABLE'];
const up = ['OK'];
await trace('all_fail_10', 10, 0.1, times(6, down));
await trace('all_fail_100', 100, 0.1, times(20, down));
await trace('half_a_token_back', 10, 0.5, [...times(3, down), ...times(12, up), ...times(3, down)]);
await trace('odd_maximum', 3, 1, [...times(3, down), ...times(2, up), ...times(2, down), ...times(5, up), ...times(2, down)]);
await trace('half_attempts', 10, 0.1, times(10, down), policy(2, '0.01s', '0.01s', 1));
await trace('not_listed_costs_nothing', 4, 0.1, [...times(10, ['INTERNAL']), ...times(3, down)]);
await trace('pushback_minus_one_costs', 10, 0.1, [...times(4, ['UNAVAILABLE pushback=-1']), ...times(2, down)]);
await trace('pushback_minus_one_on_a_code_not_listed', 10, 0.1, [...times(8, ['INTERNAL pushback=-1']), ...times(2, down)]);
await trace('retry_then_success', 10, 0.5, [...times(20, ['UNAVAILABLE', 'OK']), ...times(2, down)]);
{
  const u = uniforms(3);
  const calls = Array.from({ length: 150 }, (_, i) => {
    const answers = [];
    while (answers.length < 4 && u() < (Math.floor(i / 30) % 2 === 0 ? 0.8 : 0.1)) answers.push('UNAVAILABLE');
    return [...answers, 'OK'];
  });
  await trace('random', 10, 0.3, calls);
}
write('throttle.json', head('calls one after another on one channel with retryThrottling', {
  steps: 'one call each', answers: 'how the attempts made were answered',
  waits: 'backoffs begun: one more than the retries where the throttle refused, since it is asked only when the wait is over', result: 'status of the call' }), throttles);

// Hedging runs on real time; only numbers of attempts are recorded, and none is near an edge.
realTime = true;
const hedges = [];
for (const [name, hedgingPolicy, answers, throttle] of [
  ['a_failure_sends_the_next_at_once', { maxAttempts: 3, hedgingDelay: '5s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['UNAVAILABLE']],
  ['a_fatal_code_ends_the_call', { maxAttempts: 3, hedgingDelay: '0.3s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['INTERNAL']],
  ['slow_server', { maxAttempts: 3, hedgingDelay: '0.3s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['OK after=450']],
  ['very_slow_server', { maxAttempts: 3, hedgingDelay: '0.1s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['OK after=1000']],
  ['fast_server', { maxAttempts: 3, hedgingDelay: '0.5s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['OK']],
  ['delay_0', { maxAttempts: 4, hedgingDelay: '0s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['OK after=500']],
  ['delay_unset', { maxAttempts: 4, nonFatalStatusCodes: ['UNAVAILABLE'] }, ['OK after=500']],
  ['limit_8_is_5', { maxAttempts: 8, hedgingDelay: '0.02s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['OK after=1000']],
  ['pushback_minus_one_sends_no_more', { maxAttempts: 3, hedgingDelay: '5s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['UNAVAILABLE pushback=-1']],
  ['throttled', { maxAttempts: 5, hedgingDelay: '5s', nonFatalStatusCodes: ['UNAVAILABLE'] }, ['UNAVAILABLE'], { maxTokens: 4, tokenRatio: 0.1 }],
]) {
  const server = await serve();
  const client = connect(server.port, { hedgingPolicy }, throttle);
  server.answer(answers);
  const result = await call(client);
  hedges.push({ name, hedging_policy: hedgingPolicy, throttle, script: answers, attempts_made: server.seen.length, result });
  client.close();
  server.stop();
}
write('hedging.json', head('attempts of one hedged call, in real time', { script: 'how the server answers attempt 1, 2, …; the last repeats; after=N waits N ms first',
  throttle: 'retryThrottling, if any' }), hedges);
process.exit(0);
