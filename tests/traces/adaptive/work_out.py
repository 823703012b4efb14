"""Adaptive concurrency limits worked out from their published formulas.

Not a recording: no Java was run, and no Envoy. Written from the sources named in SOURCES and from
nothing of this repository, with the operations in the order in which those sources have them, so
that floating-point numbers are the same to the last bit.

    python3 work_out.py        # writes the JSON files beside itself; the same bytes every time
"""

import json
import math
from pathlib import Path

SOURCES = (
    "Netflix/concurrency-limits: AIMDLimit, VegasLimit, GradientLimit, Gradient2Limit, WindowedLimit, "
    "ExpAvgMeasurement, ImmutableAverageSampleWindow, Log10RootIntFunction, SquareRootFunction; "
    "envoyproxy/envoy: adaptive_concurrency/controller/gradient_controller.cc"
)
FIELDS = {
    "settings": "as the library names them, in snake case",
    "start_draw": "the uniform that the first probe is drawn with",
    "steps": "a sample each: round trip in ns, in flight, dropped (0 or 1), the uniform that a probe "
    "is drawn with if this sample is one, and the limit afterwards",
}


class Numbers:
    """Whole numbers of a linear congruential generator (Knuth's MMIX constants), high bits only."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound


def log10_int(limit):
    """Log10RootIntFunction: never below 1 up to 999, the logarithm cut to a whole number above."""
    digits = len(str(limit)) - 1
    return max(1, digits) if limit < 1000 else digits


def square_root(limit):
    """SquareRootFunction.create(4)."""
    return max(4, math.isqrt(limit))


class Aimd:
    def __init__(self, initial_limit=20, min_limit=20, max_limit=200, backoff_ratio=0.9, timeout_ns=5 * 10**9):
        self.limit = initial_limit
        self.min, self.max, self.ratio, self.timeout = min_limit, max_limit, backoff_ratio, timeout_ns

    def update(self, rtt, inflight, dropped, draw):
        current = self.limit
        if dropped or rtt > self.timeout:
            current = int(current * self.ratio)
        elif inflight * 2 >= current:
            current += 1
        self.limit = min(self.max, max(self.min, current))
        return self.limit


class Vegas:
    def __init__(self, start_draw, initial_limit=20, max_concurrency=1000, smoothing=1.0, probe_multiplier=30):
        self.estimate = float(initial_limit)
        self.max, self.smoothing, self.multiplier = max_concurrency, smoothing, probe_multiplier
        self.no_load, self.count, self.jitter = 0, 0, 0.5 + 0.5 * start_draw

    def update(self, rtt, inflight, dropped, draw):
        self.count += 1
        if self.jitter * self.multiplier * self.estimate <= self.count:
            self.jitter, self.count, self.no_load = 0.5 + 0.5 * draw, 0, rtt
            return int(self.estimate)
        if self.no_load == 0 or rtt < self.no_load:
            self.no_load = rtt
            return int(self.estimate)
        estimate = self.estimate
        queue = math.ceil(estimate * (1 - self.no_load / rtt))
        step = log10_int(int(estimate))
        if dropped:
            new = estimate - step
        elif inflight * 2 < estimate:
            return int(estimate)
        elif queue <= step:
            new = estimate + 6 * step
        elif queue < 3 * step:
            new = estimate + step
        elif queue > 6 * step:
            new = estimate - step
        else:
            return int(estimate)
        new = max(1, min(self.max, new))
        self.estimate = (1 - self.smoothing) * estimate + self.smoothing * new
        return int(self.estimate)


class Gradient:
    def __init__(self, start_draw, initial_limit=50, min_limit=1, max_concurrency=1000, smoothing=0.2,
                 rtt_tolerance=2.0, backoff_ratio=0.9, probe_interval=1000):
        self.estimate = float(initial_limit)
        self.min, self.max, self.smoothing = min_limit, max_concurrency, smoothing
        self.tolerance, self.ratio, self.interval = rtt_tolerance, backoff_ratio, probe_interval
        self.no_load, self.countdown = None, self.next_probe(start_draw)

    def next_probe(self, draw):
        return self.interval + int(draw * self.interval)

    def update(self, rtt, inflight, dropped, draw):
        queue = float(square_root(int(self.estimate)))
        due = self.countdown <= 0
        self.countdown -= 1
        if due:
            self.countdown = self.next_probe(draw)
            self.estimate, self.no_load = max(self.min, queue), None
            return int(self.estimate)
        self.no_load = rtt if self.no_load is None else min(self.no_load, rtt)
        gradient = max(0.5, min(1.0, self.tolerance * self.no_load / rtt))
        if dropped:
            new = self.estimate * self.ratio
        elif inflight < self.estimate / 2:
            return int(self.estimate)
        else:
            new = self.estimate * gradient + queue
        if new < self.estimate:
            new = max(self.min, self.estimate * (1 - self.smoothing) + self.smoothing * new)
        self.estimate = max(queue, min(self.max, new))
        return int(self.estimate)


class Gradient2:
    WARM_UP = 10

    def __init__(self, initial_limit=20, min_limit=20, max_concurrency=200, smoothing=0.2, rtt_tolerance=1.5,
                 queue_size=4, long_window=600):
        self.estimate = float(initial_limit)
        self.min, self.max, self.smoothing = min_limit, max_concurrency, smoothing
        self.tolerance, self.queue, self.window = rtt_tolerance, queue_size, long_window
        self.value, self.sum, self.count = 0.0, 0.0, 0

    def update(self, rtt, inflight, dropped, draw):
        if self.count < self.WARM_UP:
            self.count += 1
            self.sum += rtt
            self.value = self.sum / self.count
        else:
            factor = 2.0 / (self.window + 1)
            self.value = self.value * (1 - factor) + rtt * factor
        short, long = float(rtt), self.value
        if long / short > 2:
            self.value *= 0.95
        if inflight < self.estimate / 2:
            return int(self.estimate)
        gradient = max(0.5, min(1.0, self.tolerance * long / short))
        new = self.estimate * gradient + self.queue
        new = self.estimate * (1 - self.smoothing) + new * self.smoothing
        self.estimate = max(self.min, min(self.max, new))
        return int(self.estimate)


class Window:
    """WindowedLimit over AverageSampleWindow; what it hands on, or None."""

    def __init__(self, min_window_ns=10**9, max_window_ns=10**9, window_size=10, min_rtt_ns=100_000):
        self.least, self.most, self.size, self.threshold = min_window_ns, max_window_ns, window_size, min_rtt_ns
        self.next_update = 0
        self.clear()

    def clear(self):
        self.shortest, self.total, self.inflight, self.count, self.dropped = None, 0, 0, 0, False

    def sample(self, end, rtt, inflight, dropped):
        if rtt < self.threshold:
            return None
        self.inflight = max(self.inflight, inflight)
        if dropped:
            self.dropped = True
        else:
            self.shortest = rtt if self.shortest is None else min(self.shortest, rtt)
            self.total += rtt
            self.count += 1
        if end <= self.next_update or self.shortest is None or self.count <= self.size:
            return None
        whole = [self.total // self.count, self.inflight, int(self.dropped)]
        self.next_update = end + min(max(self.shortest * 2, self.least), self.most)
        self.clear()
        return whole


class Envoy:
    """GradientController between two percentiles: a minRTT that was measured, and windows."""

    def __init__(self, min_concurrency=3, max_concurrency_limit=1000, min_rtt_buffer=0.25):
        self.min, self.max, self.buffer = min_concurrency, max_concurrency_limit, min_rtt_buffer
        self.limit, self.deferred, self.min_rtt, self.at_min = min_concurrency, min_concurrency, None, 0

    def measured(self, rtt_us):
        self.min_rtt, self.limit, self.at_min = rtt_us, self.deferred, 0
        return self.limit

    def measure(self):
        self.deferred, self.limit, self.min_rtt = self.limit, self.min, None

    def window(self, rtt_us):
        buffered = self.min_rtt + self.min_rtt * self.buffer
        gradient = max(0.5, min(2.0, buffered / rtt_us))
        limit = self.limit * gradient
        new = max(self.min, min(self.max, int(limit + math.sqrt(limit))))
        self.at_min = self.at_min + 1 if self.limit == self.min and new == self.min else 0
        self.limit = new
        if self.at_min >= 5:
            self.measure()
        return self.limit


def phases(numbers, count, base_us):
    """Round trips of a server that is calm, then overloaded, then calm on a slower level."""
    for at in range(count):
        part = at * 6 // count
        worst = (1, 2, 9, 3, 1, 2)[part]
        rtt = base_us * (2 if part >= 4 else 1) + numbers.below(base_us * worst)
        dropped = part == 2 and numbers.below(8) == 0
        yield rtt * 1000, dropped


def samples(name, make, settings, count, seed, base_us=10_000, draws=False):
    numbers = Numbers(seed)
    start_draw = numbers.below(64) / 64
    limit = make(start_draw, **settings) if draws else make(**settings)
    now = int(limit.estimate if hasattr(limit, "estimate") else limit.limit)
    steps = []
    for rtt, dropped in phases(numbers, count, base_us):
        # Between a quarter of the limit and a little more than all of it.
        inflight = max(1, now * (16 + numbers.below(52)) // 64)
        draw = numbers.below(64) / 64
        now = limit.update(rtt, inflight, dropped, draw)
        steps.append([rtt, inflight, int(dropped), draw, now])
    return {"name": name, "settings": settings, "start_draw": start_draw, "steps": steps}


def windows():
    cases = []
    for name, settings, seed in (
        ("default", {}, 31),
        ("short", {"min_window_ns": 20_000_000, "max_window_ns": 50_000_000, "window_size": 3}, 32),
    ):
        numbers, window, now, steps = Numbers(seed), Window(**settings), 0, []
        for rtt, dropped in phases(numbers, 300, 8_000):
            now += numbers.below(30_000) * 1000
            rtt = 99_999 if numbers.below(16) == 0 else rtt
            inflight = 1 + numbers.below(40)
            steps.append([now, rtt, inflight, int(dropped), window.sample(now, rtt, inflight, dropped)])
        cases.append({"name": name, "settings": settings, "steps": steps})
    return cases


def envoy():
    cases = []
    for name, settings, seed in (
        ("default", {}, 41),
        ("narrow", {"min_concurrency": 5, "max_concurrency_limit": 60, "min_rtt_buffer": 0.5}, 42),
    ):
        numbers, gradient, steps = Numbers(seed), Envoy(**settings), []
        for at in range(240):
            if gradient.min_rtt is None:
                rtt = 4_000 + numbers.below(2_000)
                steps.append(["measured", rtt, gradient.measured(rtt)])
            # Calm, then so slow that it is pinned to the least limit and measures again.
            worst = (2_000, 8_000, 90_000, 4_000)[at * 4 // 240]
            rtt = 4_000 + numbers.below(worst) + (60_000 if worst == 90_000 else 0)
            steps.append(["window", rtt, gradient.window(rtt)])
        cases.append({"name": name, "settings": settings, "steps": steps})
    return cases


def write(name, records, cases, fields):
    for case in cases:
        assert len(case["steps"]) > 100, case["name"]
    head = {"library": "none: a formula", "version": "of the sources", "records": records, "sources": SOURCES, "fields": fields}
    lines = [json.dumps(head)[:-1] + ', "cases": [']
    for case in cases:
        steps = case.pop("steps")
        lines.append(json.dumps(case)[:-1] + ', "steps": [')
        lines += [json.dumps(step) + "," for step in steps[:-1]] + [json.dumps(steps[-1]) + "]},"]
    lines[-1] = lines[-1][:-1] + "]}"
    (Path(__file__).parent / name).write_text("\n".join(lines) + "\n")


write("aimd.json", "AIMDLimit", [
    samples("default", Aimd, {}, 300, 1),
    samples("low", Aimd, {"initial_limit": 10, "min_limit": 2, "max_limit": 30, "backoff_ratio": 0.5, "timeout_ns": 60_000_000}, 300, 2),
], FIELDS)
write("vegas.json", "VegasLimit", [
    samples("default", Vegas, {}, 400, 3, draws=True),
    samples("probes", Vegas, {"initial_limit": 100, "probe_multiplier": 1}, 400, 4, draws=True),
    samples("smoothed", Vegas, {"initial_limit": 40, "max_concurrency": 64, "smoothing": 0.5, "probe_multiplier": 2}, 400, 5, draws=True),
], FIELDS)
write("gradient.json", "GradientLimit", [
    samples("default", Gradient, {}, 300, 6, draws=True),
    samples("probes", Gradient, {"initial_limit": 30, "min_limit": 8, "max_concurrency": 90, "probe_interval": 40, "rtt_tolerance": 1.25, "smoothing": 0.5, "backoff_ratio": 0.8}, 400, 7, draws=True),
], FIELDS)
write("gradient2.json", "Gradient2Limit", [
    samples("default", Gradient2, {}, 300, 8),
    samples("quick", Gradient2, {"initial_limit": 50, "min_limit": 5, "max_concurrency": 120, "long_window": 20, "rtt_tolerance": 1.0, "queue_size": 2, "smoothing": 0.5}, 400, 9),
], FIELDS)
write("window.json", "WindowedLimit", windows(), {
    "settings": FIELDS["settings"],
    "steps": "a sample each: when it ended, round trip (both in ns), in flight, dropped (0 or 1), and what the window "
    "hands on: null, or [mean round trip in ns, most in flight, dropped]",
})
write("envoy.json", "GradientController", envoy(), {
    "settings": FIELDS["settings"],
    "steps": "`measured`: minRTT is known, in µs; `window`: a window ended with that percentile, in µs; then the limit. "
    "`measured` follows where five windows in a row began and ended at the least limit",
})
