#!/usr/bin/env bash
# Measures whether steps of pipelines take the time that they are simulated with, and whether the fastest strategy by
# prediction is the fastest. The products sleep.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/pipeline/run.sh [--lab] [OPTION...]
  --lab       pp=2 with fsdp=2 against fsdp=4, with a memory limit: on a torus of 4 hosts, and on 2 hosts of 2 ranks.
              If no lab can be made (see scripts/lab.sh), exits with 77 and the reason.
  OPTION      of pipeline_benchmark; --help lists them
Without --lab: every timetable on 4 and on 8 stages, 16 micro-batches, two layers a stage.
TEXT
  build/release/benchmarks/pipeline_benchmark --help 2>/dev/null || true
}

lab=false
options=()
parse_options pipeline --lab:lab:true '-*=options' -- "$@"

scripts/build.sh release >/dev/null
benchmark=build/release/benchmarks/pipeline_benchmark
if $lab; then
  model=(--batch 4096 --d-model 512 --d-ff 512 --layers 8 --mflops 8600)
  ways=(--mesh Z=2,X=2 --strategy pp=Z,fsdp=X --strategy fsdp=Z,fsdp=X --fastest --memory 42)
  scripts/lab.sh run --hosts 2x2 --rate 120mbit -- "$benchmark" "${model[@]}" "${ways[@]}" --bandwidth 14 "${options[@]}"
  # The two ranks of a host share its wire.
  scripts/lab.sh run --hosts 2 --ranks-per-host 2 --rate 120mbit -- \
    "$benchmark" "${model[@]}" "${ways[@]}" --bandwidth 7 --inside X "${options[@]}"
  exit
fi
for stages in 4 8; do
  scripts/mpirun.sh mpirun "$stages" "$benchmark" --layers $((2 * stages)) "${options[@]}"
done
