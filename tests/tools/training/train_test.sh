#!/usr/bin/env bash
# Training, sampling and loading by the command, and its refusals:
#
#   train_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
record_check=$5

# A model and a text so small that a step takes milliseconds.
cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 20, "intermediate_size": 22, "num_hidden_layers": 2, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256, "rms_norm_eps": 1e-5, "transformers_version": "4.42.3"}
JSON
for i in {1..400}; do echo "line $((i * i % 97));"; done >"$folder/text"
: >"$folder/empty"
model=(--model "$folder/config.json")
text=(--data "$folder/text")
shape=(--batch 5 --seq 7)
small=("${model[@]}" "${text[@]}" "${shape[@]}" --steps 4)

# trains ARGS...: a run with a complete record.
trains() {
  rm -f "$folder/record.json"
  run train "${small[@]}" --json "$folder/record.json" "$@"
  expect_code 0
  expect_lines out 1 "held-out loss"
  "$record_check" "$folder/record.json" 4 || complain "the record is not right"
}

trains --save "$folder/model"
expect_lines out 1 "saved to $folder/model"
cp "$folder/record.json" "$folder/first.json"
trains
"$record_check" "$folder/record.json" 4 "$folder/first.json" || complain "the same run gave other bits"
trains --mesh "Y=$ranks" --strategy tp --dtype f64
trains --mesh "Y=$ranks" --strategy tp_seq=Y --keep-parameters --regather-activations
trains --mesh "A=$ranks" --strategy zero1=A
trains --mesh "A=$ranks" --strategy zero2=A --micro-batches 5

# optimizer_is TEXT: the optimizer of the record, without white space.
optimizer_is() {
  local found
  found=$(tr -d ' \n' <"$folder/record.json" | sed 's/.*"optimizer":\({[^}]*}\).*/\1/')
  [[ $found == "$1" ]] || complain "the record has the optimizer $found, not $1"
}

trains --lr 0.5
optimizer_is '{"name":"adamw","learning_rate":0.5,"min_learning_rate":0.05,"warmup":1,"betas":[0.9,0.95],"eps":1e-08,"weight_decay":0.1,"decay_all":false,"clip":1.0}'
cp "$folder/record.json" "$folder/usual.json"
trains --lr 0.5 --warmup 1 --min-lr 0.05 --clip 1 --weight-decay 0.1 --betas 0.9,0.95
"$record_check" "$folder/record.json" 4 "$folder/usual.json" || complain "the defaults, typed, gave other bits"
trains --lr 0.5 --warmup 0 --min-lr 0.25 --clip 0 --weight-decay 0 --betas 0.5,0 --decay-all
optimizer_is '{"name":"adamw","learning_rate":0.5,"min_learning_rate":0.25,"warmup":0,"betas":[0.5,0.0],"eps":1e-08,"weight_decay":0.0,"decay_all":true,"clip":0.0}'
trains --optimizer descent --lr 0.25 --warmup 9 --min-lr 0.25
optimizer_is '{"name":"descent","learning_rate":0.25,"min_learning_rate":0.25,"warmup":9}'
trains --micro-batches 5
expect_lines out 1 "5 sequences of 7 tokens a step, in 5 micro-batches"
grep -q '"micro_batches": 5' "$folder/record.json" || complain "the record does not count micro-batches"
trains --remat block
expect_lines out 1 "7 tokens a step, rematerialisation block"
grep -q '"remat": "block"' "$folder/record.json" || complain "the record does not name the rematerialisation"
if ((ranks > 1)); then
  trains --mesh "Z=$ranks" --strategy pp=Z --micro-batches 5 --timetable 1f1b --save "$folder/stages"
  expect_lines out 1 "stage 0: layers 0"
  grep -q '"timetable": "1f1b"' "$folder/record.json" || complain "the record does not name the timetable"
  hash=$(grep -o '"weights_hash": "[0-9a-f]*"' "$folder/record.json")
  trains --mesh "Z=$ranks" --strategy pp=Z --micro-batches 5 --timetable zb_h1 --show-schedule --save "$folder/other_stages"
  (($(grep -cE '^Z=[0-9]+  [. <]*F' "$folder/out") == ranks)) || complain "the schedule does not begin with F on every stage"
  cmp -s "$folder/stages/model.safetensors" "$folder/other_stages/model.safetensors" || complain "timetables gave other bits"
  grep -qF "$hash" "$folder/record.json" || complain "the hash of the same bits is another"
fi
trains --mesh "A=$ranks" --strategy auto --micro-batches 5
run train "${text[@]}" "${shape[@]}" --steps 2 --load "$folder/model" --json "$folder/record.json"
expect_code 0
"$record_check" "$folder/record.json" 2 || complain "the record is not right"

# What stages saved, any mesh loads: the first loss is the same.
if ((ranks > 1)); then
  for way in "X=$ranks fsdp=X" "Z=$ranks pp=Z"; do
    run train "${text[@]}" "${shape[@]}" --steps 1 --dtype f64 --load "$folder/stages" --mesh "${way% *}" --strategy "${way#* }"
    expect_code 0
    grep -o "step     1  loss [0-9.]*" "$folder/out" >>"$folder/losses"
  done
  [[ $(sort -u "$folder/losses" | wc -l) == 1 ]] || complain "the loaded models differ: $(cat "$folder/losses")"
