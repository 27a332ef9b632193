#!/usr/bin/env bash
# Collectives measured by the command, their records, and what it refuses:
#
#   bench_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
record_check=$5

# measures ROWS ARGS...: all rows are right and the record is complete.
measures() {
  local rows=$1
  shift
  rm -f "$folder/record.json"
  run bench "$@" --seconds 0.002 --json "$folder/record.json"
  expect_code 0
  expect_lines out 1 "all $rows rows are right"
  "$record_check" "$folder/record.json" "$ranks" "$rows" || complain "the record is not right"
}

measures 30 all_gather reduce_scatter all_reduce all_to_all shift --algorithm ring,native --counts 1,7,6144 \
  --csv "$folder/rows.csv" --plot "$folder/rows.svg"
expect_lines out 1 "busbw"
expect_lines out 8 "shift   "  # six rows and two lines of the summary
(($(wc -l <"$folder/rows.csv") == 31)) || complain "the CSV file has not 31 lines"
if command -v python3 >/dev/null; then
  python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$folder/rows.svg" ||
    complain "the plot is not well-formed"
fi
measures 8 --bytes 4K:64K:16 --cold --algorithm auto
measures 6 all_gather reduce_scatter all_reduce --dtype bf16 --op max --bytes 1000:4K --algorithm ring
measures 8 --dtype i64 --counts 5 --mesh "Y=$ranks" --axis Y --segment 100 --seed 4
expect_lines err 0 "left out"

if ((ranks == 2)); then
  run bench --help
  expect_code 0
  expect_lines out 1 "mpirun -n 4 shardline bench"
  run bench all_gather shift --algorithm doubling,ring --counts 0 --seconds 0.001 --mesh "X=1, Y=2" --axis X
  expect_code 0
  expect_lines err 1 "left out: shift has no algorithm doubling"
  refused "collective 'frobnicate': there are all_gather, " bench frobnicate
  refused "there is no algorithm 'frobnicate'; there are auto, " bench --algorithm ring,frobnicate
  refused "shift has no algorithm doubling; it has auto, ring" bench all_gather shift --algorithm doubling
  refused "all_reduce by native has no bf16" bench all_reduce --algorithm native --dtype bf16
  refused "--axis X,Z: there is no axis 'Z' in mesh {X:2}" bench --axis X,Z
  refused "--axis X,X: axis X is given twice" bench --axis X,X
  refused "--bytes 4K:1K: the smallest size, 4K, is above the largest, 1K" bench --bytes 4K:1K
  refused "--bytes excludes --counts" bench --bytes 4K --counts 4
  refused "--counts -1: \"-1\" is not a number of elements" bench --counts -1
  refused " for the 2 ranks on a node, but " bench --bytes 1K:8000G
  refused "--dtype f16: f32, bf16, f64, i32 and i64 are known" bench --dtype f16
  refused "$folder/nowhere/rows.svg" bench --plot "$folder/nowhere/rows.svg"
  refused "--csv: it is empty" bench --csv ""
fi
finish
