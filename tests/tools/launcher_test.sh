#!/usr/bin/env bash
# Processes of another MPI's launcher do not find each other. They must refuse to run as jobs of one rank each:
#
#   launcher_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
expression="A[I, J_X] * B[J_X, K] -> C[I, K]"
product=(matmul "$expression" --size I=8,J=8,K=8)
version=$("$program" --version)
if [[ $version != *"Open MPI"* ]]; then
  echo "skipped: the MPI of this build believes the variables that this test sets"
  exit 77
fi

# with "VARIABLES" ARGS...: one process, started by hand with these variables.
with() {
  read -ra variables <<<"$1"
  ran="$*"
  code=0
  env "${variables[@]}" timeout 60 "$program" "${@:2}" >"$folder/out" 2>"$folder/err" || code=$?
}

# noticed VARIABLES TEXT ARGS...
noticed() {
  with "$1" "${@:3}"
  expect_code 2
  expect_lines err 1 "shardline: "
  expect_lines err 1 "started $2, but MPI has 1: this launcher does not belong to the MPI that shardline uses, Open MPI v"
  [[ ! -s $folder/out ]] || complain "expected no output"
}

noticed "PMI_RANK=0 PMI_SIZE=2" "2 ranks (PMI_SIZE=2)" "${product[@]}"
noticed "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4" "4 ranks (SLURM_STEP_NUM_TASKS=4)" train --steps 1
noticed "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3" "3 ranks (OMPI_COMM_WORLD_SIZE=3)" bench all_gather
noticed "PMIX_NAMESPACE=job PMIX_RANK=1" "at least 2 ranks (PMIX_RANK=1)" calibrate -o "$folder/machine.json"
noticed "PMI_RANK=0 PMI_SIZE=2" "2 ranks (PMI_SIZE=2)" sample --load "$folder" --prompt a

with "PMI_RANK=1 PMI_SIZE=2" "${product[@]}"  # the first process has said it
expect_code 2
expect_lines err 0 "shardline"

with "PMI_RANK=0 PMI_SIZE=2" "${product[@]}" --alone
expect_code 0
expect_lines out 1 "correct: "
with "SLURM_PROCID=0 SLURM_NTASKS=2" "${product[@]}"  # a batch script
expect_code 0
with "PMI_RANK=0 PMI_SIZE=2" explain "$expression" --mesh X=2 --size I=8,J=8,K=8  # does not need MPI
expect_code 0
export PMI_RANK=0 PMI_SIZE=7
run "${product[@]}"  # the ranks have found each other
expect_code 0
expect_lines out 1 "correct: "
unset PMI_RANK PMI_SIZE

hydra=$(command -v mpiexec.hydra || true)
if [[ -n $hydra ]]; then
  ran="mpiexec.hydra -n 2 ${product[*]}"
  code=0
  timeout 60 "$hydra" -n 2 "$program" "${product[@]}" >"$folder/out" 2>"$folder/err" || code=$?
  expect_code 2
  expect_lines err 1 "started 2 ranks (PMI_SIZE=2), but MPI has 1"
  expect_lines out 0 "correct: "
fi
finish
