"""Records smaller Python libraries: Celery's retry interval, google-api-core, backoff, pybreaker."""

import datetime
import importlib.metadata
import random
import time

from tracing import ALMOST_ONE, Script, mulberry32, write

SCRIPT = Script()
random.random = SCRIPT
# The hidden generator behind these is replaced by the same sums over the scripted random().
random.uniform = lambda a, b: a + (b - a) * random.random()
random.randrange = lambda stop: int(random.random() * stop)
NOW = [0.0]
SLEPT = []


def sleep(seconds):
    SLEPT.append(seconds)
    NOW[0] += seconds


time.sleep = sleep
time.monotonic = lambda: NOW[0]

import backoff  # noqa: E402
import pybreaker  # noqa: E402
from celery.utils.time import get_exponential_backoff_interval  # noqa: E402
from google.api_core import exceptions as google_exceptions  # noqa: E402
from google.api_core import retry as google_retry  # noqa: E402

DRAWS = {'zero': lambda: (lambda: 0.0), 'half': lambda: (lambda: 0.5), 'almost_one': lambda: (lambda: ALMOST_ONE), 'seed_1': lambda: mulberry32(1)}


def head(library, records, fields):
    return {'library': library, 'version': importlib.metadata.version(library), 'records': records, 'fields': fields}


# Celery
cases = []
for factor, maximum in ((1, 600), (3, 600), (1, 10), (0, 600), (2, 10**9)):
    retries = list(range(20)) + [31, 63, 64, 100, 1000, 1024, 2000]
    cases.append({'factor': factor, 'maximum': maximum, 'full_jitter': False, 'retries': retries,
                  'countdowns_s': [get_exponential_backoff_interval(factor, r, maximum) for r in retries]})
    for name, draw in DRAWS.items():
        SCRIPT.draw = draw()
        SCRIPT.take()
        values = [get_exponential_backoff_interval(factor, r, maximum, full_jitter=True) for r in range(20)]
        cases.append({'factor': factor, 'maximum': maximum, 'full_jitter': True, 'script': name, 'retries': list(range(20)), 'countdowns_s': values, 'uniforms': SCRIPT.take()})
write('celery.json', head('celery', 'get_exponential_backoff_interval', {'retries': 'retries done so far: 0 before the first', 'countdowns_s': 'whole seconds',
      'uniforms': 'random.randrange(n) is ⌊u·n⌋ here'}), cases)

# google-api-core
cases = []
for settings in ({}, {'initial': 0.1, 'maximum': 5, 'multiplier': 1.3}, {'initial': 10, 'maximum': 5, 'multiplier': 2}, {'timeout': 10}, {'timeout': None, 'maximum': 3}):
    for name, draw in DRAWS.items():
        SCRIPT.draw = draw()
        SCRIPT.take()
        SLEPT.clear()
        NOW[0] = 0.0
        made = []

        def target(made=made):
            made.append(NOW[0])
            if len(made) < 25:
                raise google_exceptions.ServiceUnavailable('')
            return 'done'

        try:
            result = google_retry.Retry(**settings)(target)()
        except Exception as error:  # noqa: BLE001
            result = type(error).__name__
        cases.append({'settings': settings, 'script': name, 'attempts_s': made, 'waits_s': list(SLEPT), 'uniforms': SCRIPT.take(), 'result': result})
retried = {}
for name in ('TooManyRequests', 'InternalServerError', 'ServiceUnavailable', 'BadGateway', 'GatewayTimeout', 'DeadlineExceeded', 'Aborted', 'ResourceExhausted', 'NotFound', 'Unknown'):
    retried[name] = google_retry.if_transient_error(getattr(google_exceptions, name)(''))
for error in (ConnectionError(), TimeoutError(), ValueError()):
    retried[type(error).__name__] = google_retry.if_transient_error(error)
