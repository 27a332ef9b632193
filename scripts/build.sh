#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json into build/PRESET; incremental when it was built before.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
usage: scripts/build.sh [PRESET] [CMAKE_OPTION...]
  PRESET         release (the default), debug, asan or mpich
  CMAKE_OPTION   handed to cmake, as in -DCMAKE_CXX_COMPILER=g++-13
TEXT
}

preset=release
if [[ "${1:-}" == --help || "${1:-}" == -h ]]; then usage; exit 0; fi
if (($# > 0)) && [[ "$1" != -* ]]; then preset=$1; shift; fi

version_at_least() { [[ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" == "$1" ]]; }

if [[ ! -f "build/$preset/build.ninja" ]]; then
  check=(scripts/setup.sh --check)
  if [[ "$preset" == mpich ]]; then check+=(--mpich); fi
  if ! "${check[@]}"; then
    echo "build: scripts/setup.sh installs it all on Debian and Ubuntu" >&2
    exit 1
  fi
  found=$(cmake --version | sed -n '1s/[^0-9]*//p')
  if ! version_at_least 3.25 "$found"; then
    echo "build: cmake 3.25 or later is needed, this one is $found (Debian 12 and Ubuntu 24.04 have it)" >&2
    exit 1
  fi
fi

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset "$preset" "${launcher[@]}" "$@" --log-level=WARNING
cmake --build --preset "$preset"
