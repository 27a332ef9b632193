#!/usr/bin/env bash
# Traces of the command: of whole runs, of interrupted runs and of jobs in which a rank dies:
#
#   trace_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE TRACE_FILE_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
check=$5
trace=$folder/trace.json
record=$folder/record.json

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 20, "intermediate_size": 22, "num_hidden_layers": 2, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256, "rms_norm_eps": 1e-5}
JSON
for i in {1..400}; do echo "line $((i * i % 97));"; done >"$folder/text"
small=(--model "$folder/config.json" --data "$folder/text" --batch 5 --seq 7)

# sound FILE OPTION...: the trace has no faults.
sound() {
  "$check" "$1" "$ranks" "${@:2}" || complain "the trace $1 is not right"
}

arrows=()
if ((ranks > 1)); then arrows=(--arrows); fi
run train "${small[@]}" --steps 4 --trace "$trace" --json "$record"
expect_code 0
expect_lines err 1 "shardline: trace of 4 steps in $trace: "
sound "$trace" --steps 1-4 --record "$record" 4
run train "${small[@]}" --steps 6 --trace "$trace" --json "$record" --fuse on --mesh "Y=$ranks" --strategy tp_seq
expect_code 0
sound "$trace" --steps 1-6 --record "$record" 4 "${arrows[@]}"  # two to warm up
run train "${small[@]}" --steps 25 --trace "$trace"
expect_lines err 1 "older ones than the last 20 were dropped"
sound "$trace" --steps 6-25
run matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=64,J=48,K=56 --trace "$trace" --json "$record"
expect_code 0
sound "$trace" --steps 1-5 --record "$record" 5
run matmul "A[I_X, J] * B[J_X, K] -> C[I_X, K]" --size I=64,J=48,K=56 --fuse on --trace "$trace" --json "$record"
expect_code 0
sound "$trace" --steps 1-5 --record "$record" 5 "${arrows[@]}"

# Stages of a pipeline; with 4 ranks, each has two.
if ((ranks == 2 || ranks == 4)); then
  stages=(--mesh Z=2 --strategy pp=Z)
  if ((ranks == 4)); then stages=(--mesh X=2,Z=2 --strategy fsdp=X,pp=Z); fi
  pipeline=(train "${small[@]}" "${stages[@]}" --steps 4 --micro-batches 5 --trace "$trace" --json "$record")
  run "${pipeline[@]}" --timetable gpipe
  expect_code 0
  order="F0 F1 F2 F3 F4 B0 B1 B2 B3 B4"
  sound "$trace" --steps 1-4 --arrows --record "$record" 4 --tasks "$order" --tasks "$order"
  run "${pipeline[@]}" --timetable zb_h1
  expect_code 0
  sound "$trace" --steps 1-4 --arrows --record "$record" 4 --tasks "F0 F1 I0 W0 F2 I1 W1 F3 I2 W2 F4 I3 W3 I4 W4" \
    --tasks "F0 I0 F1 I1 W0 F2 I2 W1 F3 I3 W2 F4 I4 W3 W4"
fi

refused "$folder/nowhere/t.json" train "${small[@]}" --steps 1 --trace "$folder/nowhere/t.json"
refused "$folder/nowhere/t.json" matmul "A[I, J] * B[J, K] -> C[I, K]" --size I=8,J=8,K=8 --trace "$folder/nowhere/t.json"
refused "--trace: it is empty" train "${small[@]}" --trace ""
refused "--trace $record: the record of --json goes there" train "${small[@]}" --trace "$record" --json "$record"

# process_state PID: empty if there is no process.
process_state() { sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null || true; }

# The processes of the ranks that write $trace.
rank_processes() {
  local process
  for process in /proc/[0-9]*; do
    if [[ $(readlink "$process/exe" || true) == "$(readlink -f "$program")" ]] &&
      tr '\0' '\n' <"$process/cmdline" | grep -qxF -- "$trace"; then
      basename "$process"
    fi
  done 2>/dev/null
}

# More ranks than cores need more than the second that Open MPI gives them between SIGTERM and SIGKILL.
if ((ranks > 2)); then export OMPI_MCA_odls_base_sigkill_timeout=2; fi

# train_in_background COMMAND...: COMMAND starts a training of hours. Returns after the first steps.
train_in_background() {
  ran="$*, trained in the background"
  rm -f "$trace"*
  "$@" train "${small[@]}" --steps 1000000 --trace "$trace" --json "$record" >"$folder/out" 2>"$folder/err" &
  background=$!
  for ((i = 0; i < 600; ++i)); do
    if grep -q "^step  *1 " "$folder/out"; then break; fi
    sleep 0.1
  done
  sleep 0.2
}

# ends: the training in the background ends; sets code.
ends() {
  for ((i = 0; i < 600; ++i)); do
    if [[ $(process_state "$background") =~ ^Z?$ ]]; then break; fi
    sleep 0.1
  done
  if [[ ! $(process_state "$background") =~ ^Z?$ ]]; then
    complain "it does not end"
    kill -KILL "$background"
  fi
  code=0
  wait "$background" || code=$?
}

# interrupted: the results of a training after a signal.
interrupted() {
  expect_lines err 1 "shardline: interrupted after step "
  expect_lines out 1 "arrays of the busiest rank"
  sound "$trace"
  grep -q '"interrupted": true' "$record" || complain "the record does not say so"
}

open_mpi=false
if "$launcher" --version 2>&1 | grep -qE "Open MPI|OpenRTE|PRRTE"; then open_mpi=true; fi

for signal in INT TERM; do
  train_in_background "$mpirun_sh" "$launcher" "$ranks" "$program"
  kill -$signal "$background"
  ends
  # A launcher that gets a stop signal has its own exit codes, MPICH's mostly 0.
  if $open_mpi; then ((code != 0)) || complain "exit code 0"; fi
  interrupted
done

train_in_background "$mpirun_sh" "$launcher" "$ranks" "$program"
kill -TERM "$(rank_processes | tail -n 1)"
ends
expect_code 130
interrupted

if ((ranks == 1)); then
  train_in_background "$program"
  kill -INT "$background"
  ends
  expect_code 130
  interrupted
fi

# MPICH's launcher gives the other ranks no time.
if ((ranks > 1)) && $open_mpi; then
  train_in_background "$mpirun_sh" "$launcher" "$ranks" "$program"
  kill -KILL "$(rank_processes | tail -n 1)"
  ends
  ((code != 0)) || complain "exit code 0"
  expect_lines err $((ranks - 1)) "its part of the trace is in $trace.rank"
  [[ ! -e $trace ]] || complain "there is a trace of all ranks"
  for part in "$trace".rank*.part; do sound "$part" --part; done
fi
finish
