#!/usr/bin/env bash
# `shardline explain` runs without mpirun and prints once under it:
#
#   explain_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
product="A[I_XY, J] * B[J, K_Z] -> C[I_X, K_YZ]"

# alone ARGS...: runs without a launcher.
alone() {
  ran=$(printf '%q ' "$@")
  code=0
  timeout 60 "$program" "$@" >"$folder/out" 2>"$folder/err" || code=$?
}

alone explain "$product" --mesh X=16,Y=16,Z=8 --size I=8192,J=8192,K=8192 --json "$folder/record.json"
expect_code 0
[[ $(head -1 "$folder/out") == "hardware v5e, bf16: matmul 197 "* ]] || complain "the first line names no hardware and type"
grep -q '"dtype": "bf16"' "$folder/record.json" || complain "the record has another dtype"
expect_lines out 1 "axis Z: case 1"
expect_lines out 1 "candidate 1 is "
expect_lines out 1 "more; --json has all"
for key in shardline.explain/1 cases program operations candidates price_s why; do
  grep -q "\"$key\"" "$folder/record.json" || complain "the record has no $key"
done
alone explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64 --hardware h100 --dtype bf16
expect_code 0
expect_lines out 1 "hardware h100, bf16: "
alone explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64 --dtype f32
expect_lines out 1 "hardware v5e, f32: matmul 197 TFLOP/s"
alone explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64 --hardware cpu
expect_lines out 1 "hardware cpu, f32: "
alone explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64 --dtype int8
expect_code 0
expect_lines out 1 "hardware v5e, int8: matmul 394 TFLOP/s"
alone explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64 --dtype int8 --hardware h100
expect_code 2
expect_lines err 1 "machine h100 has no figures for int8; it has f32, f64, bf16"

# one array alone, in the book's spellings: the bytes of an all_gather of bf16[2048, 8192] over a line of 4
for text in '\text{AllGather}_Y([E_Y, F]) \rightarrow [E, F]' "A[E_Y, F] -> A[E, F]" "A[E, F] = AllGather_Y(A[E_Y, F])"; do
  alone explain "$text" --mesh X=8,Y=4 --size E=2048,F=8192 --json "$folder/record.json"
  expect_code 0
  expect_lines out 1 "A[E_Y, F]: 8.39 MB (8388608 B) on each rank, 268 MB (268435456 B) on all 32, 8 times the size"
  expect_lines out 1 "        1    562 us       0 s    562 us   25.2 MB  link     AllGather_Y(A[E_Y, F])"
  grep -q '"cases": \[\]' "$folder/record.json" || complain "a conversion has cases"
done
alone explain "A[I_{XY}, J]" --mesh X=2,Y=8,Z=2 --size I=128,J=2048 --dtype int8
expect_code 0
expect_lines out 1 "A[I_XY, J]: 16.4 kB (16384 B) on each rank, 524 kB (524288 B) on all 32, 2 times the size of the whole array"
expect_lines out 1 "nothing to do"

# the output of programs, typed again: every line of the first three candidates gives itself
alone explain "A[I_X, J_Y] * B[J_Y, K_X] -> C[I, K_Y]" --mesh X=4,Y=2 --size I=64,J=48,K=32 --json "$folder/record.json"
expect_code 0
mapfile -t printed < <(grep -oE '"[A-Z]\[.* = .*"' "$folder/record.json" | tr -d '"' | sort -u | head -n 24)
((${#printed[@]} > 10)) || complain "only ${#printed[@]} printed lines"
for line in "${printed[@]}"; do
  sizes=$(for dim in I:64 J:48 K:32; do [[ $line != *[[\ ]${dim%:*}[],_]* ]] || echo "${dim/:/=}"; done | paste -sd,)
  alone explain "$line" --mesh X=4,Y=2 --size "$sizes"
  expect_code 0
  grep -qF "  $line" "$folder/out" || complain "the printed line is not in its own program"
done
alone explain "$product" --mesh X=4 --size I=64,J=64,K=64
expect_code 2
expect_lines err 1 "shardline: "

run explain "$product" --mesh X=4,Y=2,Z=1 --size I=64,J=64,K=64
expect_code 0
expect_lines out 1 "hardware v5e, bf16: "
refused "*_K stands before B[J, K], but that product sums over J" \
  explain "A[I, J] *_K B[J, K] -> C[I, K]" --mesh X=2 --size I=4,J=4,K=4
refused "AllGather_X of A[I_X, J] makes A[I, J], not A[I_X, J]" \
  explain "A[I_X, J] = AllGather_X(A[I_X, J])" --mesh X=2 --size I=4,J=4
refused "expected \",\" or \"]\" after a dim here" explain "A[I] · B[I; J] → C[J]" --mesh X=2 --size I=4,J=4
expect_lines err 1 "            ^"
refused "dim I of A[I_XY, J] has no size" explain "$product" --mesh X=4,Y=2,Z=1 --size J=64,K=64
# A machine in a file prices products by the type of their operands.
cat >"$folder/rates.json" <<'JSON'
{"schema": "shardline.machine/1", "name": "rates", "compute": {"f32": {"peak_flops_per_s": 1e9},
 "bf16": {"peak_flops_per_s": 4e9}}, "memory": {"triad_bytes_per_s": 1e12}, "overhead_s": 0}
JSON
alone explain "A[I, J] * B[J, K] -> C[I, K]" --mesh X=1 --size I=1000,J=1000,K=1000 --machine "$folder/rates.json" --dtype bf16
expect_lines out 1 "bf16: matmul 4.00 GFLOP/s"
finish
