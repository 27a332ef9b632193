#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json in build/PRESET; incremental after the first
# time. --command needs no packages for tests and benchmarks, and leaves them out of a new tree.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
usage: scripts/build.sh [PRESET] [--command] [CMAKE_OPTION...]
  PRESET         release (the default), debug, asan or mpich
  --command      only the command, shardline, not the tests, benchmarks and examples; a new tree compiles a dozen files as
                 one (-DSHARDLINE_UNITY=ON), which is quicker once and slower after each edit
  CMAKE_OPTION   handed to cmake, as in -DCMAKE_CXX_COMPILER=g++-13
TEXT
}

preset=release
if [[ "${1:-}" == --help || "${1:-}" == -h ]]; then usage; exit 0; fi
if (($# > 0)) && [[ "$1" != -* ]]; then preset=$1; shift; fi

command_only=false
if [[ "${1:-}" == --command ]]; then command_only=true; shift; fi
tree=build/$preset

version_at_least() { [[ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" == "$1" ]]; }

# A new tree is told which parts to build; so is a tree that had only the command.
check=(scripts/setup.sh --check)
parts=()
new=true
if [[ -f "$tree/build.ninja" ]]; then new=false; fi
if $command_only; then
  check+=(--command)
  if $new; then parts=(-DSHARDLINE_UNITY=ON -DSHARDLINE_TESTS=OFF -DSHARDLINE_BENCHMARKS=OFF -DSHARDLINE_EXAMPLES=OFF); fi
elif ! $new && grep -q '^SHARDLINE_TESTS:BOOL=OFF' "$tree/CMakeCache.txt"; then
  new=true
  parts=(-DSHARDLINE_TESTS=ON -DSHARDLINE_BENCHMARKS=ON -DSHARDLINE_EXAMPLES=ON)
  # The command keeps its compile mode. Compiling its files one by one would build it again.
fi
if $new; then
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
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$PWD  # one checkout can use what another has compiled
fi
cmake --preset "$preset" "${launcher[@]}" "${parts[@]}" "$@" --log-level=WARNING
targets=()
if $command_only; then
  targets=(--target shardline)
  steps=$(ninja -C "$tree" -n shardline | grep -c '^\[' || true)
  each=2
  if grep -q '^SHARDLINE_UNITY:BOOL=ON' "$tree/CMakeCache.txt"; then each=7; fi
  seconds=$((steps * each / $(nproc)))
  if ((steps > 10)); then
    echo "build: the command, $steps steps, usually about $(((seconds + 59) / 60)) min on $(nproc) free cores"
  fi
fi
cmake --build --preset "$preset" "${targets[@]}"
