#!/usr/bin/env bash
# Measures what collective matmuls, training steps and ring attention hide across a torus of hosts. It makes a lab
# (scripts/lab.sh) and runs a benchmark in it.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/overlap/run.sh [--training | --attention] [--hosts N|RxC] [--rate RATE] [OPTION...]
  --training       training steps under FSDP instead of collective matmuls
  --attention      ring attention instead of collective matmuls
  --hosts N|RxC    a ring of N hosts, or a torus of R rows and C columns, one rank a host      (default 2)
  --rate RATE      of every link, each way                                                   (default 500mbit)
  OPTION           of overlap_benchmark or attention_overlap (default --balance), or of training_overlap;
                   --help lists them
To compare both ways round a ring with one way, with the links as the limit:
  benchmarks/overlap/run.sh --hosts 4 --inner 64 --algorithm ring
  benchmarks/overlap/run.sh --hosts 4 --inner 64 --algorithm bidirectional
Needs the same as scripts/lab.sh. If no lab can be made, exits with 77 and the reason.
TEXT
  build/release/benchmarks/overlap_benchmark --help 2>/dev/null || true
  build/release/benchmarks/training_overlap --help 2>/dev/null || true
  build/release/benchmarks/attention_overlap --help 2>/dev/null || true
}

hosts=2
rate=500mbit
benchmark=overlap_benchmark
options=()
parse_options overlap --hosts=hosts --rate=rate --training:benchmark:training_overlap \
  --attention:benchmark:attention_overlap '-*=options' -- "$@"
if [[ $benchmark != training_overlap ]] && ((${#options[@]} == 0)); then options=(--balance); fi

scripts/build.sh release >/dev/null
exec scripts/lab.sh run --hosts "$hosts" --rate "$rate" -- "build/release/benchmarks/$benchmark" "${options[@]}"
