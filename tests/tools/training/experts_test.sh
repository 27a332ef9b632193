#!/usr/bin/env bash
# Training mixtures of experts by the command: losses and counts as on every mesh, room that drops choices, checkpoints,
# what a record says, what is refused.
#
#   experts_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"

# config EXPERTS CHOSEN [KEYS]: a model.
config() {
  cat <<JSON
{"model_type": "mixtral", "hidden_size": 20, "intermediate_size": 14, "num_hidden_layers": 2, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256, "num_local_experts": $1, "num_experts_per_tok": $2,
 "output_router_logits": true, "router_aux_loss_coef": 0.05${3:-}}
JSON
}
config 5 2 >"$folder/config.json"
for ((i = 0; i < 900; ++i)); do echo "line $((i * i % 97));"; done >"$folder/text.txt"
text=(train --model "$folder/config.json" --batch 4 --seq 13 --dtype f64 --data "$folder/text.txt")
room=("${text[@]}" --capacity 0.8)

# counts of the record: how often each expert was chosen and dropped.
counts() { tr -d ' \n' <"$folder/record.json" | grep -oE '"training":\{"routed":[^}]*'; }

# trains NAME ARGS...: five steps; the losses of the last step and of the end, to the digits that all meshes share, and
# what was routed.
trains() {
  local name=$1
  shift
  rm -f "$folder/log" "$folder/record.json"
  run "$@" --steps 5 --eval-every 5 --log "$folder/log" --json "$folder/record.json"
  expect_code 0
  { tail -n 2 "$folder/log" | sed -E 's/"step_s.*//; s/([0-9]\.[0-9]{8})[0-9]*/\1/g'; } >"$folder/$name"
  counts | sed -E 's/([0-9]\.[0-9]{8})[0-9]*/\1/g' >"$folder/$name.counts"
}

# expect_as NAME ARGS...: the same losses and counts as NAME.
expect_as() {
  local name=$1
  shift
  trains other "$@"
  cmp -s "$folder/other" "$folder/$name" || complain "other losses than $name: $(cat "$folder/other" "$folder/$name")"
  cmp -s "$folder/other.counts" "$folder/$name.counts" ||
    complain "other counts than $name: $(cat "$folder/other.counts" "$folder/$name.counts")"
}

trains text "${text[@]}" --strategy fsdp
grep -q '"dropped_share": 0.0' "$folder/record.json" || complain "choices were dropped without a limit"
grep -q '"balance": 0.1' "$folder/record.json" || complain "the record has no balancing loss"
trains room "${room[@]}" --strategy fsdp
expect_lines out 1 "experts: each token passes 2 of 5; 5 places a sequence and expert (capacity 0.8)"
expect_lines out 1 "held-out text: "
grep -q '"dropped_share": 0.0,' "$folder/record.json" && complain "no choice was dropped"
for strategy in ep ep_fsdp tp_ep cp cp_heads; do
  expect_as text "${text[@]}" --strategy $strategy
  expect_as room "${room[@]}" --strategy $strategy --micro-batches 2 --remat block
done
if ((ranks == 4)); then
  expect_as room "${room[@]}" --mesh X=2,Y=2 --strategy ep=X,tp=Y
  expect_as room "${room[@]}" --mesh Z=2,X=2 --strategy pp=Z,ep=X --micro-batches 4
fi

# Any mesh goes on, with the capacity of the run.
trains saved "${room[@]}" --strategy ep --save "$folder/run" --save-every 2
run "${room[@]}" --strategy tp_ep --steps 5 --eval-every 5 --log "$folder/log2" --resume "$folder/run/step-2"
expect_code 0
tail -n 1 "$folder/log2" | sed -E 's/"step_s.*//; s/([0-9]\.[0-9]{8})[0-9]*/\1/g' >"$folder/resumed"
tail -n 1 "$folder/saved" | cmp -s - "$folder/resumed" || complain "the resumed run has other losses"
run train --resume "$folder/run/step-2" --dtype f64 --data "$folder/text.txt" --strategy ep --steps 3
expect_code 0
expect_lines out 1 "(capacity 0.8)"
refused "capacity \"0.8\", this one has \"1.5\"" train --resume "$folder/run/step-2" --dtype f64 --data "$folder/text.txt" \
  --strategy ep --steps 3 --capacity 1.5

# More room than a sequence has tokens is room for all.
expect_as text "${text[@]}" --strategy ep --capacity 1e300
config 3 3 >"$folder/all.json"
run train --model "$folder/all.json" --data "$folder/text.txt" --batch 4 --seq 13 --steps 1 --strategy ep --json "$folder/record.json"
expect_code 0
grep -q '"closest": null' "$folder/record.json" || complain "there is a closest decision where all experts are chosen"

refused "role ep splits experts, and the model has none" train --data "$folder/text.txt" --strategy ep
refused "--capacity 2: the model has no experts" train --data "$folder/text.txt" --capacity 2
refused "--capacity" "${text[@]}" --capacity 0
echo '{"prompt": "q", "answer": "a"}' >"$folder/lines.jsonl"
refused "documents of a sequence would take places from each other" train --model "$folder/config.json" --capacity 1 \
  --data "$folder/lines.jsonl" --pack
refused "--capacity: --model mlp has no experts" train --model mlp --capacity 2
config 2 3 >"$folder/few.json"
refused "num_experts_per_tok" train --model "$folder/few.json" --data "$folder/text.txt"
config 5 2 ', "router_jitter_noise": 0.1' >"$folder/jitter.json"
refused "router_jitter_noise" train --model "$folder/jitter.json" --data "$folder/text.txt"
finish
