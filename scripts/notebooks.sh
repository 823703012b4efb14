#!/usr/bin/env bash
# Runs every notebook against a short run of its scenario, in a fresh Python environment.
#
# The environment is made anew under target/ each time, so that what a notebook needs is what
# notebooks/requirements.txt names and nothing else. Packages come from wherever pip is set up to
# fetch them.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
environment=target/notebooks/venv
results=$PWD/target/notebooks/failover-20s

rm -rf "$environment"
"$python" -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check \
  --requirement notebooks/requirements.txt

cargo run --locked --quiet -- run scenarios/storms/failover-20s.yaml \
  --replications 3 --out "$results" --quiet --no-charts

# Charts are drawn into the notebook's own memory: no window opens, no file changes.
STORMLAB_OUTPUT=$results MPLBACKEND=agg \
  "$environment/bin/python" -m pytest --quiet -p no:cacheprovider --nbmake notebooks
