#!/usr/bin/env bash
# Measurements of collectives by the command, their records, and its refusals:
#
#   bench_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
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
if ((ranks > 1)); then
  # docs/bench.md names all columns of the table and all keys of the record, in their order.
  docs=$(dirname "$0")/../../../docs/bench.md
  columns=$(sed -n '/^## Columns/,/^## /p' "$docs" | grep '^| `' | cut -d'|' -f2 | tr -d '`,' | tr -s ' \n' ' ')
  header=$(grep '^collective .* wrong$' "$folder/out" | tr -s ' ')
  [[ " collective algorithm$columns" == " $header " ]] || complain "docs/bench.md has the columns$columns"
  grep -qxF -- "$(grep '^collective .* wrong$' "$folder/out")" "$docs" || complain "the example in docs/bench.md has another header"
  keys=$(tr '\n' ' ' <"$docs" | tr -s ' ' | sed 's/time_s {min median p99 max}/time_s_min time_s_median time_s_p99 time_s_max/')
  for words in "Keys of a row: \`$(head -n 1 "$folder/rows.csv" | tr ',' ' ')\`" \
    "of a line of the summary: \`$(sed -n '/"summary"/,$p' "$folder/record.json" | sed -n 's/^      "\([a-z_]*\)".*/\1/p' | awk '!seen[$0]++' | tr '\n' ' ' | sed 's/ $//')\`" \
    "\`$(sed -n 's/^  "\([a-z_]*\)".*/\1/p' "$folder/record.json" | sed -n '/^cold$/,$p' | tr '\n' ' ' | sed 's/ $//')\`"; do
    [[ $keys == *"$words"* ]] || complain "docs/bench.md does not say: $words"
  done
else
  expect_lines out 0 "B/s"  # one rank has no bandwidths, in rows as below them
fi
measures 8 -b 4KiB -e 64k -f 16 --algorithm auto AllGather allreduce MPI_Alltoall reduce_scatter_block
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
  run bench allgather --counts 8 --iters 7 --json "$folder/record.json"
  expect_code 0
  (($(grep -c '"runs": 7,' "$folder/record.json") == 2)) || complain "not 7 runs of each"
  refused "--seconds excludes --iters" bench --iters 7 --seconds 1
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
  refused "-w: runs for a tenth of --seconds come first" bench -w 5
  refused "--ngpus: every rank is a process" bench --ngpus 8
  refused "-c: every result is checked" bench all_gather -c
  refused "--bytes 1KB: \"1KB\" may mean powers of 1000 or of 1024; 1K is" bench --bytes 1KB
  refused "--bytes excludes --minbytes" bench --bytes 1K -b 1K
  refused "--plot p.png: the plot is written as SVG, not PNG; call it p.svg" bench --plot p.png
  refused "--report x.pdf: the page is written as HTML, not PDF" bench --report x.pdf
  refused "--json x.csv: the record is written as JSON, not CSV" bench --json x.csv
fi
finish
