#!/usr/bin/env bash
# Beside a process that occupies one core, results, records and pages report a busy machine:
#
#   busy_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE [--quiet]
#
# Alone they must not. Only a quiet machine ensures this, so only --quiet checks it. Everything runs on two CPUs.
set -euo pipefail
demand_quiet=${5:-}
source "$(dirname "$0")/../command.sh" "$1" "$2" "$3" "$4"
cpus=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
taskset -cp "$cpus" $$ >/dev/null
occupier=
trap '[[ -z $occupier ]] || kill "$occupier"; rm -rf "$folder"' EXIT

occupy() {
  taskset -c "${cpus%%,*}" bash -c 'while :; do :; done' &
  occupier=$!
}

leave() {
  kill "$occupier"
  wait "$occupier" 2>/dev/null || true
  occupier=
}

# The share in the record of the last run.
share() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["busy_with_others"])' "$folder/record.json"; }

# holds EXPRESSION: a Python expression is true.
holds() { python3 -c "import sys; sys.exit(not ($1))"; }

line="was busy with other work: "

# consistent: the line appears from a share of 0.05 on.
consistent() {
  local lines=0
  if holds "$(share) >= 0.05"; then lines=1; fi
  expect_lines out "$lines" "$line"
}

commands=(matmul train bench)
matmul=("A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=1024,J=1024,K=1024 --report "$folder/page.html")
train=(--steps 6 --batch 4 --seq 64 --report "$folder/page.html")
bench=(all_gather --bytes 1K:1M:32 --report "$folder/page.html")

# measure COMMAND: runs it with the arguments above.
measure() {
  local -n arguments=$1
  run "$1" "${arguments[@]}" --json "$folder/record.json"
  expect_code 0
  consistent
}

declare -A beside
occupy
for command in "${commands[@]}"; do
  measure "$command"
  beside[$command]=$(share)
  holds "0.1 < $(share) <= 1" || complain "beside a process on one of two cores the share is $(share)"
  grep -qF "$line" "$folder/page.html" || complain "the page does not say that the machine was busy"
done
leave

for command in "${commands[@]}"; do
  if [[ $demand_quiet != --quiet && $command != matmul ]]; then continue; fi
  measure "$command"
  echo "$command: ${beside[$command]} of the cores' time went to others beside a process on one core, $(share) alone"
  [[ $demand_quiet != --quiet ]] || expect_lines out 0 "$line"
done
finish
