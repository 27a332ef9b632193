#!/usr/bin/env bash
# Training on lines of prompt and answer by the command: what counts, resuming, and what is refused.
#
#   prompts_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 20, "intermediate_size": 22, "num_hidden_layers": 1, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256}
JSON
# lines NAME COUNT: prompts of 6 bytes, answers of 1 to 4.
lines() {
  local i
  for ((i = 0; i < $2; ++i)); do
    printf '{"prompt": "q%03d: ", "answer": "%s"}\n' "$i" "$(printf 'x%.0s' $(seq $((1 + i % 4))))"
  done >"$folder/$1"
}
lines a.jsonl 60
lines b.jsonl 30
printf '{"prompt": "", "completion": "abc"}\r\n\r\n' >>"$folder/b.jsonl"
echo '{"prompt": "far too long for this sequence", "answer": "x"}' >>"$folder/b.jsonl"
echo "some text" >"$folder/text.txt"
printf 'a\0b\0' >"$folder/tokens.bin"
shape=(train --model "$folder/config.json" --batch 6 --seq 12 --dtype f64)

# losses NAME: the held-out loss and the loss of the last step, from the log.
losses() { tail -n 2 "$folder/log" | sed 's/"step_s.*//' >"$folder/$1"; }

trains() {
  rm -f "$folder/log"
  run "${shape[@]}" --steps 6 --eval-every 6 --log "$folder/log" "$@"
  expect_code 0
}

# expect_labels MIN MAX: the labels that count in each of the 6 steps.
expect_labels() {
  local each
  for each in $(grep -o '"labels":[0-9]*' "$folder/log" | cut -d: -f2); do
    ((each >= $1 && each <= $2)) || complain "$each labels count in a step"
  done
  [[ $(grep -c '"labels":' "$folder/log") == 6 ]] || complain "not every step says how many labels count"
}

# An answer and its end have 2 to 5 tokens; the prompt has five labels more.
trains --data "$folder/a.jsonl" --mask-prompt --json "$folder/record.json"
expect_lines out 1 "lines: 54 to train on, 6 held out, prompts masked; a.jsonl, hash "
expect_lines out 1 "uniform tokens 5.5452"
expect_labels 12 30
grep -q '"labels": ' "$folder/record.json" || complain "the record does not say how many labels count"
losses masked
trains --data "$folder/a.jsonl"
expect_lines out 1 "lines: 54 to train on, 6 held out, prompts count too; a.jsonl, hash "
expect_labels 42 60
losses unmasked
cmp -s "$folder/masked" "$folder/unmasked" && complain "the mask changes no loss"

# The loss depends on no mesh and no micro-batch, to the digits shown.
digits() { sed -E 's/([0-9]\.[0-9]{8})[0-9]*/\1/g' "$folder/$1"; }
ways=("--micro-batches 3" "--micro-batches 2 --strategy dp")
((ranks == 1)) || ways+=("--strategy tp --mesh Y=$ranks" "--strategy pp --micro-batches 3")
for way in "${ways[@]}"; do
  # shellcheck disable=SC2086
  trains --data "$folder/a.jsonl" --mask-prompt $way
  losses other
  [[ $(digits other) == "$(digits masked)" ]] || complain "other losses than on the usual mesh: $(digits other) and $(digits masked)"
done

# Mixtures, checkpoints, files to hold out.
mixed=(--data "$folder/a.jsonl" "$folder/b.jsonl" --data-weights 0.7,0.3 --mask-prompt)
trains "${mixed[@]}" --save "$folder/run" --save-every 2
expect_lines out 1 "weights 7:3"
expect_lines err 1 "lines of --data longer than --seq 12 and one more token, which are cut at the end: 1"
expect_lines err 1 "lines of --data that are left out, since no token of them counts, as their prompts fill the sequence: 1"
losses mixed
run "${shape[@]}" --steps 6 --eval-every 6 --log "$folder/log" "${mixed[@]}" --resume "$folder/run/step-4" --mesh "Y=$ranks" --strategy tp
expect_code 0
losses resumed
[[ $(digits mixed) == "$(digits resumed)" ]] || complain "the resumed run has other losses"
trains --data "$folder/a.jsonl" --val-data "$folder/b.jsonl" --mask-prompt
expect_lines out 1 "lines: 60 to train on, 31 held out, prompts masked; a.jsonl, b.jsonl, hash "

# Four lines of 8 to 11 tokens share a sequence of 41; the last two lines to train on have one for themselves. Four
# answers with their ends have 14 tokens, those of the last two lines 5.
usual=("${shape[@]}")
shape=(train --model "$folder/config.json" --batch 6 --seq 40 --dtype f64)
packed=(--data "$folder/a.jsonl" --mask-prompt)
trains "${packed[@]}" --pack --save "$folder/packed_run" --save-every 2
expect_lines out 1 "lines: 54 to train on, 6 held out, packed into 14 and 2 sequences, prompts masked; a.jsonl, hash "
expect_labels 66 84
losses packed
run "${shape[@]}" --steps 6 --eval-every 6 --log "$folder/log" "${packed[@]}" --pack --resume "$folder/packed_run/step-4" --mesh "Y=$ranks" --strategy tp
expect_code 0
losses resumed
[[ $(digits packed) == "$(digits resumed)" ]] || complain "the resumed run of packed lines has other losses"
refused "the run there has data" "${shape[@]}" --steps 6 "${packed[@]}" --resume "$folder/packed_run/step-4"
shape=("${usual[@]}")

small=("${shape[@]}" --steps 6)
refused "the run there has data" "${small[@]}" --data "$folder/a.jsonl" --mask-prompt --resume "$folder/run/step-4"
refused "--mask-prompt: only files of prompts and answers (.jsonl) in --data have prompts; $folder/text.txt is text" "${small[@]}" --data "$folder/text.txt" --mask-prompt
refused "--mask-prompt: only files of prompts and answers (.jsonl) in --data have prompts" "${small[@]}" --mask-prompt
refused "makes its own rows, which have no prompts" train --model mlp --mask-prompt
refused "--pack: --model mlp makes its own rows, which have no documents" train --model mlp --pack
refused "--pack: text that is read as bytes has no documents; --tokenizer must name" "${small[@]}" --pack
refused "--pack: $folder/tokens.bin is a token file (.bin), which does not say where documents end; --tokenizer must name" "${small[@]}" --data "$folder/tokens.bin" --pack
refused "--token-order: --model mlp has no sequences" train --model mlp --token-order striped
refused "unknown order of tokens \"ring\"; legal: contiguous, zigzag, striped" "${small[@]}" --token-order ring
refused "a file of prompts and answers (.jsonl) and text cannot be mixed" "${small[@]}" --data "$folder/a.jsonl" "$folder/text.txt"
refused "must be a file of prompts and answers (.jsonl), as --data is" "${small[@]}" --data "$folder/a.jsonl" --val-data "$folder/tokens.bin"
refused "--json $folder/a.jsonl" "${small[@]}" --data "$folder/a.jsonl" --json "$folder/a.jsonl"
echo '{"prompt": "a"}' >>"$folder/b.jsonl"
refused "b.jsonl: line 34: no key \"answer\"; a line has the keys \"prompt\" and \"answer\"" "${small[@]}" --data "$folder/b.jsonl"
finish
