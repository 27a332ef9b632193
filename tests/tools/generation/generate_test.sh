#!/usr/bin/env bash
# Texts by the command: the same on every mesh and in chunks of any size, alone and beside others; what ends a text, what
# the record says, what is refused.
#
#   generate_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256, "initializer_range": 0.3}
JSON
for ((i = 0; i < 900; ++i)); do echo "line $((i * i % 97));"; done >"$folder/text.txt"
run train --model "$folder/config.json" --data "$folder/text.txt" --batch 4 --seq 13 --steps 12 --lr 0.01 --save "$folder/model"
expect_code 0
printf 'line 1\nthe second text is longer\r\n7' >"$folder/prompts.txt"

record=$folder/record.json
load=(generate --load "$folder/model" --dtype f64)
three=("${load[@]}" --prompts "$folder/prompts.txt" --tokens 20 --json "$record")

# texts NAME: the texts of the record, with their tokens.
texts() { sed -n '/"outputs": \[/,/^  \],*$/p' "$record" >"$folder/$1"; }
# expect_texts ARGS...: the texts of the first run.
expect_texts() {
  rm -f "$record"
  run "$@"
  expect_code 0
  texts other
  cmp -s "$folder/texts" "$folder/other" || complain "other texts: $(diff "$folder/texts" "$folder/other" | head -n 8)"
}

run "${three[@]}" --seed 3
expect_code 0
texts texts
expect_lines out 1 "[2] the second text is longer"
expect_lines out 1 "first token after "
for key in prompt_tokens text tokens finish_reason; do
  (($(grep -c "\"$key\": " "$folder/texts") == 3)) || complain "no \"$key\" for each text"
done
for key in prefill decode time_to_first_token_s program strategy prefill_strategy context cache_bytes; do
  grep -q "^  \"$key\": " "$record" || complain "the record has no $key"
done
for key in time_s tokens_per_s predicted_s bound_s limiter operations; do
  (($(grep -c "^    \"$key\": " "$record") == 2)) || complain "not both phases have $key"
done

if ((ranks > 1)); then
  for strategy in dp fsdp tp tp_rep rep_b rep_s ws; do
    expect_texts "${three[@]}" --seed 3 --mesh "X=$ranks" --strategy "$strategy=X"
  done
  expect_texts "${three[@]}" --seed 3 --mesh "X=$ranks" --strategy rep_s=X --prefill-strategy cp_s=X --chunk 4
  if grep -q 'panel by panel' "$record"; then complain "fused in the memory of a node"; fi
  expect_texts "${three[@]}" --seed 3 --mesh "X=$ranks" --strategy tp=X --fuse on
  grep -q 'ReduceScatter_X.*panel by panel' "$record" || complain "--fuse on fuses nothing"
  expect_texts "${three[@]}" --seed 3 --mesh "X=$ranks" --strategy tp=X --overlap off
  expect_texts "${three[@]}" --seed 3 --mesh "X=$ranks" --strategy rep_s=X --prefill-strategy dp=X --prefill-state own
  expect_lines out 1 "reshard "
  expect_lines out 1 "moving "
  grep -q '^  "reshard": ' "$record" || complain "the record has no reshard"
  grep -q '"Kc\[B, S_X, K, H\] = AllToAll_X(Kc\[B_X, S, K, H\])"' "$record" || complain "the reshard is not in the program"
fi
expect_texts "${three[@]}" --seed 3 --chunk 1
expect_texts "${three[@]}" --seed 3 --context 100
expect_texts "${three[@]}" --seed 3 --cache-dtype f64
run "${three[@]}" --seed 4
texts other
cmp -s "$folder/texts" "$folder/other" && complain "another seed gave the same texts"

