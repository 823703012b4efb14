#!/usr/bin/env python3
"""Where the outcome of the 20 s failover turns: the tables of docs/storms.md.

    python3 scripts/sensitivity.py storm              # the base, one number changed at a time
    python3 scripts/sensitivity.py defences           # every variant, under a harder test

Writes a scenario whose variants are the cells of a table, runs it, and prints the table as
Markdown. Needs nothing but Python and the program (`--stormlab PATH`, else the one on PATH).
A cell is judged by whether a run was seen to recover: cells are short (`--horizon`), and in a
short run the trend of the backlog that tells `stuck` from `recovering` is mostly noise.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "scenarios" / "storms"
CAPACITY = 250  # attempts per second that the database can complete


def load(rate):
    """At another arrival rate; a slow stream needs longer recovery windows (450 births)."""
    cell = {"clients": {"web": {"arrivals": {"poisson": f"{rate}/s"}}}}
    if rate * 30 < 450:
        cell["run"] = {"recovery": {"window": "60s", "hold": "180s"}}
    return cell


def crashes_at(connections):
    count = {"connections": connections} if connections else None
    return {"services": {"database": {"overload": {"crashes_at": count}}}}


def timeout(milliseconds):
    return {"policies": {"thrice": {"attempt_timeout": f"{milliseconds}ms"}}}


def lasts(seconds):
    trigger = {"at": "5min", "lasts": f"{seconds}s", "service": "database", "effect": "refuse"}
    return {"triggers": [trigger]}


def overload(**settings):
    return {"services": {"database": {"overload": settings}}}


STORM = [
    ("load, 30 % less: 17.5/s", load(17.5)),
    ("load, 30 % more: 32.5/s", load(32.5)),
    *(
        (f"load, {100 * rate / CAPACITY:g} % of capacity: {rate:g}/s", load(rate))
        for rate in (7.5, 12.5, 18.75, 25, 37.5, 50, 62.5, 75)
    ),
    ("crash at 280 connections, 30 % fewer", crashes_at(280)),
    ("crash at 520 connections, 30 % more", crashes_at(520)),
    ("crash at 800 connections", crashes_at(800)),
    ("no crash at all", crashes_at(None)),
    ("timeouts of 1.4 s, 30 % shorter", timeout(1400)),
    ("timeouts of 2.6 s, 30 % longer", timeout(2600)),
    ("timeouts of 1 s", timeout(1000)),
    ("timeouts of 4 s", timeout(4000)),
    ("timeouts of 6 s", timeout(6000)),
    ("timeouts of 8 s", timeout(8000)),
    *((f"failover of {seconds} s", lasts(seconds)) for seconds in (2, 5, 10, 12, 15, 30, 60)),
    ("no cold start", overload(cold=None)),
    ("restart in 5 s", overload(restarts_after="5s")),
]

HARDER = [
    ("failover of 60 s", ("lasts: 20s", "lasts: 60s")),
    ("30 % load", ("poisson: 25/s", "poisson: 75/s")),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", choices=["storm", "defences"])
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--horizon", default="25min")
    parser.add_argument("--stormlab", default="stormlab")
    options = parser.parse_args()
    if options.table == "storm":
        base = text("failover-20s.yaml", options).split("\nvariants:")[0]
        names = [f"cell-{number}" for number in range(len(STORM))]
        cells = zip(names, STORM)
        lines = [f"  {name}: {json.dumps({'about': what} | cell)}" for name, (what, cell) in cells]
        found = run(base + "\nvariants:\n" + "\n".join(lines) + "\n", options)
        print("| changed | runs not back | attempts per request, peak | requests lost |")
        print("| --- | --- | --- | --- |")
        for name, what in [("base", "nothing")] + [(n, w) for n, (w, _) in zip(names, STORM)]:
            print(f"| {what} | {cell(found[name])} |")
    else:
        results = []
        for what, (old, new) in HARDER:
            scenario = text("failover-20s-variants.yaml", options)
            if scenario.count(old) != 1:
                raise SystemExit(f"`{old}` should stand once in the variants file")
            results.append((what, run(scenario.replace(old, new), options)))
        heads = [f"{what}: runs not back | peak | requests lost" for what, _ in results]
        print("| variant | " + " | ".join(heads) + " |")
        print("| --- " * (1 + 3 * len(results)) + "|")
        for name in results[0][1]:
            print(f"| {name} | " + " | ".join(cell(found[name]) for _, found in results) + " |")


def text(name, options):
    """A scenario of ours, with the horizon of a cell."""
    scenario = (FOLDER / name).read_text(encoding="utf-8")
    return scenario.replace("horizon: 60min", f"horizon: {options.horizon}", 1)


def run(scenario, options):
    """Runs a scenario; its variants as `summary.json` has them."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "cells.yaml"
        path.write_text(scenario, encoding="utf-8")
        command = [options.stormlab, "run", path, "--no-charts", "--quiet", "--out", folder]
        command += ["--replications", str(options.replications)]
        subprocess.run(command, check=True)
        summary = json.loads((pathlib.Path(folder) / "summary.json").read_text(encoding="utf-8"))
    return summary["variants"]


def cell(variant):
    """Runs that were not seen to recover, peak amplification at the database, requests lost."""
    runs = variant["replications"]
    back = variant["classes"]["recovered"] + variant["classes"]["unaffected"]
    healthy = variant["control_healthy_share"]["estimate"]
    note = "" if healthy == 1 else f" (twin healthy in {healthy:.0%})"
    peak = variant["amplification"]["database"]["peak"]["estimate"]
    lost = variant["lost_share"]["estimate"]
    return f"{runs - back} of {runs}{note} | {peak:.3g} | {lost:.1%}"


if __name__ == "__main__":
    main()
