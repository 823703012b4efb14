"""W2 on SimPy, in its natural style: a process for each request and each attempt.

The definition of the work is at the head of src/lib.rs. Prints the line that comparisons read.
"""

import json
import random
import sys
import time

import simpy

WORKERS, MEAN_WORK, RATE, TIMEOUT = 8, 0.010, 720.0, 0.030
RETRIES, BASE, CAP, ROOM = 3, 0.020, 1.0, 16
PAUSE_FROM, PAUSE_UNTIL, HORIZON = 60.0, 80.0, 180.0


def run(seed):
    draw = random.Random(seed)
    env = simpy.Environment()
    server = simpy.Resource(env, WORKERS)
    resume = env.event()
    counts = {"requests": 0, "completions": 0, "timeouts": 0, "retries": 0, "ok": 0}

    def attempt(answered):
        with server.request() as turn:
            yield turn
            if PAUSE_FROM <= env.now < PAUSE_UNTIL:
                yield resume
            yield env.timeout(draw.expovariate(1 / MEAN_WORK))
        counts["completions"] += 1
        answered.succeed()

    def request():
        counts["requests"] += 1
        for retry in range(RETRIES + 1):
            if len(server.queue) < ROOM:
                answered = env.event()
                env.process(attempt(answered))
                happened = yield answered | env.timeout(TIMEOUT)
                if answered in happened:
                    counts["ok"] += 1
                    return
                counts["timeouts"] += 1
            if retry < RETRIES:
                counts["retries"] += 1
                yield env.timeout(draw.random() * min(CAP, BASE * 2**retry))

    def births():
        while True:
            yield env.timeout(draw.expovariate(RATE))
            env.process(request())

    def pause():
        yield env.timeout(PAUSE_UNTIL)
        resume.succeed()

    env.process(births())
    env.process(pause())
    env.run(until=HORIZON)
    return counts


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    before = time.process_time()
    counts = [run(seed) for seed in range(1, runs + 1)]
    cpu = time.process_time() - before
    events = sum(sum(c.values()) - c["ok"] for c in counts)
    ok = sum(c["ok"] for c in counts)
    print(json.dumps({"peer": "simpy", "events": events, "ok": ok, "cpu_s": round(cpu, 6)}))


main()
