#!/usr/bin/env bash
# `tokenize`, and `train` and `sample` with a tokenizer.
#
#   tokenize_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE TOKENS_CHECK FAILING_CALLS
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
check=$5
failing_calls=$6
cd "$folder"

"$check" make t.json small
"$check" make large.json large
"$check" make other.json other
"$check" make chat.json chat
end=262
for ((i = 0; i < 300; ++i)); do
  printf 'the %d thing in the inn\n\n  and e\xcc\x81 in \xe4\xb8\xad\xe6\x96\x87, \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d <|end|> x' "$i"
done >mixed.txt
for ((i = 0; i < 2000; ++i)); do printf 'the then'; done >one_word.txt
printf 'the \xff\xc3 in\x80\x80\x80\x80\x80 \xe2\x82' >broken.txt
: >empty.txt
texts=(mixed.txt empty.txt one_word.txt broken.txt)

# equals FILE TOKENIZER END TEXT...
equals() {
  "$check" check "$2" "$3" "$1" "${@:4}" >told || complain "$(cat told)"
}

run tokenize --tokenizer t.json --data "${texts[@]}" --out all.bin --end-token '<|end|>' --json r.json
expect_code 0
equals all.bin t.json $end "${texts[@]}"
bytes=$(cat "${texts[@]}" | wc -c)
tokens=$((($(stat -c %s all.bin) - 1024) / 2))
expect_lines out 1 "4 documents, $bytes bytes, $tokens tokens of 2 bytes"
for key in '"schema": "shardline.tokenize/1"' '"documents": 4' "\"bytes\": $bytes" "\"tokens\": $tokens" '"vocabulary": 263' '"token_bytes": 2'; do
  grep -qF "$key" r.json || complain "the record has no $key"
done
run tokenize --tokenizer t.json --data '*e*.txt' --out some.bin # in alphabetical order: broken, empty, mixed, one_word
expect_code 0
equals some.bin t.json -1 broken.txt empty.txt mixed.txt one_word.txt
run tokenize --tokenizer large.json --data mixed.txt --out large.bin
expect_code 0
equals large.bin large.json -1 mixed.txt
printf '{"text": "the e\\u0301"}\n\n{"id": 3, "text": "in\\n"}\n' >lines.jsonl
printf 'the e\xcc\x81' >first.txt
printf 'in\n' >second.txt
run tokenize --tokenizer t.json --data lines.jsonl mixed.txt --out lines.bin --end-token '<|end|>'
expect_code 0
equals lines.bin t.json $end first.txt second.txt mixed.txt

makes=(tokenize --tokenizer t.json --data mixed.txt)
sed 's/"type":"BPE"/"type":"Unigram"/' t.json >unigram.json
if ((ranks == 1)); then
  # What is refused leaves the file as it was.
  cp all.bin kept
  refused "unigram.json: model: Unigram is not implemented" tokenize --tokenizer unigram.json --data mixed.txt --out all.bin
  refused "none.json: no such file" tokenize --tokenizer none.json --data mixed.txt --out all.bin
  refused "none.txt: no such file" tokenize --tokenizer t.json --data none.txt --out all.bin
  refused "t.json has no added token of this name" "${makes[@]}" --out all.bin --end-token '<|none|>'
  refused "--out mixed.txt: the text of --data is read from there" "${makes[@]}" --out mixed.txt
  refused "--out t.json: the tokenizer of --tokenizer is read from there" "${makes[@]}" --out t.json
  refused "--out -: every rank writes at its place" "${makes[@]}" --out -
  refused "--out x.tok: train knows token files by the end of their name, .bin" "${makes[@]}" --out x.tok
  refused "nowhere/all.bin" "${makes[@]}" --out nowhere/all.bin
  refused "the texts are empty" tokenize --tokenizer t.json --data empty.txt empty.txt --out all.bin
  printf '{"text": "x"}\n{"text": 7}\n' >wrong.jsonl
  refused 'wrong.jsonl: the line at byte 14 has no "text" that is a string' tokenize --tokenizer t.json --data wrong.jsonl --out all.bin
  cmp -s all.bin kept || complain "a refused run changed the file"

fi
if ((ranks == 2)); then
  # A full disk, and a rank that cannot write: exit code 1, and no file is left under the name or beside it.
  cat >failing.sh <<SH
