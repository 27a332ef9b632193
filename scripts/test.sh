#!/usr/bin/env bash
# Installs packages, builds, and runs every test. The last line is "N passed, N failed", and ", N
# skipped" if some were. The exit code is 0 only if tests ran and none failed.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [--preset PRESET] [--mpich] [--no-mpi] [CTEST_OPTION...]
  --preset PRESET   release (the default), debug, asan or mpich
  --mpich           the same as --preset mpich: against MPICH, which is installed if need be
  --no-mpi          only the tests that start no ranks
  CTEST_OPTION      handed to ctest, as in -R matmul
TEXT
}

preset=release
ctest_options=()
no_mpi=''
parse_options test --preset=preset --mpich:preset:mpich --no-mpi:no_mpi:yes '-*=ctest_options' -- "$@"
if [[ -n $no_mpi ]]; then ctest_options+=(-LE mpi); fi

setup_options=()
if [[ "$preset" == mpich ]]; then setup_options+=(--mpich); fi
scripts/setup.sh "${setup_options[@]}"
scripts/build.sh "$preset"

log=build/$preset/test.log
status=0
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 300 -j "$(nproc)" \
  "${ctest_options[@]}" 2>&1 | tee "$log" || status=$?

# ctest counts a skipped test as passed, and a test without its program as failed.
failed=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of [0-9]*$/\1/p' "$log")
total=$(sed -n 's/^[0-9]*% tests passed, [0-9]* tests failed out of \([0-9]*\)$/\1/p' "$log")
skipped=$(grep -c '^[[:space:]]*[0-9]* - .* (Skipped)$' "$log" || true)
failed=${failed:-0} total=${total:-0}
passed=$((total - failed - skipped))
if ((status == 0 && (passed == 0 || failed > 0))); then status=1; fi
summary="$passed passed, $failed failed"
if ((skipped > 0)); then summary+=", $skipped skipped"; fi
echo "$summary"
exit "$status"
