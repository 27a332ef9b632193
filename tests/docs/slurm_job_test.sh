#!/usr/bin/env bash
# The script for Slurm, with stand-ins for mpirun and scontrol:
#
#   slurm_job_test.sh JOB_SCRIPT
#
# The stand-in of mpirun says that it runs, and ends with code ENDS after SIGUSR2, or at once without WAITS.
set -euo pipefail
job=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/mpirun" <<'SH'
#!/bin/bash
trap 'exit $ENDS' USR2
printf '%s\n' "$*" >"$FOLDER/ran"
while [[ -n $WAITS ]]; do sleep 0.05; done
exit "$ENDS"
SH
cat >"$folder/scontrol" <<'SH'
#!/bin/bash
printf '%s\n' "$*" >>"$FOLDER/asked"
SH
chmod +x "$folder/mpirun" "$folder/scontrol"
failures=0
# job_ends WAITS ENDS REQUEUED: the job ends with code ENDS, and asks Slurm for REQUEUED.
job_ends() {
  local code=0 pid asked
  rm -f "$folder/ran" "$folder/asked"
  FOLDER=$folder WAITS=$1 ENDS=$2 PATH=$folder:$PATH SLURM_NTASKS=2 SLURM_JOB_ID=7 SHARDLINE=command bash "$job" --steps 9 &
  pid=$!
  for _ in {1..200}; do
    [[ ! -e $folder/ran ]] || break
    sleep 0.05
  done
  if [[ -n $1 ]]; then kill -USR1 $pid; fi
  wait $pid || code=$?
  asked=$(cat "$folder/asked" 2>/dev/null || true)
  if ((code != $2)) || [[ $asked != "$3" || $(<"$folder/ran") != "-n 2 command train --steps 9" ]]; then
    echo "FAILED: waits '$1', ends with $2: code $code, scontrol '$asked', ran '$(<"$folder/ran")'"
    failures=$((failures + 1))
  fi
}
job_ends yes 130 "requeue 7"
job_ends yes 137 "requeue 7"
job_ends yes 0 ""
job_ends yes 1 ""
job_ends "" 0 ""
job_ends "" 1 ""
((failures == 0)) && echo "the job ends as it should"
