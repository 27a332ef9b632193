#!/usr/bin/env bash
# Commands check memory before they take it, against free memory, limits of control groups and resource limits:
#
#   memory_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
product="A[I, J_X] * B[J_X, K] -> C[I, K]"

# short PATTERN: the command refuses before it takes memory, in one line that matches and says how to continue.
short() {
  expect_code 2
  expect_lines err 1 "shardline: "
  expect_lines err 1 "; --no-memory-check goes on all the same"
  grep -qE -- "$1" "$folder/err" || complain "expected a message like $1"
  [[ ! -s $folder/out ]] || complain "expected no output"
}
amount="[0-9.]+ [kMGTPE]?B"

# More than any machine has, by every command that can request it.
everywhere="needs $amount for the 2 ranks on a node, but .+ leaves $amount: "
run train --strategy fsdp --batch 8388608 --steps 1
short "train --strategy fsdp=X $everywhere--batch [0-9]+.* would fit"
run train --strategy auto --seq 1000000 --batch 16 --steps 1
expect_code 2
expect_lines err 1 "no strategy fits: a rank has "
run train --strategy tp=X --seq 1000000 --batch 16 --steps 1
short "$everywhere"
refused "--batch 9000000000000000000, --seq 128: at most 1000000000000 tokens a step" train --batch 9000000000000000000
run matmul "$product" --size I=4000000,J=4000000,K=4000000
short "$everywhere"
run matmul "$product" --size I=100000000,J=100000000,K=8
short "$everywhere"
run bench all_gather --bytes 65536G
short "$everywhere""sizes up to [0-9]+[KMG] would fit"
run bench all_reduce --counts 9000000000000000000
short "$everywhere"

# limited KILOBYTES ARGS...: under a limit on address space.
limited() {
  ran="ulimit -v $1; ${*:2}"
  code=0
  (ulimit -v "$1" && timeout 120 "$mpirun_sh" "$launcher" "$ranks" "$program" "${@:2}") \
    >"$folder/out" 2>"$folder/err" || code=$?
}
rank="needs $amount for each rank, but ulimit -v leaves $amount: "
limited 3000000 matmul "$product" --size I=16384,J=16384,K=16384
short "$rank"
limited 3000000 train --batch 1024 --steps 1
short "$rank--batch [0-9]+.* would fit"
fitting=$(sed -nE 's/.*: --batch ([0-9]+).*/\1/p' "$folder/err")
limited 3000000 train --batch "${fitting:-0}" --steps 1
expect_code 0
limited 3000000 bench all_gather --bytes 4G --algorithm native
short "$rank""sizes up to [0-9]+[KMG] would fit"
limited 3000000 matmul "$product" --size I=256,J=256,K=256
expect_code 0
expect_lines out 1 "correct: "
limited 3000000 bench all_gather --bytes 4G --algorithm native --no-memory-check  # and then there is none
expect_lines err 0 "--no-memory-check"
((code != 0)) || complain "expected a failure"

# The same in a control group with a limit, and below one, if this machine allows it.
own=$(sed -nE 's/^[0-9]+:([^:]*,)?memory(,[^:]*)?:(.*)/\3/p' /proc/self/cgroup)
above=/sys/fs/cgroup/memory$own/shardline_test_$$
if [[ -n $own ]] && mkdir "$above" "$above/below" 2>/dev/null; then
  trap 'rmdir "$above/below" "$above" 2>/dev/null || true; rm -rf "$folder"' EXIT
  if echo 900000000 >"$above/memory.limit_in_bytes"; then
    # in_group ARGS...
    in_group() {
      ran="in a group of 900 MB: $*"
      code=0
      (echo "$BASHPID" >"$above/below/cgroup.procs" && timeout 120 "$mpirun_sh" "$launcher" "$ranks" "$program" "$@") \
        >"$folder/out" 2>"$folder/err" || code=$?
    }
    group="needs $amount for the 2 ranks on a node, but cgroup .*/shardline_test_$$ \\(memory.limit_in_bytes\\) leaves $amount: "
    in_group matmul "$product" --size I=8192,J=8192,K=8192
    short "$group"
    in_group train --batch 256 --steps 1
    short "$group--batch [0-9]+"
    in_group matmul "$product" --size I=64,J=64,K=64
    expect_code 0
  fi
fi
finish
