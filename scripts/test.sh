#!/usr/bin/env bash
# Everything that has to hold before a change is pushed. Ends with the results of the tests.
#
#   ./scripts/test.sh                 all of it
#   STORMLAB_SKIP_NOTEBOOKS=1 …       without the notebooks, which need Python and its packages
#
# Needs a Rust toolchain and Python 3.11 or later with its `venv` module. What Python needs goes
# into an environment of its own under target/.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

log=target/test-results.log
mkdir -p target
: > "$log"

say 'format'
cargo fmt --check

say 'lints'
cargo clippy --locked --all-targets -- -D warnings

say 'tests, and every bench once'
cargo test --locked --all-targets 2>&1 | tee -a "$log"

say 'examples in the documentation'
cargo test --locked --doc 2>&1 | tee -a "$log"

say 'documentation'
RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps

say 'a short scenario through the command line'
cargo run --locked --quiet -- check --quiet scenarios/storms/failover-20s-short.yaml

say 'what the scenarios of the mission expect'
for scenario in scenarios/mission/*.yaml; do
  echo "$scenario"
  target/debug/stormlab check --quiet "$scenario"
done

if [ -z "${STORMLAB_SKIP_NOTEBOOKS:-}" ]; then
  say 'notebooks'
  ./scripts/notebooks.sh
fi

say 'results'
grep -E '^test result:' "$log"
say 'all is well'
