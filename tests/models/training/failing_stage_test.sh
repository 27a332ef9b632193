#!/usr/bin/env bash
# A stage throws while the others wait for it; the job must end soon, with the message:
#
#   failing_stage_test.sh MPIRUN_SH LAUNCHER RANKS FAILING_STAGE_PROGRAM
set -euo pipefail
source "$(dirname "$0")/../../tools/command.sh" "$@"

begin=$SECONDS
run
((SECONDS - begin <= 30)) || complain "expected an end within 30 s, not after $((SECONDS - begin)) s"
((code != 0)) || complain "expected another exit code than 0"
expect_lines err 1 "shardline: rank $((ranks - 2)): the stage is on fire"
expect_lines out 0 "nothing burnt"
finish