# A text does not depend on those beside it: the first one alone.
first_tokens() { tr -d ' \n' <"$record" | grep -oE '"tokens":\[[0-9,]*\]' | head -n 1; }
run "${three[@]}" --temperature 0 --strategy "rep_s=X" --mesh "X=$ranks"
greedy=$(first_tokens)
run "${load[@]}" --prompt "line 1" --tokens 20 --temperature 0 --json "$record"
[[ $(first_tokens) == "$greedy" ]] || complain "the first text alone is another one"
[[ $(head -c 6 "$folder/out") == "line 1" ]] || complain "the text does not begin with its prompt"

# Few tokens; what ends a text; the likeliest tokens.
run "${load[@]}" --prompt x --tokens 0 --json "$record"
expect_code 0
grep -q '"tokens": \[\]' "$record" || complain "tokens were added"
run "${load[@]}" --prompt "line 1" --tokens 0 --context 6 --json "$record"
expect_code 0
grep -q '"context": 6' "$record" || complain "the prompt does not fill the context"
run "${load[@]}" --prompt x --tokens 1 --json "$record"
expect_code 0
grep -q '"finish_reason": "length"' "$record" || complain "not ended by its length"
run "${load[@]}" --prompt x --tokens 9 --top-k 1 --temperature 3 --json "$record"
once=$(first_tokens)
run "${load[@]}" --prompt x --tokens 9 --temperature 0 --logprobs 2 --json "$record"
[[ $(first_tokens) == "$once" ]] || complain "the only candidate is not the likeliest token"
(($(grep -c '"logprob": -' "$record") == 9)) || complain "not each token has its log probability"
for stop in 0 1 2 3 4 5 6 7 8 9 ';' i; do stops+=(--stop "$stop"); done
run "${load[@]}" --prompt x --tokens 60 "${stops[@]}" --json "$record"
expect_code 0
grep -q '"finish_reason": "stop"' "$record" || complain "not ended by a string"
head -n 1 "$folder/out" | grep -aq '[0-9;i]' && complain "the text has the string that stopped it"
echo '{"eos_token_id": [108, 105, 110, 101]}' >"$folder/model/generation_config.json"
run "${load[@]}" --prompt x --tokens 60 --temperature 2 --seed 5 --json "$record"
expect_code 0
grep -q '"finish_reason": "end"' "$record" || complain "not ended by a token"
run "${load[@]}" --prompt x --tokens 60 --temperature 2 --seed 5 --ignore-eos --json "$record"
grep -q '"finish_reason": "length"' "$record" || complain "ended although end tokens are ignored"
rm "$folder/model/generation_config.json"

# f32 and bf16 run too.
for dtype in f32 bf16; do
  run generate --load "$folder/model" --prompts "$folder/prompts.txt" --tokens 5 --dtype $dtype --trace "$folder/trace.json"
  expect_code 0
  [[ -s $folder/trace.json ]] || complain "no trace"
done

# Caches of half the bytes.
cache_bytes() { grep -oE '^  "cache_bytes": [0-9.]+' "$record" | grep -oE '[0-9.]+$'; }
stored=(generate --load "$folder/model" --prompts "$folder/prompts.txt" --tokens 5 --context 40 --chunk 4 --json "$record")
run "${stored[@]}"
expect_code 0
whole=$(cache_bytes)
run "${stored[@]}" --cache-dtype bf16
expect_code 0
awk -v a="$whole" -v b="$(cache_bytes)" 'BEGIN { exit !(b > 0 && a == 2 * b) }' || complain "caches of $(cache_bytes) bytes, not half of $whole"
grep -q '"cache_dtype": "bf16"' "$record" || complain "the record does not say the type of caches"
grep -qF "kr2.bf16[" "$record" || complain "no cast in the programs"
refused "--cache-dtype f64: keys and values are computed in f32 (--dtype), and a wider cache would hold the same numbers" "${stored[@]}" --cache-dtype f64
refused "--cache-dtype int8: f32, bf16 or f64" "${stored[@]}" --cache-dtype int8

