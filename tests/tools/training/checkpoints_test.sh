#!/usr/bin/env bash
# Runs that are killed, whose disk fails, and that are resumed in wrong ways, by the command:
#
#   checkpoints_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE FAILING_CALLS [KILLS]
#
# FAILING_CALLS is the library of failing_calls.cpp. KILLS runs of each kind are killed at random moments.
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
export OMPI_MCA_odls_base_sigkill_timeout=1  # or each failing run takes longer
failing_calls=$5
kills=${6:-3}

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256}
JSON
for i in {1..400}; do echo "line $((i * i % 97));"; done >"$folder/text"
steps=40
shape=(train --data "$folder/text" --batch 12 --seq 7 --keep 3 --save "$folder/run" --log "$folder/log"
  --resume "$folder/run" --model "$folder/config.json")
run=("${shape[@]}" --steps $steps --save-every 2)

# The step and the loss of each line of a log.
curve() { sed -n 's/.*"step":\([0-9]*\),"loss":\([^,}]*\).*/\1 \2/p' "$1"; }

# same_curve FILE RELATIVE: the log has the steps of FILE once each, in order, with these losses.
same_curve() {
  curve "$folder/log" >"$folder/curve"
  paste -d ' ' "$1" "$folder/curve" | awk -v most="$2" -v steps=$steps '
    { error = $2 - $4; if (error < 0) error = -error }
    NF != 4 || $1 != $3 || error > most * $2 { bad = 1 }
    END { exit bad || NR != steps }' || complain "the losses are not those of the undisturbed run: $(tail -n 2 "$folder/curve")"
}

undisturbed() {
  rm -rf "$folder/run" "$folder/log"
  run "${run[@]}" "$@"
  expect_code 0
  curve "$folder/log"
}

# How the next run is laid out. The first layout is also that of the undisturbed run.
layouts=("--strategy fsdp" "--strategy tp" "--strategy zero1 --micro-batches 2" "--strategy fsdp --micro-batches 3")

# ended RELATIVE: the run came to its end with the undisturbed losses.
ended() {
  expect_code 0
  same_curve "$folder/undisturbed" "$1"
}

# killed_runs RELATIVE LAYOUTS ARGS...: kills runs at random moments and resumes each, with the first LAYOUTS layouts in
# turn. A run that comes to its end must have the undisturbed losses; then all begins again.
killed_runs() {
  local relative=$1 count=$2 killed=0 turn=0 layout pid
  shift 2
  rm -rf "$folder/run" "$folder/log"
  while ((killed < kills)); do
    read -ra layout <<<"${layouts[turn++ % count]}"
    ran="${run[*]} ${layout[*]} $*"
    "$mpirun_sh" "$launcher" "$ranks" "$program" "${run[@]}" "${layout[@]}" "$@" >"$folder/out" 2>"$folder/err" &
    pid=$!
    sleep "0.$((RANDOM % 9 + 1))$((RANDOM % 10))"
    if kill -0 $pid 2>/dev/null && pkill -KILL -f -- "--log $folder/log"; then
      killed=$((killed + 1))
      wait $pid 2>/dev/null || true
      while pgrep -f -- "--log $folder/log" >/dev/null; do sleep 0.02; done
    else
      code=0
      wait $pid || code=$?
      ended "$relative"
      rm -rf "$folder/run" "$folder/log"
    fi
  done
  read -ra layout <<<"${layouts[turn % count]}"
  run "${run[@]}" "${layout[@]}" "$@"
  ended "$relative"
}

# A run that was killed before its first checkpoint begins again, and its lines go.
rm -rf "$folder/run"
printf '{"step":1,"loss":9.5}\n{"step":2,"lo' >"$folder/log"
run "${shape[@]}" --steps 3
expect_code 0
[[ $(curve "$folder/log" | cut -d ' ' -f 1 | tr '\n' ' ') == "1 2 3 " ]] || complain "the log has other steps: $(<"$folder/log")"

