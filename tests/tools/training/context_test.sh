#!/usr/bin/env bash
# Training with sequences that ranks share, by the command: losses as without, rings, orders of tokens, packed
# documents, checkpoints.
#
#   context_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 20, "intermediate_size": 22, "num_hidden_layers": 2, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256}
JSON
for ((i = 0; i < 60; ++i)); do
  printf '{"prompt": "q%03d: ", "answer": "%s"}\n' "$i" "$(printf 'x%.0s' $(seq $((1 + i % 4))))"
done >"$folder/lines.jsonl"
for ((i = 0; i < 900; ++i)); do echo "line $((i * i % 97));"; done >"$folder/text.txt"
text=(train --model "$folder/config.json" --batch 4 --seq 13 --dtype f64 --data "$folder/text.txt")
packed=(train --model "$folder/config.json" --batch 4 --seq 40 --dtype f64 --data "$folder/lines.jsonl" --mask-prompt --pack)

# trains NAME ARGS...: six steps; the held-out loss and that of the last step, to the digits that all meshes share.
trains() {
  local name=$1
  shift
  rm -f "$folder/log"
  run "$@" --steps 6 --eval-every 6 --log "$folder/log"
  expect_code 0
  tail -n 2 "$folder/log" | sed -E 's/"step_s.*//; s/([0-9]\.[0-9]{8})[0-9]*/\1/g' >"$folder/$name"
}

# expect_as NAME ARGS...: the same losses as NAME.
expect_as() {
  local name=$1
  shift
  trains other "$@"
  cmp -s "$folder/other" "$folder/$name" || complain "other losses than $name: $(cat "$folder/other" "$folder/$name")"
}

whole=(--strategy tp --mesh "Y=$ranks")
trains text "${text[@]}" "${whole[@]}"
trains packed "${packed[@]}" "${whole[@]}"
for order in contiguous zigzag striped; do
  expect_as text "${text[@]}" --strategy cp --token-order $order --fuse on --json "$folder/record.json"
  grep -q "\"token_order\": \"$order\"" "$folder/record.json" || complain "the record does not say $order"
done
(($(grep -c '# ring over X"' "$folder/record.json") == 4)) || complain "the program does not name four rings"
expect_as text "${text[@]}" --strategy cp_fsdp
expect_as text "${text[@]}" --strategy cp_heads --micro-batches 2
expect_as text "${text[@]}" --strategy cp_fsdp --fuse on --remat block --regather-activations
expect_as packed "${packed[@]}" --strategy cp --fuse on
expect_as packed "${packed[@]}" --strategy cp_fsdp --fuse off --token-order striped
if ((ranks == 4)); then
  expect_as text "${text[@]}" --mesh Z=2,X=2 --strategy pp=Z,cp=X --micro-batches 4 --fuse on
  expect_as packed "${packed[@]}" --mesh X=2,Y=2 --strategy cp=X,tp=Y --fuse on
fi

# So many steps that a span too many in each of them makes one step more than there are. The model is saved after the
# times are looked at. Any mesh goes on.
trains saved "${text[@]}" --strategy cp --fuse on --save "$folder/run" --save-every 3
run "${text[@]}" --strategy cp --fuse on --steps 150 --save "$folder/long"
expect_code 0
[[ -e $folder/long/model.safetensors ]] || complain "no model was saved"
expect_as saved "${text[@]}" "${whole[@]}" --resume "$folder/run/step-3"

run "${text[@]}" "${whole[@]}" --steps 1 --token-order striped
expect_code 0
expect_lines err 1 "--token-order striped changes nothing: no ranks share sequences under strategy tp=Y"
finish
