#!/usr/bin/env bash
# Training on token files by the command: patterns, weights, resuming, and what is refused.
#
#   tokens_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 20, "intermediate_size": 22, "num_hidden_layers": 1, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 100}
JSON
# tokens NAME COUNT: a file of so many tokens below 97, of two bytes each.
tokens() {
  local i
  for ((i = 0; i < $2; ++i)); do printf "\\x$(printf %02x $((i * i % 97)))\\x00"; done >"$folder/$1"
}
tokens a1.bin 900
tokens a2.bin 700
tokens b.bin 800
tokens odd.bin 300
printf x >>"$folder/odd.bin"
tokens beyond.bin 900
printf '\x64\x00' | dd of="$folder/beyond.bin" bs=2 seek=450 conv=notrunc status=none # token 100
tokens first.bin 900
printf '\x64\x00' | dd of="$folder/first.bin" conv=notrunc status=none
echo "some text" >"$folder/text.txt"
shape=(train --model "$folder/config.json" --batch 6 --seq 7 --dtype f64)

# losses NAME: the held-out loss and the loss of the last step, from the log.
losses() { tail -n 2 "$folder/log" | sed 's/"step_s.*//' >"$folder/$1"; }

trains() {
  rm -f "$folder/log"
  run "${shape[@]}" --steps 6 --eval-every 6 --log "$folder/log" "$@"
  expect_code 0
}

# 128 and 99 windows, of which 12 and 9 are held out.
trains --data "$folder/a*.bin"
expect_lines out 1 "tokens: 1442 to train on, 147 held out; a1.bin, a2.bin, hash "
expect_lines out 1 "uniform tokens 4.6052"
losses pattern
trains --data "$folder/a1.bin" "$folder/a2.bin"
losses list
cmp -s "$folder/pattern" "$folder/list" || complain "a pattern and the list of its files gave other losses"
trains --data "$folder/a*.bin" "$folder/b.bin" --data-weights 0.7,0.3 --save "$folder/run" --save-every 2
expect_lines out 1 "weights 7:3"
losses mixed
run "${shape[@]}" --steps 6 --eval-every 6 --log "$folder/log" --data "$folder/a*.bin" "$folder/b.bin" --data-weights 70,30 --resume "$folder/run/step-4"
expect_code 0
losses resumed
cmp -s "$folder/mixed" "$folder/resumed" || complain "the resumed run has other losses"
trains --data "$folder/a1.bin" --val-data "$folder/b.bin"
expect_lines out 1 "tokens: 896 to train on, 798 held out; a1.bin, b.bin, hash "

small=("${shape[@]}" --steps 6)
refused "the run there has data" "${small[@]}" --data "$folder/b.bin" "$folder/a*.bin" --data-weights 0.7,0.3 --resume "$folder/run/step-4"
refused "odd.bin: has 601 bytes, an odd number" "${small[@]}" --data "$folder/odd.bin"
refused "first.bin: the token at position 0 is 100, but the model has a vocabulary of 100" "${small[@]}" --data "$folder/first.bin"
refused "none.bin: no such file" "${small[@]}" --data "$folder/none.bin"
refused "none*.bin: no file matches" "${small[@]}" --data "$folder/none*.bin"
refused "a token file (.bin) and text cannot be mixed in one run" "${small[@]}" --data "$folder/a1.bin" "$folder/text.txt"
refused "1 weights for 2 items" "${small[@]}" --data "$folder/a1.bin" "$folder/b.bin" --data-weights 1
refused "--data-weights 1: only for token files (.bin), files of prompts and answers (.jsonl) or text that --tokenizer encodes in --data" "${small[@]}" --data "$folder/text.txt" --data-weights 1
refused "only beside token files (.bin), files of prompts and answers (.jsonl) or text that --tokenizer encodes in --data" "${small[@]}" --data "$folder/text.txt" --val-data "$folder/b.bin"
refused "must be a token file (.bin), as --data is" "${small[@]}" --data "$folder/a1.bin" --val-data "$folder/text.txt"
refused "--json $folder/a1.bin" "${small[@]}" --data "$folder/a*.bin" --json "$folder/a1.bin"
refused "vocab_size 100: text is read as bytes, so at least 256" "${small[@]}" --data "$folder/text.txt"
refused "makes its own rows" train --model mlp --data-weights 1
refused "that takes 5001 tokens in one file" train --model "$folder/config.json" --data "$folder/a1.bin" --seq 500

# Some rank reads the wrong token in the middle of the run.
run "${shape[@]}" --steps 100 --data "$folder/beyond.bin"
((code != 0)) || complain "expected a failure"
grep -q "beyond.bin: the token at position 450 is 100, but the model has a vocabulary of 100" "$folder/err" || complain "the token is not named"

# A rank that sees no file, or another one.
if ((ranks > 1)); then
  mkdir "$folder/elsewhere"
  cat >"$folder/one_rank_elsewhere.sh" <<'SH'
#!/usr/bin/env bash
cd "$(dirname "$0")"
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}
((rank == 1)) && cd elsewhere
exec "$@"
SH
  chmod +x "$folder/one_rank_elsewhere.sh"
  shardline=$program
  program=$folder/one_rank_elsewhere.sh
  refused "rank 1: a1.bin: no such file" "$shardline" "${small[@]}" --data a1.bin
  cp "$folder/a2.bin" "$folder/elsewhere/a1.bin"
  refused "--data: rank 1 sees other files than rank 0" "$shardline" "${small[@]}" --data a1.bin
fi
finish
