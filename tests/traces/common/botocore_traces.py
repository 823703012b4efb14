"""Records botocore through a real client whose answers are scripted before they are sent.

`random.random`, `time.sleep`, and the clock of the rate limiter are replaced before botocore is
loaded, since it keeps references to them.
"""

import json
import random
import threading
import time

from tracing import ALMOST_ONE, Script, mulberry32, write

SCRIPT = Script()
random.random = SCRIPT


class VirtualClock:
    now = 0.0
    slept = []

    def sleep(self, amount):
        self.slept.append(amount)
        self.now += amount

    def take(self):
        taken, self.slept = self.slept, []
        return taken


CLOCK = VirtualClock()
time.sleep = CLOCK.sleep

import botocore  # noqa: E402
import botocore.session  # noqa: E402
from botocore.awsrequest import AWSResponse  # noqa: E402
from botocore.config import Config  # noqa: E402
from botocore.exceptions import (  # noqa: E402
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from botocore.retries import bucket, quota  # noqa: E402

VERSION = botocore.__version__
HEAD = {'library': 'botocore', 'version': VERSION}
WAITED_FOR_TOKENS = []


class FakeCondition:
    """Waiting moves the virtual clock, by a nanosecond at least; nobody else is there to notify."""

    def __init__(self, lock):
        self.lock = lock

    def __enter__(self):
        return self.lock.__enter__()

    def __exit__(self, *rest):
        return self.lock.__exit__(*rest)

    def wait(self, amount):
        WAITED_FOR_TOKENS.append(amount)
        CLOCK.now += max(amount, 1e-9)

    def notify(self):
        pass


class FakeThreading:
    Lock = staticmethod(threading.Lock)
    Condition = FakeCondition


bucket.threading = FakeThreading
bucket.Clock.current_time = lambda self: CLOCK.now
bucket.Clock.sleep = lambda self, amount: CLOCK.sleep(amount)

CAPTURED = {}


def capture(cls, name):
    original = cls.__init__

    def wrapped(self, *args, **kwargs):
        original(self, *args, **kwargs)
        CAPTURED[name] = self

    cls.__init__ = wrapped


from botocore.retries import adaptive, throttling  # noqa: E402

capture(quota.RetryQuota, 'quota')
capture(bucket.TokenBucket, 'bucket')
capture(throttling.CubicCalculator, 'cubic')
capture(adaptive.RateClocker, 'clocker')
capture(adaptive.ClientRateLimiter, 'limiter')


class Raw:
    def __init__(self, body):
        self.body = body

    def stream(self, *_args, **_kwargs):
        yield self.body
        self.body = b''

    def read(self, *_args):
        body, self.body = self.body, b''
        return body


def answer(outcome, url):
    """An outcome as text: `200`, `503`, `429`, `throttled`, `connect_timeout`, `503 hint=2000`…"""
    word, *extras = outcome.split()
    if word == 'connect_timeout':
        raise ConnectTimeoutError(endpoint_url=url)
    if word == 'read_timeout':
        raise ReadTimeoutError(endpoint_url=url)
    if word == 'connection_error':
        raise EndpointConnectionError(endpoint_url=url)
    code = {'throttled': 'ThrottlingException', 'slow_down': 'SlowDown', 'invalid': 'ValidationException',
            'throughput_exceeded': 'ProvisionedThroughputExceededException',
            'request_timeout': 'RequestTimeout'}.get(word)
    status = 400 if code else int(word)
    body = b'{}'
    if status >= 300:
        body = json.dumps({'__type': code or '', 'message': ''}).encode() if code else b''
    headers = {'content-type': 'application/x-amz-json-1.0'}
    for extra in extras:
        key, value = extra.split('=')
        headers[{'hint': 'x-amz-retry-after', 'retry-after': 'retry-after'}[key]] = value
    return AWSResponse(url, status, headers, Raw(body))


class Client:
    OPERATIONS = {'sqs': ('list_queues', {}), 'dynamodb': ('list_tables', {}),
                  'receive': ('receive_message', {'QueueUrl': 'https://sqs.us-east-1.amazonaws.com/1/q'})}

    def __init__(self, mode, service='sqs', attempts=None, operation=None):
        retries = {'mode': mode} if mode else {}
        if attempts is not None:
            retries['total_max_attempts'] = attempts
        session = botocore.session.Session()
        session.set_credentials('key', 'secret')
        CAPTURED.clear()
        self.client = session.create_client(service, region_name='us-east-1', config=Config(retries=retries))
        self.name, self.kwargs = self.OPERATIONS[operation or service]
        self.script = iter(())
        self.sent = []
        self.client.meta.events.register_last('before-send', self.before_send)
        self.parts = dict(CAPTURED)

    def before_send(self, request, **_):
        outcome = next(self.script)
        self.sent.append((round(CLOCK.now, 9), outcome))
        return answer(outcome, request.url)

    def call(self, outcomes):
        """One call; the attempts are answered in turn, the last answer repeats."""
        def forever():
            yield from outcomes
            while True:
                yield outcomes[-1]
        self.script = forever()
        self.sent = []
        SCRIPT.take()
        CLOCK.take()
        WAITED_FOR_TOKENS.clear()
        try:
            getattr(self.client, self.name)(**self.kwargs)
            result = 'success'
        except ClientError as error:
            result = str(error.response['ResponseMetadata']['HTTPStatusCode'])
        except Exception as error:  # noqa: BLE001
            result = type(error).__name__
        record = {'outcomes': [o for _, o in self.sent], 'waits_s': CLOCK.take(),
                  'uniforms': SCRIPT.take(), 'result': result}
        if 'quota' in self.parts:
            record['quota'] = self.parts['quota'].available_capacity
        return record


DRAWS = {'zero': lambda: (lambda: 0.0), 'half': lambda: (lambda: 0.5),
         'almost_one': lambda: (lambda: ALMOST_ONE), 'seed_1': lambda: mulberry32(1)}
FIELDS = {
    'outcomes': 'how each attempt was answered: an HTTP status, an error code, or a transport error; '
                'throttled, slow_down, throughput_exceeded, request_timeout, invalid are error codes under status 400; '
                'hint=N is x-amz-retry-after in ms, retry-after=N the standard header in s',
    'waits_s': 'what was slept after each attempt, in seconds', 'uniforms': 'what random.random() gave, in order',
    'result': 'how the call ended', 'quota': 'tokens in the retry quota after the call (start 500)'}


def delays():
    cases = []
    for mode in ('legacy', 'standard'):
        for service in ('sqs', 'dynamodb'):
            for outcome in ('503', 'throttled', '429', 'connect_timeout', '500 hint=10', '500 hint=2000',
                            '500 hint=60000', 'throttled hint=3000', '503 retry-after=7', '503 hint=-1', '503 hint=x'):
                for name, draw in DRAWS.items():
                    if name in ('zero', 'almost_one') and outcome not in ('503', 'throttled'):
                        continue
                    SCRIPT.draw = draw()
                    client = Client(mode, service, attempts=16)
                    cases.append({'mode': mode, 'service': service, 'attempts': 16, 'script': name,
                                  **client.call([outcome])})
    for case in cases:
        case['answer'] = case['outcomes'][0]
        case['attempts_made'] = len(case.pop('outcomes'))
    write('delays.json', {**HEAD, 'records': 'one call whose every attempt is answered alike, 16 attempts allowed',
                          'fields': {**FIELDS, 'answer': FIELDS['outcomes']}}, cases)


def attempts():
    """What the defaults are, and which answers are retried."""
    cases = []
    SCRIPT.draw = lambda: 0.5
    for mode in (None, 'legacy', 'standard', 'adaptive'):
        for service in ('sqs', 'dynamodb'):
            for outcome in ('500', '501', '502', '503', '504', '509', '429', 'throttled', 'slow_down', 'throughput_exceeded',
                            'request_timeout', 'invalid', 'connect_timeout', 'read_timeout', 'connection_error'):
                CLOCK.now = 0.0
                client = Client(mode, service)
                call = client.call([outcome])
                cases.append({'mode': mode or 'default', 'service': service, 'answer': outcome,
                              'attempts_made': len(call['outcomes']), 'waits_s': call['waits_s'],
                              **({'quota': call['quota']} if 'quota' in call else {})})
    write('attempts.json', {**HEAD, 'records': 'attempts made by one call with the default number, every uniform 0.5',
                            'fields': {**FIELDS, 'answer': FIELDS['outcomes']}}, cases)


def quotas():
    cases = []

    def trace(name, calls, service='sqs', number=3, operation=None, seed=1):
        SCRIPT.draw = mulberry32(seed)
        client = Client('standard', service, attempts=number, operation=operation)
        cases.append({'name': name, 'service': service, 'attempts': number, 'steps': [client.call(c) for c in calls]})

    trace('drained_by_failures', [['503']] * 60)
    trace('drained_by_throttling', [['throttled']] * 55)
    trace('drained_by_timeouts', [['connect_timeout']] * 30)
    trace('drained_then_refilled', [['503']] * 40 + [['200']] * 40 + [['503']] * 3)
    trace('two_retries_and_success', [['503', '503', '200'], ['503', 'throttled', '200'], ['throttled', '503', '200'],
                                      ['read_timeout', '200'], ['200'], ['200'], ['invalid'], ['503', 'invalid']])
    trace('never_above_the_capacity', [['200']] * 3 + [['503', '200']] * 3 + [['200']] * 30)
    trace('not_retryable_costs_nothing', [['invalid']] * 101 + [['503', '200']])
    trace('long_poll_waits_when_drained', [['503']] * 40, operation='receive')
    u = mulberry32(99)
    pool = ['503', '500', 'throttled', 'connect_timeout', '429', 'invalid']
    mixed = []
    for i in range(160):
        bad = 0.9 if (i // 40) % 2 == 0 else 0.15
        call = []
        while len(call) < 4 and u() < bad:
            call.append(pool[int(u() * len(pool))])
        mixed.append(call + ['200'])
    trace('random', mixed, number=4)
    write('quota.json', {**HEAD, 'records': 'calls one after another on one client in standard mode',
                         'fields': {**FIELDS, 'attempts': 'attempts allowed, the first included', 'steps': 'one call each'}}, cases)


def rates():
    cases = []

    def trace(name, calls, number=1, seed=1):
        CLOCK.now = 100.0
        SCRIPT.draw = mulberry32(seed)
        client = Client('adaptive', 'sqs', attempts=number)
        steps = []
        for gap, outcomes in calls:
            CLOCK.now = round(CLOCK.now + gap, 9)  # So that 0.1 + 0.1 + … meets whole halves of a second.
            called_at = CLOCK.now
            call = client.call(outcomes)
            p = client.parts
            cubic = p['cubic'].get_params_snapshot()
            step = {'called_at_s': called_at, 'sent_at_s': [t for t, _ in client.sent], 'outcomes': call['outcomes'],
                          'token_waits_s': list(WAITED_FOR_TOKENS), 'backoff_waits_s': call['waits_s'],
                          'uniforms': call['uniforms'], 'result': call['result'], 'enabled': p['limiter']._enabled,
                          'measured_rate': p['clocker'].measured_rate, 'fill_rate': p['bucket'].max_rate,
                          'capacity': p['bucket'].max_capacity, 'tokens': p['bucket'].available_capacity,
                          'w_max': cubic.w_max, 'k': cubic.k, 'last_throttle_s': cubic.last_fail}
            steps.append({k: v for k, v in step.items() if v != []})
        cases.append({'name': name, 'attempts': number, 'steps': steps})

    trace('steady_10_per_s_then_one_throttle', [(0.1, ['200'])] * 60 + [(0.1, ['throttled'])] + [(0.1, ['200'])] * 90)
    trace('throttled_twice', [(0.1, ['200'])] * 40 + [(0.1, ['throttled'])] + [(0.1, ['200'])] * 20
          + [(0.1, ['throttled'])] * 2 + [(0.1, ['200'])] * 60)
    trace('throttled_first', [(0.0, ['throttled'])] * 3 + [(0.5, ['200'])] * 40)
    trace('floor_of_the_rate', [(0.05, ['200'])] * 20 + [(0.05, ['throttled'])] * 25 + [(0.05, ['200'])] * 30)
    trace('with_retries', [(0.1, ['200'])] * 20 + [(0.1, ['throttled', '503', '200']), (0.1, ['503']), (0.1, ['throttled'])]
          + [(0.1, ['200'])] * 20, number=3)
    u = mulberry32(7)
    trace('random', [(u() * 0.3, ['throttled'] if u() < 0.15 else ['503'] if u() < 0.1 else ['200']) for _ in range(130)])
    write('adaptive.json', {**HEAD, 'records': 'calls one after another on one client in adaptive mode, under a virtual clock',
                            'fields': {**FIELDS, 'called_at_s': 'virtual time of the call, from 100 s', 'sent_at_s': 'when each attempt left',
                                       'token_waits_s': 'waits for a token of the rate limiter', 'backoff_waits_s': 'waits before retries',
                                       'enabled': 'the limiter holds attempts back', 'measured_rate': 'attempts a second as the client sees them',
                                       'fill_rate': 'tokens a second (at least 0.5)', 'capacity': 'most tokens (at least 1)', 'tokens': 'tokens left',
                                       'w_max, k, last_throttle_s': 'state of the cubic curve', 'absent': 'an empty list'}}, cases)


def record():
    delays()
    attempts()
    quotas()
    if VERSION >= '1.44':  # The rate limiter has not changed since 1.40.
        rates()
