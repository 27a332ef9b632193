#!/usr/bin/env bash
# The ends of failing jobs:  failure_test.sh MPIRUN_SH LAUNCHER FAILURE_PROGRAM FAILING_TESTS
set -euo pipefail

mpirun_sh=$1
launcher=$2
program=$3
tests=$4
ranks=3
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failures=0

complain() {
  echo "FAILED: $1; exit code $code after ${seconds} s, output:"
  sed 's/^/  | /' "$output"
  failures=$((failures + 1))
}

# run COMMAND...: sets code and seconds. Ends a hanging job after a minute.
run() {
  local start=$SECONDS
  code=0
  timeout 60 "$mpirun_sh" "$launcher" "$ranks" "$@" >"$output" 2>&1 || code=$?
  seconds=$((SECONDS - start))
}

# expect NAME CODE LIMIT: CODE is a number or "nonzero", LIMIT the most seconds.
expect() {
  if [[ $2 == nonzero ]]; then
    ((code != 0)) || complain "$1: expected another exit code than 0"
  else
    ((code == $2)) || complain "$1: expected exit code $2"
  fi
  ((seconds <= $3)) || complain "$1: expected an end within $3 s"
}

# lines NAME COUNT TEXT: the output has COUNT lines with TEXT.
lines() {
  local count
  count=$(grep -cF -- "$3" "$output" || true)
  ((count == $2)) || complain "$1: expected $2 line(s) with \"$3\", found $count"
}

run "$program" succeed
expect "success" 0 30

run "$program" return-3
expect "a returned code" 3 30

run "$program" return-3-on-one
expect "a code returned on one rank" 3 30
lines "a code returned on one rank" 3 "ended with 3"

run "$program" throw-on-one
expect "an exception on one rank" nonzero 30
lines "an exception on one rank" 1 "shardline: rank 2: the disk is on fire"

run "$program" refuse-on-all
expect "a refusal on all ranks" 2 30
lines "a refusal on all ranks" 1 "shardline: no such mesh"

run "$program" wrong-on-all
expect "a wrong result on all ranks" 1 30
lines "a wrong result on all ranks" 1 "shardline: it diverged"

run "$program" refuse-on-one
expect "a refusal on one rank" nonzero 30
lines "a refusal on one rank" 1 "shardline: rank 2: no such mesh"

run "$program" refuse-on-one-at-the-end
expect "a refusal on one rank at the end" nonzero 30
lines "a refusal on one rank at the end" 1 "shardline: rank 2: no such mesh"

run "$tests" --gtest_color=no --gtest_filter='Failing.OnOneRank:Passing.*'
expect "a test that fails on one rank" 1 30
lines "a test that fails on one rank" 1 "[rank 2] second line"
lines "a test that fails on one rank" 1 "[rank 0] failed on rank 2"
lines "a test that fails on one rank" 1 "[rank 1] failed on rank 2"
lines "a test that fails on one rank" 1 "[       OK ] Passing.OnAllRanks"

run "$tests" --gtest_color=no --gtest_filter='Failing.ThrowsBeforeACollective'
expect "a test that throws on one rank" nonzero 30
lines "a test that throws on one rank" 1 "the disk is on fire"
lines "a test that throws on one rank" 1 "[rank 2] failed in Failing.ThrowsBeforeACollective while other ranks are still in it"

run "$tests" --gtest_color=no --gtest_filter='Passing.*'
expect "a test that passes" 0 30
lines "a test that passes" 1 "[  PASSED  ] 1 test."

((failures == 0)) && echo "all jobs ended as they should"
