#!/usr/bin/env bash
# Measures this machine for the other scripts, so that their runs measure nothing when they start:
#
#   known_machine.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE FILE
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"

rm -f "$5"
run calibrate --seconds 1 -o "$5"
expect_code 0
# All axes of a node are joined by its memory.
axis=$(sed -n '/"axes": {/,/}/s/.*"X": \(".*"\).*/\1/p' "$5")
[[ -n $axis ]] || ((ranks == 1)) || complain "the file names no memory that joins the ranks"
if [[ -n $axis ]]; then sed -i "s/^\( *\)\"X\": $axis\$/\1\"A\": $axis, \"C\": $axis, \"X\": $axis, \"Y\": $axis, \"Z\": $axis/" "$5"; fi
finish
