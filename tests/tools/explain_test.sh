#!/usr/bin/env bash
# `shardline explain` runs without mpirun and speaks once under it:
#
#   explain_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
product="A[I_XY, J] * B[J, K_Z] -> C[I_X, K_YZ]"

# alone ARGS...: as run, without a launcher.
alone() {
  ran=$(printf '%q ' "$@")
  code=0
  timeout 60 "$program" "$@" >"$folder/out" 2>"$folder/err" || code=$?
}

alone explain "$product" --mesh X=16,Y=16,Z=8 --size I=8192,J=8192,K=8192 --json "$folder/record.json"
expect_code 0
[[ $(head -1 "$folder/out") == "hardware v5e: "* ]] || complain "the first line does not say for which hardware"
expect_lines out 1 "axis Z: case 1"
expect_lines out 1 "candidate 1 is "
expect_lines out 1 "more; --json has all"
for key in shardline.explain/1 cases program operations candidates price_s why; do
  grep -q "\"$key\"" "$folder/record.json" || complain "the record has no $key"
done
alone explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64 --hardware h100 --dtype bf16
expect_code 0
expect_lines out 1 "hardware h100: "
alone explain "$product" --mesh X=4 --size I=64,J=64,K=64
expect_code 2
expect_lines err 1 "shardline: "

run explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64
expect_code 0
expect_lines out 1 "hardware v5e: "
refused "dim I of A[I_XY, J] has no size" explain "$product" --mesh X=4,Y=2,Z=1 --size J=64,K=64
finish
