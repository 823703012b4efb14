#!/usr/bin/env bash
# Records the traces again: ./record.sh [LIBRARY…], all of them by default.
#
# Each library is installed at its pinned version into a temporary directory, never into the
# repository, and its recorder writes the JSON files beside itself. KEEP=1 leaves the directory
# and names it. The Go recorders need Debian's Go packages (see README.md).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
[ -n "${KEEP:-}" ] && echo "working in $work" || trap 'rm -rf "$work"' EXIT
cp -r "$here/common" "$work/common"

record() {
  local from=$1 to="$work/$1"
  mkdir -p "$to"
  find "$here/$from" -maxdepth 1 -type f ! -name '*.json' -exec cp -t "$to" {} +
  cp -t "$to" "$here/$from"/package*.json 2>/dev/null || true
  [ -d "$here/$from/src" ] && cp -r "$here/$from/src" "$to/src"
  export TRACES_OUT="$here/$from"
  (
    cd "$to"
    if [ -f package.json ]; then
      npm ci --ignore-scripts --no-audit --no-fund --silent
      node record.mjs
    elif [ -f requirements.txt ]; then
      python3 -m venv venv
      venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
      PYTHONPATH="$work/common" venv/bin/python record.py
    elif [ -f Cargo.toml ]; then
      CARGO_TARGET_DIR="$to/target" cargo run --quiet --locked
    else
      GO111MODULE=off GOPATH="${DEBIAN_GOPATH:-/usr/share/gocode}" go run record.go
    fi
  )
  echo "$from: recorded"
}

cd "$here"
[ $# -gt 0 ] || set -- */
for library in "$@"; do
  library=${library%/}
  case "$library" in
    common | adaptive) ;; # The one is shared, the other works out formulas and records nothing.
    *) record "$library" ;;
  esac
done
