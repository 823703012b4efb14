"""Records gRPC core through grpcio, against a server in the same process on the loopback.

Time and chance are real here: what is recorded of the backoff are bands over many calls. Which
attempts are made, and what the throttle lets through, does not depend on chance.
"""

import json
import os
import threading
import time
from concurrent import futures

import grpc

from tracing import write

VERSION = grpc.__version__
HEAD = {'library': 'grpcio', 'version': VERSION}
CODES = {c.name: c for c in grpc.StatusCode}
METHOD = '/traces.Traces/Call'


class Server:
    """Answers attempt after attempt from the script that the call carries in its metadata."""

    def __init__(self):
        self.seen = {}
        self.lock = threading.Lock()
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
        self.server.add_generic_rpc_handlers((self,))
        self.port = self.server.add_insecure_port('127.0.0.1:0')
        self.server.start()

    def service(self, _details):
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, _request, context):
        now = time.monotonic()
        metadata = dict(context.invocation_metadata())
        script = metadata['script'].split(',')
        with self.lock:
            attempts = self.seen.setdefault(metadata['call'], [])
            attempts.append((now, metadata.get('grpc-previous-rpc-attempts')))
            outcome = script[min(len(attempts), len(script)) - 1]
        code, _, pushback = outcome.partition(' pushback=')
        if pushback:
            context.set_trailing_metadata((('grpc-retry-pushback-ms', pushback),))
        if code != 'OK':
            context.abort(CODES[code], '')
        return b''


def channel(server, policy, throttle=None, kind='retryPolicy', options=()):
    config = {'methodConfig': [{'name': [{}], kind: policy}]}
    if throttle:
        config['retryThrottling'] = throttle
    return grpc.insecure_channel(f'127.0.0.1:{server.port}', options=[
        ('grpc.service_config', json.dumps(config)), ('grpc.enable_retries', 1), *options])


COUNT = iter(range(10**9))


def start(chan, script, timeout=20):
    number = str(next(COUNT))
    call = chan.unary_unary(METHOD).future(b'', timeout=timeout, metadata=(('call', number), ('script', ','.join(script))))
    return number, call


def finish(server, number, call):
    try:
        call.result()
        result = 'OK'
    except grpc.RpcError as error:
        result = error.code().name
    return result, server.seen.get(number, [])


# Not shorter: with waits of 1 ms or less (also a pushback of 0) this version at times never sends
# the next attempt, and the call ends at its deadline.
def policy(attempts=5, initial='0.01s', longest='0.01s', multiplier=1, codes=('UNAVAILABLE',)):
    return {'maxAttempts': attempts, 'initialBackoff': initial, 'maxBackoff': longest,
            'backoffMultiplier': multiplier, 'retryableStatusCodes': list(codes)}


def bands():
    cases = []
    settings = [
        ('documented_example', policy(5, '0.1s', '0.3s', 2), ['UNAVAILABLE'], 120),
        ('cap_below_the_first', policy(4, '0.2s', '0.1s', 2), ['UNAVAILABLE'], 60),
        ('multiplier_below_one', policy(5, '0.2s', '1s', 0.5), ['UNAVAILABLE'], 60),
        ('pushback_50_ms', policy(5, '0.2s', '0.4s', 2), ['UNAVAILABLE pushback=50'], 60),
        ('pushback_then_the_sequence_restarts', policy(5, '0.1s', '1s', 3), ['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE pushback=20', 'UNAVAILABLE'], 60),
        ('pushback_10_ms', policy(5, '0.2s', '0.4s', 2), ['UNAVAILABLE pushback=10'], 60),
    ]
    for name, config, script, calls in settings:
        server = Server()
        chan = channel(server, config)
        grpc.channel_ready_future(chan).result()
        gaps = []
        for batch in range(0, calls, 10):
            running = [start(chan, script) for _ in range(10)]
            for number, call in running:
                result, seen = finish(server, number, call)
                times = [t for t, _ in seen]
                gaps.append([b - a for a, b in zip(times, times[1:])])
        columns = []
        for column in zip(*gaps):
            sorted_ms = sorted(1000 * g for g in column)
            pick = lambda q: round(sorted_ms[min(len(sorted_ms) - 1, int(q * len(sorted_ms)))], 1)
            columns.append({'least': pick(0), 'p05': pick(0.05), 'median': pick(0.5), 'p95': pick(0.95), 'most': pick(1)})
        cases.append({'name': name, 'retry_policy': config, 'script': script, 'calls': len(gaps),
                      'attempts_made': sorted({len(g) + 1 for g in gaps}), 'gaps_ms': columns})
        chan.close()
        server.server.stop(None)
    write('backoff-bands.json', {**HEAD, 'records': 'gaps between the attempts of one call, as the server sees them: order statistics over many calls, in real time',
          'fields': {'retry_policy': 'as in the service config', 'script': 'how the server answers attempt 1, 2, …; the last repeats; pushback=N is grpc-retry-pushback-ms',
                     'gaps_ms': 'one object for each retry, in ms, rounded to 0.1; transport and scheduling add up to some milliseconds, never subtract'}}, cases)


