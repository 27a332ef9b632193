#!/usr/bin/env bash
# `shardline book` runs without mpirun and prints once under it:
#
#   book_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"

# alone ARGS...: runs without a launcher.
alone() {
  ran=$(printf '%q ' "$@")
  code=0
  timeout 60 "$program" "$@" >"$folder/out" 2>"$folder/err" || code=$?
}

alone book --json "$folder/record.json"
expect_code 0
[[ ! -s $folder/err ]] || complain "expected nothing on standard error"
expect_lines out 1 "section 3.2"
expect_lines out 1 "lecture slides"
expect_lines out 1 "figures: "
for key in schema command mesh machine host cores ranks_per_node threads_per_rank blas mpi commit valid_timing rows; do
  grep -q "\"$key\":" "$folder/record.json" || complain "the record has no $key"
done
grep -q '"schema": "shardline.book/1"' "$folder/record.json" || complain "the record has another schema"
rows=$(grep -c '"quantity":' "$folder/record.json")
figures=$(sed -n 's/^\([0-9]*\) figures: .*/\1/p' "$folder/out")
((rows == figures && rows >= 90)) || complain "the record has $rows rows, the text $figures"

# The output is as shown by --help.
alone book --section 3.2
expect_code 0
cp "$folder/out" "$folder/example"
alone book --help
while IFS= read -r line; do
  grep -qxF -- "$line" "$folder/example" || complain "not in the output of the example: $line"
done < <(sed -n '/^prints, among others,/,/^the figure as/p' "$folder/out" | grep '^  ')

run book --section S
expect_code 0
expect_lines out 1 "lecture slides"
expect_lines out 0 "section 1.1"
refused 'section "12" has no figures here; there are 1.1, 1.1.3, ' book --section 12
refused "book --help" book --section ""
refused "book --help" book 5.1
refused "cannot be created" book --json /no/such/folder/record.json
finish