fi

# If the last update diverges, the run reports it once, on any mesh, and does not change the saved model.
cp -r "$folder/model" "$folder/before"
run train "${model[@]}" "${text[@]}" "${shape[@]}" --steps 1 --lr 1e39 --save "$folder/model"
expect_code 1
expect_lines err 1 "after step 1: "
expect_lines err 1 "training diverged"
diff -r "$folder/before" "$folder/model" || complain "a run that diverged touched the saved model"

run sample --load "$folder/model" --prompt "line 1" --tokens 20 --seed 1
expect_code 0
expect_lines out 1 "line 1"
text_of() { sed '/^ *tokens  *time/,$d' "$folder/out"; }  # without the table of times
text_of >"$folder/sampled"
run sample --load "$folder/model" --prompt "line 1" --tokens 20 --seed 1 --mesh "Y=$ranks" --strategy tp
text_of | cmp -s - "$folder/sampled" || complain "another mesh sampled another text"

refused "unknown role \"ddp\" in a strategy; roles are dp" train "${small[@]}" --strategy "ddp=X"
refused "gives axis X of mesh" train "${small[@]}" --mesh "X=$ranks,Y=1" --strategy "tp=Y"
refused "does not have" train "${small[@]}" --strategy "fsdp=Q"
refused "--micro-batches 2 does not divide --batch 5" train "${small[@]}" --micro-batches 2
refused 'unknown rematerialisation "all"; it is one of none, matmuls, stream, block' train "${small[@]}" --remat all
refused 'role pp is on axes X and Y; only one axis can make stages' train "${small[@]}" --mesh "X=$ranks,Y=1" --strategy pp=X,pp=Y
refused "--timetable" train "${small[@]}" --timetable
refused "gpipe, " train "${small[@]}" --timetable fast
refused "--stage-layers 1: only a strategy with role pp" train "${small[@]}" --stage-layers 1
if ((ranks > 1)); then
  refused "\"x\" is no number of layers" train "${small[@]}" --mesh "Z=$ranks" --strategy pp=Z --stage-layers 1,x
  refused "numbers of layers are needed that add up to" train "${small[@]}" --mesh "Z=$ranks" --strategy pp=Z --stage-layers 77
  refused "role \"pp\" is not for generation; its roles are dp" sample --load "$folder/model" --prompt x --mesh "Z=$ranks" --strategy pp=Z
fi
refused "--warmup -1: a whole number of at least 0" train "${small[@]}" --warmup -1
refused "--min-lr 0.01: at most the learning rate after warm-up (--lr), which is 0.003" train "${small[@]}" --min-lr 0.01
refused "--min-lr 0.25: at most the learning rate after warm-up (--lr), which is 0.125" train "${small[@]}" --lr 0.125 --min-lr 0.25
refused "--min-lr -1: a number of at least 0" train "${small[@]}" --min-lr -1
refused "--clip -1: a number of at least 0" train "${small[@]}" --clip -1
refused "--weight-decay nan: a number of at least 0" train "${small[@]}" --weight-decay nan
for betas in 0.9 0.9,1 -0.1,0.5 0.9,0.95,0.9 0.9, a,b; do
  refused "--betas $betas: two numbers from 0 to below 1, as in 0.9,0.95" train "${small[@]}" "--betas=$betas"
done
refused "--betas 0.8,0.9: --optimizer descent does not have it" train "${small[@]}" --optimizer descent --betas 0.8,0.9
refused "--micro-batches 0: a whole number from 1 to 512" train "${small[@]}" --micro-batches 0
refused "two roles" train "${small[@]}" --strategy "fsdp=X,dp=X"
refused "mesh {X:7}" train "${small[@]}" --mesh X=7
refused "$folder/missing" train "${model[@]}" --data "$folder/missing"
refused "$folder/empty: is empty" train "${model[@]}" --data "$folder/empty"
refused "sequences of 9999 tokens need" train "${model[@]}" "${text[@]}" --seq 9999
refused "--model excludes --load" train "${small[@]}" --load "$folder/model"
refused "cannot make the folder" train "${small[@]}" --save /proc/nowhere
refused "--steps 0: a whole number of at least 1" train "${model[@]}" "${text[@]}" --steps 0
refused "--dtype int8" train "${small[@]}" --dtype int8
refused "$folder/nothing" train "${text[@]}" --model "$folder/nothing"
sed 's/"num_key_value_heads": 3/"num_key_value_heads": 4/' "$folder/config.json" >"$folder/heads.json"
refused "num_key_value_heads" train "${text[@]}" --model "$folder/heads.json"
sed 's/"vocab_size": 256/"vocab_size": 100/' "$folder/config.json" >"$folder/vocab.json"
refused "vocab_size 100" train "${text[@]}" --model "$folder/vocab.json"
refused "$folder/nowhere" sample --load "$folder/nowhere" --prompt "x"
refused "--prompt is empty" sample --load "$folder/model" --prompt ""
head -c 100 "$folder/model/model.safetensors" >"$folder/cut" && mv "$folder/cut" "$folder/model/model.safetensors"
refused "model.safetensors" sample --load "$folder/model" --prompt "x"
finish