#!/usr/bin/env bash
LD_PRELOAD=$failing_calls exec "$program" "\$@"
SH
  chmod +x failing.sh
  shardline=$program
  program=$folder/failing.sh
  for fault in "pwrite:1:torn 0" "pwrite:1:torn $((ranks - 1))" "fsync:1 $((ranks - 1))" "rename:1 0"; do
    export FAILING_CALL=${fault% *} FAILING_RANK=${fault#* }
    run "${makes[@]}" --out gone.bin
    expect_code 1
    expect_lines err 1 "shardline: "
    [[ -z $(compgen -G 'gone.bin*') ]] || complain "$fault: something is left: $(compgen -G 'gone.bin*')"
  done
  unset FAILING_CALL FAILING_RANK

  # A rank that sees no file, or another one.
  mkdir elsewhere
  cat >one_rank_elsewhere.sh <<'SH'
#!/usr/bin/env bash
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}
((rank == 1)) && cd elsewhere
exec "$@"
SH
  chmod +x one_rank_elsewhere.sh
  program=$folder/one_rank_elsewhere.sh
  refused "rank 1: mixed.txt: no such file" "$shardline" "${makes[@]}" --out gone.bin
  printf x >elsewhere/mixed.txt
  refused "--data: rank 1 sees 1 bytes of text, rank 0 sees" "$shardline" "${makes[@]}" --out gone.bin
  program=$shardline
fi

# Training on text with a tokenizer is training on its token file.
cat >config.json <<'JSON'
{"model_type": "llama", "hidden_size": 12, "intermediate_size": 14, "num_hidden_layers": 1, "num_attention_heads": 2,
 "num_key_value_heads": 1, "head_dim": 6, "vocab_size": 270}
JSON
shape=(--batch 6 --seq 9 --dtype f64 --eval-every 2)
# losses NAME: all losses of the log.
losses() {
  sed 's/"step_s.*//; s/"tokens_per_s.*//' log >"$1"
  rm log
}
mixture=(--data mixed.txt one_word.txt --data-weights 3,1 --val-data mixed.txt)
for file in mixed one_word; do
  run tokenize --tokenizer t.json --data $file.txt --out $file.bin
  expect_code 0
done
run train --model config.json --data mixed.bin one_word.bin --data-weights 3,1 --val-data mixed.bin "${shape[@]}" --steps 6 --log log
expect_code 0
losses of_files
run train --model config.json --tokenizer t.json "${mixture[@]}" "${shape[@]}" --steps 6 --log log --save model --save-every 4
expect_code 0
expect_lines out 1 "from $(cat mixed.txt one_word.txt | wc -c) bytes of text in 2 files, by t.json"
expect_lines out 1 "tokens in memory: "
expect_lines out 1 "tokenizer of 263 tokens, hash "
losses of_texts
cmp -s of_files of_texts || complain "text and its token file gave other losses"
for saved in model model/step-4 model/step-6; do
  cmp -s t.json $saved/tokenizer.json || complain "$saved/tokenizer.json is not that of the run"
done

# The checkpoint brings the tokenizer along. Another one is another run.
run train "${mixture[@]}" "${shape[@]}" --steps 6 --log log --resume model/step-4
expect_code 0
expect_lines out 1 "of text in 2 files, by model/step-4/tokenizer.json"
losses resumed
cmp -s <(tail -n 2 of_texts) <(tail -n 2 resumed) || complain "the resumed run has other losses"
refused "the run there has data" train --tokenizer other.json "${mixture[@]}" "${shape[@]}" --steps 8 --resume model/step-4
run train --load model --data mixed.txt "${shape[@]}" --steps 1
expect_code 0
expect_lines out 1 "of text in 1 file, by model/tokenizer.json"
run train --load model --tokenizer other.json --data mixed.txt "${shape[@]}" --steps 1
expect_code 0
expect_lines err 1 "other.json: differs from model/tokenizer.json, the tokenizer of the model"

# The tiny model has the vocabulary of the tokenizer. Token files take a tokenizer along too.
run train --tokenizer t.json --data mixed.bin --batch 2 --seq 16 --steps 1 --save tiny
expect_code 0
grep -q '"vocab_size": 263' tiny/config.json || complain "the model has another vocabulary"
cmp -s t.json tiny/tokenizer.json || complain "the tokenizer is not saved with the model"

