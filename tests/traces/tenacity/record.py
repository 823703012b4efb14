"""Records tenacity: what each wait strategy says for retry 1, 2, …, with scripted random numbers."""

import importlib.metadata
import random
import warnings

from tracing import ALMOST_ONE, Script, mulberry32, write

SCRIPT = Script()
random.random = SCRIPT
# random.uniform is a method of a hidden generator: the same sum over the scripted random().
random.uniform = lambda a, b: a + (b - a) * random.random()
warnings.simplefilter('ignore')

import tenacity as t  # noqa: E402

HEAD = {'library': 'tenacity', 'version': importlib.metadata.version('tenacity')}


class State:
    """What a strategy reads of the state of a retry."""

    def __init__(self, attempt):
        self.attempt_number = attempt


STRATEGIES = {
    'wait_none()': lambda: t.wait_none(),
    'wait_fixed(3)': lambda: t.wait_fixed(3),
    'wait_random(1, 4)': lambda: t.wait_random(1, 4),
    'wait_incrementing(start=1, increment=2, max=20)': lambda: t.wait_incrementing(start=1, increment=2, max=20),
    'wait_incrementing()': lambda: t.wait_incrementing(),
    'wait_incrementing(start=10, increment=-3)': lambda: t.wait_incrementing(start=10, increment=-3),
    'wait_exponential()': lambda: t.wait_exponential(),
    'wait_exponential(multiplier=1, min=4, max=10)': lambda: t.wait_exponential(multiplier=1, min=4, max=10),
    'wait_exponential(multiplier=0.1, exp_base=3, max=60)': lambda: t.wait_exponential(multiplier=0.1, exp_base=3, max=60),
    'wait_exponential(multiplier=0, max=60)': lambda: t.wait_exponential(multiplier=0, max=60),
    'wait_exponential(multiplier=1, max=64)': lambda: t.wait_exponential(multiplier=1, max=64),
    'wait_exponential(multiplier=1, min=5, max=3)': lambda: t.wait_exponential(multiplier=1, min=5, max=3),
    'wait_random_exponential()': lambda: t.wait_random_exponential(),
    'wait_random_exponential(multiplier=0.5, max=60)': lambda: t.wait_random_exponential(multiplier=0.5, max=60),
    'wait_random_exponential(multiplier=1, min=2, max=30)': lambda: t.wait_random_exponential(multiplier=1, min=2, max=30),
    'wait_exponential_jitter()': lambda: t.wait_exponential_jitter(),
    'wait_exponential_jitter(initial=1, max=10, jitter=5)': lambda: t.wait_exponential_jitter(initial=1, max=10, jitter=5),
    'wait_exponential_jitter(initial=0.5, max=30, exp_base=1.5, jitter=0)': lambda: t.wait_exponential_jitter(initial=0.5, max=30, exp_base=1.5, jitter=0),
    'wait_fixed(3) + wait_random(0, 2)': lambda: t.wait_fixed(3) + t.wait_random(0, 2),
    'wait_chain(fixed 1 ×3, fixed 2 ×5, fixed 5)': lambda: t.wait_chain(*[t.wait_fixed(1)] * 3, *[t.wait_fixed(2)] * 5, t.wait_fixed(5)),
}
JITTERED = ('random', 'jitter')
DRAWS = {'half': lambda: (lambda: 0.5), 'zero': lambda: (lambda: 0.0), 'almost_one': lambda: (lambda: ALMOST_ONE), 'seed_1': lambda: mulberry32(1)}


def value(strategy, attempt):
    try:
        wait = strategy(State(attempt))
        try:
            return float(wait)
        except OverflowError:  # Integers have no end in Python, but no one can sleep that long.
            return f'an integer of {len(str(wait))} digits'
    except Exception as error:  # noqa: BLE001
        return f'{type(error).__name__}: {error}'


cases = []
for name, make in STRATEGIES.items():
    for script, draw in DRAWS.items():
        if not any(j in name for j in JITTERED) and script != 'half':
            continue
        SCRIPT.draw = draw()
        SCRIPT.take()
        strategy = make()
        cases.append({'strategy': name, 'script': script, 'waits_s': [value(strategy, n) for n in range(1, 31)], 'uniforms': SCRIPT.take()})
write('waits.json', {**HEAD, 'records': 'the wait before retry 1 … 30',
                     'fields': {'strategy': 'as written in Python', 'waits_s': 'in s; entry r−1 is before retry r', 'uniforms': 'random numbers used, in order; random.uniform(a, b) is a + (b − a)·u'}}, cases)

AT = [1, 2, 31, 32, 62, 63, 64, 65, 100, 500, 1000, 1023, 1024, 1025, 1026, 1500, 2000, 10_000]
SCRIPT.draw = lambda: 0.5
far = [{'strategy': name, 'retries': AT, 'waits_s': [value(make(), n) for n in AT]} for name, make in STRATEGIES.items()]
for name, make in {
    'wait_exponential(max=inf)': lambda: t.wait_exponential(max=float('inf')),
    'wait_exponential(multiplier=0.001, exp_base=1.5)': lambda: t.wait_exponential(multiplier=0.001, exp_base=1.5),
    'wait_exponential(multiplier=-1)': lambda: t.wait_exponential(multiplier=-1),
    'wait_exponential_jitter(max=inf)': lambda: t.wait_exponential_jitter(max=float('inf')),
}.items():
    far.append({'strategy': name, 'retries': AT, 'waits_s': [value(make(), n) for n in AT]})
write('waits-far.json', {**HEAD, 'records': 'the waits before very late retries, every uniform 0.5',
                         'fields': {'retries': 'retry numbers', 'waits_s': 'in s, or the error raised'}}, far)

calls = []
for name, options in {
    'defaults, success on the 6th': {}, 'stop_after_attempt(4)': {'stop': t.stop_after_attempt(4)},
    'stop_after_attempt(4), wait_exponential(multiplier=1, max=10)': {'stop': t.stop_after_attempt(4), 'wait': t.wait_exponential(multiplier=1, max=10)},
    'stop_after_delay(10), wait_fixed(3)': {'stop': t.stop_after_delay(10), 'wait': t.wait_fixed(3)},
    'stop_before_delay(10), wait_fixed(3)': {'stop': t.stop_before_delay(10), 'wait': t.wait_fixed(3)},
    'stop_after_attempt(2) | stop_after_delay(1), wait_fixed(3)': {'stop': t.stop_after_attempt(2) | t.stop_after_delay(1), 'wait': t.wait_fixed(3)},
}.items():
    clock = [0.0]
    slept = []

    def sleep(seconds, clock=clock, slept=slept):
        slept.append(seconds)
        clock[0] += seconds

    class FakeTime:
        monotonic = staticmethod(lambda clock=clock: clock[0])

    t.time = FakeTime
    times = []

    def work(clock=clock, times=times):
        times.append(clock[0])
        if len(times) == 6 and name.startswith('defaults'):
            return
        raise OSError

    try:
        t.Retrying(sleep=sleep, **options)(work)
        result = 'success'
    except Exception as error:  # noqa: BLE001
        result = type(error).__name__
    calls.append({'retry': name, 'attempts_s': times, 'waits_s': slept, 'result': result})
write('calls.json', {**HEAD, 'records': 'one call that fails at once whenever it is made, under a virtual clock',
                     'fields': {'retry': 'stop and wait', 'attempts_s': 'virtual time of each attempt', 'waits_s': 'what was slept'}}, calls)