def attempts():
    cases = []
    scripts = [
        ('limit_2', policy(2), ['UNAVAILABLE']), ('limit_5', policy(5), ['UNAVAILABLE']), ('limit_8_is_5', policy(8), ['UNAVAILABLE']),
        ('success_on_the_third', policy(5), ['UNAVAILABLE', 'UNAVAILABLE', 'OK']),
        ('code_not_listed', policy(5), ['INTERNAL']), ('code_not_listed_second', policy(5), ['UNAVAILABLE', 'INTERNAL']),
        ('two_codes', policy(5, codes=('UNAVAILABLE', 'RESOURCE_EXHAUSTED')), ['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'OK']),
        ('pushback_minus_one', policy(5), ['UNAVAILABLE pushback=-1']),
        ('pushback_minus_one_second', policy(5), ['UNAVAILABLE', 'UNAVAILABLE pushback=-1']),
        ('pushback_not_a_number', policy(5), ['UNAVAILABLE pushback=abc']),
        ('pushback_empty_is_none', policy(5), ['UNAVAILABLE pushback=']),
        ('pushback_on_a_code_not_listed', policy(5), ['INTERNAL pushback=1']),
        ('pushback_fraction', policy(5), ['UNAVAILABLE pushback=1.5']),
    ]
    for name, config, script in scripts:
        server = Server()
        chan = channel(server, config)
        number, call = start(chan, script)
        result, seen = finish(server, number, call)
        cases.append({'name': name, 'retry_policy': config, 'script': script, 'attempts_made': len(seen),
                      'previous_attempts_header': [p for _, p in seen], 'result': result})
        chan.close()
        server.server.stop(None)
    # The deadline spans attempts and waits.
    for deadline in (0.15, 0.45, 1.05):
        server = Server()
        config = policy(5, '0.2s', '0.2s', 1)
        chan = channel(server, config)
        grpc.channel_ready_future(chan).result()
        number, call = start(chan, ['UNAVAILABLE'], timeout=deadline)
        began = time.monotonic()
        result, seen = finish(server, number, call)
        cases.append({'name': f'deadline_{int(deadline * 1000)}_ms', 'retry_policy': config, 'script': ['UNAVAILABLE'],
                      'deadline_ms': int(deadline * 1000), 'attempts_made': len(seen), 'result': result})
        chan.close()
        server.server.stop(None)
    # Hedging as core has it, if switched on.
    for delay in ('0s', '0.1s'):
        server = Server()
        config = {'maxAttempts': 3, 'hedgingDelay': delay, 'nonFatalStatusCodes': ['UNAVAILABLE']}
        chan = channel(server, config, kind='hedgingPolicy', options=[('grpc.experimental.enable_hedging', 1)])
        number, call = start(chan, ['UNAVAILABLE'])
        result, seen = finish(server, number, call)
        cases.append({'name': f'hedging_policy_{delay}', 'hedging_policy': config, 'script': ['UNAVAILABLE'],
                      'attempts_made': len(seen), 'result': result})
        chan.close()
        server.server.stop(None)
    write('attempts.json', {**HEAD, 'records': 'attempts made by one call',
          'fields': {'script': 'how the server answers attempt 1, 2, …; the last repeats', 'previous_attempts_header': 'grpc-previous-rpc-attempts of each attempt',
                     'result': 'status of the call'}}, cases)


def throttles():
    cases = []
    down, up = ['UNAVAILABLE'], ['OK']

    def trace(name, tokens, ratio, calls, config=None):
        config = config or policy(5)
        server = Server()
        chan = channel(server, config, {'maxTokens': tokens, 'tokenRatio': ratio})
        steps = []
        for script in calls:
            number, call = start(chan, script)
            result, seen = finish(server, number, call)
            answers = [script[min(i, len(script) - 1)] for i in range(len(seen))]
            steps.append({'answers': answers, 'attempts_made': len(seen), 'result': result})
        cases.append({'name': name, 'max_tokens': tokens, 'token_ratio': json.dumps(ratio), 'max_attempts': config['maxAttempts'],
                      'retryable': config['retryableStatusCodes'], 'steps': steps})
        chan.close()
        server.server.stop(None)

    trace('all_fail_10', 10, 0.1, [down] * 6)
    trace('all_fail_100', 100, 0.1, [down] * 20)
    trace('all_fail_1000', 1000, 0.1, [down] * 105)
    trace('half_a_token_back', 10, 0.5, [down] * 3 + [up] * 12 + [down] * 3)
    trace('a_tenth_back', 10, 0.1, [down] * 2 + [up] * 10 + [down] + [up] * 30 + [down] * 2 + [up] * 60 + [down] * 3)
    trace('odd_maximum', 3, 1.0, [down] * 3 + [up] * 2 + [down] * 2 + [up] * 5 + [down] * 2)
    trace('one_token', 1, 0.5, [down, up, up, down, up, up, up, down])
    trace('three_decimals_the_rest_is_cut', 3, 0.0199, [down] * 3 + [up] * 130 + [down])
    trace('three_decimals_the_rest_is_cut_2', 3, 0.0199, [down] * 3 + [up] * 135 + [down])
    trace('whole_number_without_a_point', 10, 1, [down] * 7 + [up] * 20 + [down] * 2)
    trace('whole_number_with_a_point', 10, 1.0, [down] * 7 + [up] * 20 + [down] * 2)
    trace('half_attempts', 10, 0.1, [down] * 10, policy(2))
    trace('not_listed_costs_nothing', 4, 0.1, [['INTERNAL']] * 10 + [down] * 3)
    trace('not_listed_gives_nothing_back', 4, 1.0, [down] * 2 + [['INTERNAL']] * 10 + [down])
    trace('pushback_minus_one_costs', 10, 0.1, [['UNAVAILABLE pushback=-1']] * 4 + [down] * 2)
    trace('pushback_minus_one_on_a_code_not_listed', 10, 0.1, [['INTERNAL pushback=-1']] * 8 + [down] * 2)
    trace('retry_then_success', 10, 0.5, [['UNAVAILABLE', 'OK']] * 20 + [down] * 2)
    script = []
    state = 12345
    for i in range(150):
        call = []
        while len(call) < 4:
            state = (1103515245 * state + 12345) % 2**31
            if state / 2**31 >= (0.8 if (i // 30) % 2 == 0 else 0.1):
                break
            call.append('UNAVAILABLE')
        script.append(call + ['OK'])
    trace('random', 10, 0.3, script)
    write('throttle.json', {**HEAD, 'records': 'calls one after another on one channel with retryThrottling, a server name of its own for each case',
          'fields': {'token_ratio': 'as it stands in the service config', 'steps': 'one call each', 'answers': 'how the attempts made were answered', 'result': 'status of the call'}}, cases)


attempts()
throttles()
bands()
os._exit(0)  # Servers leave threads behind.
