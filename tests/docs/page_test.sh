#!/usr/bin/env bash
# A page of the documentation shows the output of its commands. Runs every line "$ command" of a fenced block. The
# lines below it must be its standard output.
#
#   page_test.sh MPIRUN_SH LAUNCHER SHARDLINE PAGE [--update]
#
# For commands under mpirun, the comparison ignores measured values: times, rates, ratios, limiters, rounding errors,
# the order of operations by ratio, the diagnosis, and warnings about measured rates. Losses of training may differ by
# 0.05 and a twentieth, as processors round in different ways. Everything else must be equal.
# --update writes the current output into the page.
set -euo pipefail
mpirun_sh=$1 launcher=$2 shardline=$3 page=$4 update=${5:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/work/build/release"
ln -s "$shardline" "$folder/work/build/release/shardline"
ln -s "$(realpath "$(dirname "$page")/../examples")" "$folder/work/examples"

# The form on the page: mpirun -n N PROGRAM ARGS...
mpirun() { "$mpirun_sh" "$launcher" "${@:2}"; }

# run_command: standard output of $command to $folder/output.
run_command() {
  local code=0
  (cd "$folder/work" && eval "$command") >"$folder/output" 2>"$folder/errors" </dev/null || code=$?
  if ((code != 0)); then
    printf 'FAILED with exit code %d: %s\n' "$code" "$command"
    cat "$folder/errors"
    exit 1
  fi
}

without_measurements() {
  sed -E -e 's/^(step +[0-9]+  loss) .*/\1/' -e 's/^held-out loss [0-9.]+/held-out loss/' -e 's/[0-9.]+ (ns|us|ms|s|[kMGTP]?B\/s|[kMGTP]?FLOP\/s)\b/TIME/g' -e '/TIME|^operation /s/ +/ /g' \
    -e 's/TIME +[0-9.]+%/TIME SHARE/g' -e 's/\(step [0-9]+, TIME\)/(STEP)/' \
    -e 's/TIME TIME [0-9.]+ (compute|memory|link|latency)$/TIME TIME RATIO LIMITER/' -e 's/, [0-9]+ runs?: /, RUNS: /' \
    -e 's/largest error [^ ]+/largest error ERROR/' -e '/^The machine was busy with other work: /d' \
    -e '/% of the best rate that was measured: one of the two is wrong$/d' \
    -e 's/^(The machine was busy .*)?By the prediction .*/DIAGNOSIS/' |
    in_order
}

# Operations are in the order of their ratios, so consecutive lines of operations are sorted.
in_order() {
  awk '
    function flush() { if (lines != "") { printf "%s", lines | "sort"; close("sort"); lines = "" } }
    / RATIO LIMITER$/ { lines = lines $0 "\n"; next }
    { flush(); print }
    END { flush() }'
}

# losses FILE: the losses in its lines of steps and of held-out samples, one a line.
losses() { sed -nE 's/^(step +[0-9]+  loss|held-out loss) ([0-9.]+).*/\2/p' "$1"; }

# comparable FILE: the comparable part of the output of $command.
comparable() {
  printf '$ %s\n' "$command"
  if [[ $command == mpirun* ]]; then without_measurements <"$1"; else cat "$1"; fi
}

# Reads the page. Writes the expected page to $folder/page, and both outputs of each command for the comparison.
commands=0 fenced=false command='' continued=false
finish_command() {
  if [[ -n $command ]]; then
    comparable "$folder/printed" >>"$folder/on_the_page"
    comparable "$folder/output" >>"$folder/now"
    losses "$folder/printed" >>"$folder/losses_on_the_page"
    losses "$folder/output" >>"$folder/losses_now"
  fi
  command=''
}
touch "$folder/on_the_page" "$folder/now" "$folder/losses_on_the_page" "$folder/losses_now"
while IFS= read -r line; do
  if $continued || { $fenced && [[ $line == '$ '* ]]; }; then
    if ! $continued; then finish_command; fi
    printf '%s\n' "$line"
    if $continued; then command+=$line; else command=${line#'$ '}; fi
    if [[ $line == *\\ ]]; then command=${command%\\} continued=true; continue; fi
    continued=false
    commands=$((commands + 1))
    : >"$folder/printed"
    run_command >&2
    cat "$folder/output"
  elif [[ $line == '```'* ]]; then
    finish_command
    if $fenced; then fenced=false; else fenced=true; fi
    printf '%s\n' "$line"
  elif [[ -n $command ]]; then
    printf '%s\n' "$line" >>"$folder/printed"
  else
    printf '%s\n' "$line"
  fi
done <"$page" >"$folder/page"

((commands > 0)) || { echo "FAILED: $page has no commands"; exit 1; }
if [[ $update == --update ]]; then
  cat "$folder/page" >"$page"
  exit 0
fi
if ! diff -U 5 --label "$page" "$folder/on_the_page" --label 'what its commands print' "$folder/now"; then
  echo "FAILED: $0 $mpirun_sh $launcher $shardline $page --update rewrites the page"
  exit 1
fi
if ! paste "$folder/losses_on_the_page" "$folder/losses_now" |
  awk '{ off = $1 - $2; if (off < 0) off = -off; if (NF != 2 || off > 0.05 + 0.05 * $2) bad = 1 } END { exit bad }'; then
  echo "FAILED: losses of $page and of its commands:"
  paste "$folder/losses_on_the_page" "$folder/losses_now"
  exit 1
fi
echo "$page says what its $commands commands print"