# Links to nothing are not files that are missing.
for name in generation_config.json tokenizer.json; do
  ln -s nowhere "$folder/model/$name"
  refused "$name: " "${load[@]}" --prompt x
  rm "$folder/model/$name"
done

# --report measures decode of other batches, which adds no text, beside two states too. One that does not fit memory is left out.
batches() { tr -d ' \n' <"$record" | grep -oE '"batch":[0-9]+,"(time_s|reason)"' | grep -oE '[0-9]+,"[tr]' | tr -d ',"' | sort -n | tr '\n' ' '; }
expect_texts "${three[@]}" --seed 3 --prefill-state own --report "$folder/page.html"
[[ $(batches) =~ ^'1t 2t 3t 4'[tr]' 8'[tr]' 16'[tr]' 32'[tr]' '$ ]] || complain "other batches are measured: $(batches)"
grep '"reason"' "$record" | grep -vq '"reason": "no time was left"' && complain "batches are left out: $(grep '"reason"' "$record")"
grep -q 'More sequences' "$folder/page.html" || complain "the page has no batches"
if ((ranks == 1)); then
  ran="ulimit -v 3000000; a large context"
  code=0
  (ulimit -v 3000000 && timeout 120 "$mpirun_sh" "$launcher" "$ranks" "$program" generate --load "$folder/model" --prompt x \
    --tokens 3 --context 6000000 --report "$folder/page.html" --json "$record") >"$folder/out" 2>"$folder/err" || code=$?
  expect_code 0
  [[ $(batches) == "1t 2r 4r 8r 16r 32r " ]] || complain "batches that do not fit are measured: $(batches)"
  grep -q 'Not measured: 2 sequences: they do not fit memory' "$folder/page.html" || complain "the page does not say what is left out"
fi

refused "--prefill-state mine: legal are shared (with decode) and own" "${load[@]}" --prompt x --prefill-state mine
refused "give --prompt TEXT, or --prompts FILE" "${load[@]}"
refused "--prompt is empty" "${load[@]}" --prompt ""
: >"$folder/none.txt"
refused "none.txt" "${load[@]}" --prompts "$folder/none.txt"
printf 'a\n\nb\n' >"$folder/gap.txt"
refused "line 2" "${load[@]}" --prompts "$folder/gap.txt"
refused "--context 6: the longest prompt has 6 tokens, and a text needs room for one more; 7 works" "${load[@]}" --prompt "line 1" --context 6
refused "--top-p 0: a positive number, at most 1" "${load[@]}" --prompt x --top-p 0
refused "--context 5: the longest prompt has 6 tokens; 6 works" "${load[@]}" --prompt "line 1" --context 5 --tokens 0
refused "--min-p 1: a number of at least 0, below 1" "${load[@]}" --prompt x --min-p 1
refused "--temperature -1: a number of at least 0" "${load[@]}" --prompt x --temperature -1
refused "--repetition-penalty 0: a positive number" "${load[@]}" --prompt x --repetition-penalty 0
refused "--prefill-strategy auto: only beside --strategy auto" "${load[@]}" --prompt x --strategy tp_rep=X --mesh "X=$ranks" --prefill-strategy auto
refused "--context 3000000000: a whole number from 1 to 2147483647" "${load[@]}" --prompt x --context 3000000000
refused "--fuse maybe: auto, on or off" "${load[@]}" --prompt x --fuse maybe
refused "--stop: it is empty" "${load[@]}" --prompt x --stop ""
refused "unknown role \"tp_x\"" "${load[@]}" --prompt x --strategy tp_x=X
refused "role \"tp_rep\" is not for training" train --model "$folder/config.json" --data "$folder/text.txt" --strategy tp_rep
for ((i = 0; i < 64; ++i)); do echo "text $i"; done >"$folder/many.txt"
refused " sequences would fit" "${load[@]}" --prompts "$folder/many.txt" --context 4000000
finish
