#!/usr/bin/env bash
# The four cases of a sharded product and their records:
#
#   matmul_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
record_check=$5
sizes="I=37, J=53, K=29"

# right CANDIDATE ARGS...: the product is right and its record complete.
right() {
  local candidate=$1
  shift
  rm -f "$folder/record.json"
  run matmul "$@" --size "$sizes" --json "$folder/record.json"
  expect_code 0
  expect_lines out 1 "correct: "
  "$record_check" "$folder/record.json" "$candidate" || complain "the record is not right"
}

right 1 "A[I_X, J] * B[J, K] -> C[I_X, K]"
expect_lines out 1 "axis X: case 1"
right 1 "A[I, J_X] * B[J, K] -> C[I, K]" --dtype bf16
expect_lines out 1 "axis X: case 2"
right 1 "A[I, J_X] * B[J_X, K] -> C[I, K]" --dtype f64
expect_lines out 1 "axis X: case 3"
right 1 "A[I_X, J] * B[J, K_X] -> C[I, K_X]" --seed 5
expect_lines out 1 "axis X: case 4"
right 1 "A[I, J]{U_X} * B[J_X, K] -> C[I, K]{U_X}"
right 1 "A[I, J]{U_X} * B[J, K]{U_X} -> C[I_X, K]" --dtype bf16
if ((ranks > 1)); then expect_lines out 4 "{U_X}) over wire exchange"; fi  # of both operands, in program and table

right 1 "A[I_X, J] * B[J, K_X] -> C[I_X, K]" --show
expect_lines out 1 "]: 37 x 53"
if ((ranks > 1)); then expect_lines out $((ranks - 1)) "| = rank "; fi  # of B, gathered
if ((ranks == 4)); then
  right 1 "A[I_X, J_Y] * B[J_Y, K] -> C[I_X, K]" --mesh X=2,Y=2
  expect_lines out 1 "axis X: case 1"
  expect_lines out 1 "axis Y: case 3"
  expect_lines out 2 "C[I_X, K] = AllReduce_Y(C[I_X, K]{U_Y})"  # in the program and in the table
  right 1 "A[I_XY, J] * B[J_YX, K] -> C[I, K_X]" --mesh Z=1,X=2,Y=2 --threads 1
fi
right 1 "A[I_X, J] * B[J, K_X] * C[K, J] -> D[I, J_X]"
expect_lines out 1 "axis X in D: case "
right 1 "A[I_X, J] * B[J, K_X] * C[K, J] -> D[I, J]" --dtype f64 --hardware v5e
right 1 "A[I_X, J] * B[I, J_X, K] -> D[K, I]" --dtype bf16 # I is a batch dim

# one array alone, exact: every collective, and a printed one
moved() {
  local size=$sizes
  sizes="I=37, J=53"
  right 1 "$@"
  expect_lines out 1 "correct: every element is exactly what it must be"
  expect_lines out 1 "whole conversion, "
  sizes=$size
}
if ((ranks == 2)); then
  moved "A[I_X, J] -> A[I, J]"
  moved 'A[I_X, J] = AllToAll_{X,I} : A[I, J_X]' --dtype f64
  moved 'AllReduce_X [I, J]{U_X}' --dtype bf16
  moved "A[I, J]{U_X} -> A[I_X, J]"
  moved "A[I, J]{Max_X} -> A[I, J_X]"
  moved "A[I, J] -> A[I, J_X]" --seed 5
  moved "A[I, J] -> A[I, J]{U_X}"
fi
if ((ranks == 4)); then
  moved 'A[I_{XY}, J] -> A[I, J_X]' --mesh X=2,Y=2 --show
  moved "Reshard(A[I_XY, J]) -> A[I_YX, J]" --mesh X=2,Y=2 --report "$folder/page.html"
  moved "A[I_X, J]{U_Y} -> A[I, J_Y]" --mesh X=2,Y=2 --trace "$folder/trace.json"
fi
run matmul "A[I_X, J]" --size I=37,J=53
expect_code 0
expect_lines out 1 "nothing to do: the array lies as it is wanted"
expect_lines out 1 "correct: "

# with the numbers of explain
run explain "A[I, J_X] * B[J_X, K] -> C[I, K]" --mesh X=$ranks --size "$sizes" --hardware cpu --json "$folder/explain.json"
expect_code 0
run matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --size "$sizes" --hardware cpu --json "$folder/matmul.json"
for key in cases program candidates; do
  "$record_check" --same "$folder/explain.json" "$folder/matmul.json" $key || complain "explain has other $key"
done
if ((ranks > 1)); then
  right 3 "A[I, J_X] * B[J_X, K] -> C[I, K]" --choose 3
  expect_lines out 1 "candidate 3 of "
fi
finish