if ((ranks == 1)); then
  # Prompts and answers become tokens by the tokenizer too.
  for i in {1..20}; do echo '{"prompt": "the in", "answer": " the then"}'; done >pairs.jsonl
  run train --model config.json --tokenizer t.json --data pairs.jsonl --mask-prompt --batch 2 --seq 16 --steps 1 --save tuned --log log
  expect_code 0
  expect_lines out 1 "lines: 18 to train on, 2 held out, prompts masked; pairs.jsonl, hash "
  expect_lines out 1 "; tokenizer of 263 tokens, hash "
  # Bytes would be 10 labels and the end for each answer.
  (($(grep -o '"labels":[0-9]*' log | cut -d: -f2) < 20)) || complain "the answers are bytes"
  expect_lines out 1 "; no end token; tokenizer of 263 tokens"
  expect_lines err 1 "t.json: no end token, so nothing ends the answers of --data"
  cmp -s t.json tuned/tokenizer.json || complain "the tokenizer is not saved with the tuned model"
  # Training ends answers with the first end token of a tokenizer, and sampling stops at any.
  run train --model config.json --tokenizer chat.json --data pairs.jsonl --batch 2 --seq 16 --steps 1
  expect_code 0
  expect_lines out 1 "; end token 262; tokenizer of 264 tokens"
  expect_lines err 0 "no end token"
  for i in {1..200}; do printf 'in<|eot_id|>'; done >turns.txt
  run train --model config.json --tokenizer chat.json --data turns.txt --batch 4 --seq 8 --lr 0.02 --steps 60 --save chat
  expect_code 0
  run sample --load chat --prompt in --temperature 0 --tokens 20 --json s.json
  expect_code 0
  grep -qF '"finish_reason": "end"' s.json || complain "sampling does not stop at the second end token"
  # A document of three tokens and its end: in eight places two tokens have no label, in text as in its token file.
  for i in {1..200}; do printf 'the in<|end_of_text|>'; done >documents.txt
  run tokenize --tokenizer chat.json --data documents.txt --out documents.bin
  expect_code 0
  for data in documents.txt documents.bin; do
    run train --model config.json --tokenizer chat.json --data $data --pack --batch 4 --seq 8 --steps 3 --log log
    expect_code 0
    expect_lines out 1 "; token 262 ends documents"
    [[ $(grep -c '"labels":24[,}]' log) == 3 ]] || complain "not 24 labels count in each step: $(cat log)"
    rm log
  done
  refused "--pack: t.json has no end token, so no document ends; one is the first of these added tokens: <|endoftext|>" train --model config.json --tokenizer t.json --data mixed.txt --pack
  # A run that ends between the weights and the configuration leaves no tokenizer of another model.
  FAILING_CALL=rename:2 LD_PRELOAD=$failing_calls run train --model config.json --tokenizer t.json --data mixed.txt "${shape[@]}" --steps 1 --save chat
  expect_code 1
  expect_lines err 1 "chat/config.json"
  [[ ! -e chat/tokenizer.json ]] || complain "new weights stand beside the tokenizer of another model"

  sed 's/270/262/' config.json >narrow.json
  refused "t.json: the tokenizer has 263 ids, but the model has a vocabulary of 262" train --model narrow.json --tokenizer t.json --data mixed.txt
  refused "unigram.json: model: Unigram is not implemented" train --tokenizer unigram.json --data mixed.txt
  refused "empty.txt: gives no token" train --tokenizer t.json --data mixed.txt empty.txt
  refused "text and a token file (.bin) cannot be mixed in one run" train --tokenizer t.json --data mixed.txt mixed.bin
  refused "--val-data mixed.bin: must be text, as --data is" train --tokenizer t.json --data mixed.txt --val-data mixed.bin
  refused "lines.jsonl: line 1: unknown key \"text\"; a line has the keys \"prompt\" and \"answer\"" train --tokenizer t.json --data lines.jsonl
  refused "--tokenizer: --model mlp reads no text" train --model mlp --tokenizer t.json
  cp t.json model/own.json
  refused "tokenizer.json: the tokenizer of --tokenizer is read from there" train --tokenizer model/tokenizer.json --data mixed.txt --save model
fi

# Sampling encodes the prompt, and what it prints is text on any mesh.
run sample --load model --prompt 'the in' --tokens 40 --temperature 0 --json s.json
expect_code 0
expect_lines out 1 "the in"
grep -q '"prompt_tokens": 3' s.json || complain "the prompt has another number of tokens"
run sample --load model --tokenizer t.json --prompt 'the in' --tokens 40 --temperature 0 --mesh "Y=$ranks" --strategy tp --json other.json
cmp -s <(grep -m 1 '"text":' s.json) <(grep -m 1 '"text":' other.json) || complain "another mesh sampled another text"
((ranks > 1)) && finish && exit
refused "unigram.json: model: Unigram" sample --load model --tokenizer unigram.json --prompt x
refused "large.json: the tokenizer has 70001 ids, but the model has a vocabulary of 270" sample --load model --tokenizer large.json --prompt x
rm model/tokenizer.json
refused "model: a model of 270 tokens without tokenizer.json; --tokenizer FILE names" sample --load model --prompt x

# A model that reads bytes has no tokenizer, and one of an older model goes.
run train --model config.json --data mixed.txt "${shape[@]}" --steps 1 --save tiny
expect_code 0
[[ ! -e tiny/tokenizer.json ]] || complain "the tokenizer of an older model is still there"
run sample --load tiny --prompt 'the' --tokens 3
expect_code 0
finish
