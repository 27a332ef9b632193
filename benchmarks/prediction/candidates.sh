#!/usr/bin/env bash
# Checks that prices rank the ways to compute a product as their times do. Every candidate of twenty
# products runs on 2 ranks, in turns. For each product the fastest must be among the two with the
# best prices.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/prediction/candidates.sh [--machine FILE] [--runs N] [--tolerance SHARE]
  --machine FILE      use the prices of this calibration instead of the built-in ones
  --runs N            timed runs of each candidate; the median counts                                (default 7)
  --tolerance SHARE   a candidate that is slower by at most this share counts as fastest too         (default 0.05)
Prints every candidate with price and time, in the order of prices. For every product, a fastest candidate must be among
the two with the best prices, or within 1% of these prices; otherwise the exit code is 1. This takes about two minutes.
Run nothing else on the machine.
TEXT
}

options=()
machine='' runs='' tolerance=''
parse_options candidates --machine=machine --runs=runs --tolerance=tolerance -- "$@"
if [[ -n $machine ]]; then options+=(--machine "$machine"); fi
if [[ -n $runs ]]; then options+=(--runs "$runs"); fi
if [[ -n $tolerance ]]; then options+=(--tolerance "$tolerance"); fi

if [[ ! -f build/release/build.ninja ]]; then scripts/build.sh release >/dev/null; fi
cmake --build build/release --target candidates_benchmark >/dev/null
scripts/mpirun.sh mpirun 2 build/release/benchmarks/candidates_benchmark "${options[@]}"
