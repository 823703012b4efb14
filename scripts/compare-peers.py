#!/usr/bin/env python3
"""Runs Stormlab and other simulators on the same work and prints how they compare.

    ./scripts/compare-peers.py [ROUNDS]

The work is W2 (benches/peers/src/lib.rs says what it is); the figure is canonical events per second
of CPU time, so what a simulator does beyond the work is its own cost. The programs take turns over
the rounds, five by default, and medians are compared: neighbours on the machine then disturb all of
them alike. Their numbers of events must agree within two percent, or they did not do the same work.

Needs Linux, a Rust toolchain, Python 3 with `venv`, and registries to fetch the peers from, each
under its pinned version. Everything is built below target/ and benches/peers/target/.
"""

import json
import statistics
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benches" / "peers"
ENVIRONMENT = ROOT / "target" / "peers-venv"
SIMPY = "simpy==4.1.2"
# So many runs that each program is busy for about a second.
RUNS = {"stormlab": 40, "desru": 20, "desque": 20, "simpy": 1}


def cargo(*arguments, folder=ROOT):
    subprocess.run(["cargo", *arguments], cwd=folder, check=True)


def own_bench():
    """The path of our bench program, as Cargo tells it."""
    command = ["cargo", "bench", "--locked", "--profile", "dist", "--bench", "engine", "--no-run"]
    told = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    messages = (json.loads(line) for line in told.stdout.splitlines() if line.startswith("{"))
    paths = [m["executable"] for m in messages if m.get("target", {}).get("name") == "engine"]
    return [path for path in paths if path][-1]


def programs():
    cargo("build", "--release", "--quiet", folder=PEERS)
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, SIMPY], check=True)
    release = PEERS / "target" / "release"
    return {
        "stormlab": [own_bench(), "w2"],
        "desru": [release / "desru"],
        "desque": [release / "desque"],
        "simpy": [python, PEERS / "simpy_w2.py"],
    }


def measure(command, runs):
    told = subprocess.run(
        [*map(str, command), str(runs)], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(told.stdout.splitlines()[-1])


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    commands = programs()
    speeds = {name: [] for name in commands}
    per_run = {}
    for _ in range(rounds):
        for name, command in commands.items():
            result = measure(command, RUNS[name])
            speeds[name].append(result["events"] / result["cpu_s"])
            per_run[name] = result["events"] / RUNS[name]
    middle = {name: statistics.median(values) for name, values in speeds.items()}
    print(f"W2, medians of {rounds} rounds\n")
    print("| simulator | events per run | million events per CPU second | Stormlab is faster by |")
    print("| --- | ---: | ---: | ---: |")
    for name, speed in sorted(middle.items(), key=lambda item: -item[1]):
        ratio = middle["stormlab"] / speed
        print(f"| {name} | {per_run[name]:,.0f} | {speed / 1e6:.2f} | {ratio:.2f} × |")
    ours = per_run["stormlab"]
    others = [name for name, events in per_run.items() if abs(events / ours - 1) > 0.02]
    if others:
        sys.exit(f"not the same work: {', '.join(others)}")


main()