cases.append({'if_transient_error': retried})
write('google-api-core.json', head('google-api-core', 'Retry over a function that fails 24 times at once, virtual clock', {'settings': 'arguments of Retry', 'attempts_s': 'virtual time of each attempt',
      'waits_s': 'what was slept', 'uniforms': 'one a wait; random.uniform(0, d) is u·d', 'if_transient_error': 'the default predicate on each error; those of Python come last'}), cases)

# backoff
cases = []
for name, make in {'expo()': lambda: backoff.expo(), 'expo(max_value=60)': lambda: backoff.expo(max_value=60), 'expo(base=3, factor=0.5, max_value=100)': lambda: backoff.expo(base=3, factor=0.5, max_value=100),
                   'fibo()': lambda: backoff.fibo(), 'fibo(max_value=50)': lambda: backoff.fibo(max_value=50), 'constant(2)': lambda: backoff.constant(2)}.items():
    generator = make()
    next(generator)
    values = [next(generator) for _ in range(30)]
    row = {'wait': name, 'values_s': values}
    for jitter in (backoff.full_jitter, backoff.random_jitter):
        SCRIPT.draw = mulberry32(1)
        SCRIPT.take()
        row[jitter.__name__ + '_s'] = [jitter(v) for v in values]
        row['uniforms'] = SCRIPT.take()
    cases.append(row)
write('backoff.json', head('backoff', 'wait generators, and the jitters over them', {'values_s': 'before retry 1, 2, …', 'full_jitter_s': 'random.uniform(0, value), u·value here', 'random_jitter_s': 'value + u',
      'uniforms': 'for either jitter'}), cases)

# pybreaker reads datetime.now(UTC): a class of our own stands in.
BASE = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class FakeDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return BASE + datetime.timedelta(milliseconds=NOW[0])


pybreaker.datetime = FakeDatetime


class Failure(Exception):
    pass


def trace(name, options, calls):
    NOW[0] = 0.0
    breaker = pybreaker.CircuitBreaker(**options)
    steps = []
    for at, outcome in calls:
        NOW[0] = at
        before = breaker.current_state
        ran = []

        def work(outcome=outcome, ran=ran):
            ran.append(True)
            if outcome == 'failure':
                raise Failure

        try:
            breaker.call(work)
            result = 'success'
        except Failure:
            result = 'failure'
        except pybreaker.CircuitBreakerError:
            result = 'failure, opened' if ran else 'refused'
        steps.append({'at_ms': at, 'outcome': outcome, 'before': before, 'ran': bool(ran), 'result': result, 'after': breaker.current_state, 'failures': breaker.fail_counter})
    return {'name': name, 'options': options, 'steps': steps}


F, S = 'failure', 'success'
cases = [
    trace('defaults', {}, [(i, F) for i in range(4)] + [(4, S)] + [(5 + i, F) for i in range(6)] + [(60_008, S), (60_009, S), (60_010, S)]),
    trace('failed_probe', {'fail_max': 2, 'reset_timeout': 1}, [(0, F), (1, F), (2, S), (1_000, S), (1_001, F), (1_002, S), (2_000, S), (2_001, S), (2_002, F), (2_003, F)]),
    trace('three_successes_to_close', {'fail_max': 2, 'reset_timeout': 1, 'success_threshold': 3}, [(0, F), (1, F), (1_001, S), (1_002, S), (1_003, F), (2_003, S), (2_004, S), (2_005, S), (2_006, F)]),
]
u = mulberry32(61)
at, calls = 0, []
for i in range(120):
    at += int(u() * 120) if u() < 0.8 else (999, 1000, 1001)[int(u() * 3)]
    calls.append((at, F if u() < (0.75 if (i // 30) % 2 == 0 else 0.2) else S))
cases.append(trace('random', {'fail_max': 3, 'reset_timeout': 1}, calls))
write('pybreaker.json', head('pybreaker', 'calls one after another through a CircuitBreaker under a virtual clock', {'options': 'reset_timeout in s', 'ran': 'the function was called',
      'result': 'what the caller saw; "failure, opened" is a CircuitBreakerError after the function ran: the failure that opens', 'failures': 'fail_counter after the call'}), cases)
