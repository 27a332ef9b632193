#!/usr/bin/env bash
# `shardline parity`: every layout equals one rank, every fault is found:
#
#   parity_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"

# counted KEY VALUE: how many layouts of the record have it.
counted() { grep -c "\"$1\": $2" "$folder/record.json" || true; }

run parity --json "$folder/record.json"
expect_code 0
expect_lines out 1 " equal to one rank within 1e-10, 0 not"
layouts=$(counted pass true)
((layouts >= 30)) || complain "$layouts layouts"
generating=$(counted name '"generate ')
((generating >= 19)) || complain "$generating layouts of generation"
for key in logits_diff logits_diff_f32 first_difference_f32; do
  [[ $(counted $key '') == "$generating" ]] || complain "a layout of generation has no $key"
done
[[ $(counted logits_diff_f32 null) == 0 ]] || complain "a layout was not compared in f32"
[[ $(counted first_difference null) == "$generating" ]] || complain "a text is another one in f64"
[[ $(counted pass false) == 0 && $(counted planted false) == "$layouts" ]] || complain "a layout differs, or has a fault"
grep -q '"planted": null' "$folder/record.json" || complain "the record names a fault"
grep -q '"schema": "shardline.parity/1"' "$folder/record.json" || complain "the record has no schema"
for key in name loss_diff grad_diff norm_diff weight_diff; do
  [[ $(counted $key '') == "$layouts" ]] || complain "a layout has no $key"
done

run parity --break
expect_code 0
names=$(awk '{print $1}' "$folder/out")
(($(wc -w <<<"$names") >= 27)) || complain "fewer than 27 faults"
# One of each kind; parity_test plants all of them.
for name in wrong-hop drop-by-rank stale-gather mean-of-means cache-places-in-order; do
  grep -qw -- "$name" <<<"$names" || complain "$name is not listed"
  rm -f "$folder/record.json"
  run parity --break "$name" --json "$folder/record.json"
  expect_code 1
  planted=$(counted planted true)
  ((planted > 0)) || complain "$name has no place"
  expect_lines out 1 "It was planted in $planted layouts and found in $planted of them"
  [[ $(counted pass false) == "$planted" ]] || complain "$name: layouts without the fault differ too"
  generating=$(counted name '"generate ')
  for key in logits_diff_f32 first_difference_f32; do
    [[ $(counted $key '') == "$generating" && $(counted $key null) == "$generating" ]] ||
      complain "$name: $key has a number, and nothing was compared in f32"
  done
  grep -q "\"planted\": \"$name\"" "$folder/record.json" || complain "the record does not name $name"
done

refused "--break frobnicate: no such fault; there are norm-twice, replica-summed" parity --break frobnicate
refused "--all: a switch, it takes no value" parity --all=5
refused "--mesh" parity --mesh X=2
finish