RANDOM=17
read -ra first <<<"${layouts[0]}"
undisturbed "${first[@]}" >"$folder/undisturbed"
killed_runs 0 1
undisturbed "${first[@]}" --dtype f64 >"$folder/undisturbed"
killed_runs 1e-10 ${#layouts[@]} --dtype f64

# What a failing disk does. Two checkpoints are there, and the next one fails.
wrapped=$folder/wrapped
cat >"$wrapped" <<TEXT
#!/bin/sh
LD_PRELOAD=$failing_calls exec "$program" "\$@"
TEXT
chmod +x "$wrapped"
undisturbed "${first[@]}" >"$folder/undisturbed"
rm -rf "$folder/run" "$folder/log"
run "${shape[@]}" --save-every 2 --warmup 4 "${first[@]}" --steps 4
cp -r "$folder/run" "$folder/before"
cp "$folder/log" "$folder/log_before"
expect_code 0
good=$program
# fails FAULT [RANK]: the run ends with 1 and one message, the old checkpoints stay, and it can go on.
fails() {
  rm -rf "$folder/run" "$folder/log"
  cp -r "$folder/before" "$folder/run"
  cp "$folder/log_before" "$folder/log"
  program=$wrapped
  export FAILING_CALL=$1 FAILING_RANK=${2:-0}
  run "${run[@]}" "${first[@]}"
  program=$good
  unset FAILING_CALL FAILING_RANK
  expect_code 1
  expect_lines err 1 "shardline: $folder/"
  [[ -e $folder/run/step-4/manifest.json && -e $folder/run/step-2/manifest.json ]] || complain "old checkpoints are gone after $1"
  [[ -z $(find "$folder/run" -name '*.partial' -o -name '*.tmp') ]] || complain "$1 left: $(ls "$folder/run")"
  run "${run[@]}" "${first[@]}"
  expect_code 0
  same_curve "$folder/undisturbed" 0
}
for rename in 1 2 3 4 5 6; do fails rename:$rename; done
fails fsync:3
fails fsync:8
fails posix_fallocate:2
fails pwrite:5:torn
if ((ranks > 1)); then fails pwrite:7 1; fi
rm -rf "$folder/before"

# Signals, which the launcher hands on: USR1 saves and goes on, USR2 saves and ends. MPICH's hands on only the first.
rm -rf "$folder/run" "$folder/log"
"$mpirun_sh" "$launcher" "$ranks" "$program" "${shape[@]}" --steps 100000 >"$folder/out" 2>"$folder/err" &
pid=$!
until [[ -s $folder/log ]] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -USR1 $pid
for _ in {1..200}; do
  [[ ! -e $folder/run/latest ]] || break
  sleep 0.05
done
first_saved=$(cat "$folder/run/latest" 2>/dev/null || echo none)
[[ $first_saved == step-* ]] || complain "SIGUSR1 saved nothing"
sleep 0.3
open_mpi=false
if "$launcher" --version 2>&1 | grep -qE "Open MPI|OpenRTE|PRRTE"; then open_mpi=true; fi
if $open_mpi; then kill -USR2 $pid; else pkill -USR2 -f -- "^$program .*--log $folder/log"; fi
code=0
wait $pid || code=$?
if $open_mpi; then expect_code 130; fi  # MPICH's launcher ends with 0
[[ $(cat "$folder/run/latest") != "$first_saved" ]] || complain "SIGUSR2 saved nothing"
[[ $(cat "$folder/run/latest") == "step-$(curve "$folder/log" | tail -n 1 | cut -d ' ' -f 1)" ]] || complain "not the last step is saved"

# Losses while the run goes on: in the log, in the record and in the plot.
rm -rf "$folder/run" "$folder/log"
run "${shape[@]}" --steps 5 --eval-every 2 --plot "$folder/losses.svg" --json "$folder/record.json"
expect_code 0
expect_lines out 2 "  held-out loss "
[[ $(grep -c '"val_loss"' "$folder/log") == 2 ]] || complain "expected 2 held-out losses in the log"
grep -q '"evaluations"' "$folder/record.json" || complain "the record has no evaluations"
grep -q 'held-out loss' "$folder/losses.svg" || complain "the plot has no held-out curve"

# Wrong use, in one line.
rm -rf "$folder/run" "$folder/log"
run "${shape[@]}" --steps 2 --save-every 2
resume=(train --data "$folder/text" --resume "$folder/run")
sed 's/"hidden_size": 32/"hidden_size": 36/' "$folder/config.json" >"$folder/other.json"
refused "hidden_size is 32 there and 36 here" "${resume[@]}" --model "$folder/other.json"
refused 'the run there has batch "12", this one has "6"' "${resume[@]}" --batch 6
refused 'the run there has seed "0", this one has "1"' "${resume[@]}" --seed 1
refused "the run there has done 2 steps, and --steps 1 asks for fewer" "${resume[@]}" --steps 1

# A run that was ended after its last checkpoint is finished: the held-out loss, and the weights as they are.
mv "$folder/run/model.safetensors" "$folder/saved"
run "${resume[@]}" --steps 2 --save "$folder/run" --json "$folder/finished.json"
expect_code 0
cmp -s "$folder/run/model.safetensors" "$folder/saved" || complain "other weights than those of the run"
grep -q '"val_loss": [0-9]' "$folder/finished.json" || complain "no held-out loss of a run that is finished"
refused "--save $folder/run: holds checkpoints of another run" train --data "$folder/text" --save "$folder/run"
refused "$folder/none: no such folder" train --resume "$folder/none"
refused "holds no checkpoint" train --resume "$folder"
refused "--save-every 3: --save DIR must say where" train --save-every 3
cp "$folder/run/step-2/model.safetensors" "$folder/kept"
truncate -s -1 "$folder/run/step-2/model.safetensors"
refused "tensor lm_head.weight" "${resume[@]}"
cp "$folder/kept" "$folder/run/step-2/model.safetensors"
printf 'X' | dd of="$folder/run/step-2/model.safetensors" bs=1 seek=$(($(stat -c %s "$folder/kept") - 3)) conv=notrunc status=none
run "${resume[@]}"
expect_code 1
expect_lines err 1 "tensor lm_head.weight is altered"
finish
