#!/usr/bin/env sh
# Makes every page of docs/mission, docs/contradictions.md and the coverage table anew, with their
# charts, from the templates beside the scenarios and from runs:
#
#   ./scripts/pages.sh            # all of them
#   ./scripts/pages.sh NAME…      # only these, as in dotnet-failover
#
# The test `mission::pages` does the same and compares; a build fails when a page is older than what
# the runs say.
set -eu
cd "$(dirname "$0")/.."

cargo build --locked --quiet
page() { target/debug/stormlab page "$@"; }

if [ "$#" -gt 0 ]; then
    for name in "$@"; do
        out=docs/mission
        [ "$name" = contradictions ] && out=docs
        page "scenarios/mission/$name.page.md" --out "$out"
    done
    exit
fi

for template in scenarios/mission/*.page.md; do
    case "$template" in
        */contradictions.page.md) page "$template" --out docs ;;
        *) page "$template" --out docs/mission ;;
    esac
done
# The table of ids: written by the test that checks it.
STORMLAB_PAGES=write cargo test --locked --quiet --test integration mission::coverage
