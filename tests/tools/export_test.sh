#!/usr/bin/env bash
# `export`: its file, its record, and what it refuses. What is in the file: tests/models/gguf.
#
#   export_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE TOKENS_CHECK FAILING_CALLS
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
check=$5
failing_calls=$6
cd "$folder"

cat >config.json <<'JSON'
{"model_type": "llama", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4,
 "num_key_value_heads": 2, "head_dim": 6, "vocab_size": 256, "max_position_embeddings": 4096}
JSON
for i in {1..200}; do echo "line $((i * i % 97));"; done >text
run train --model config.json --data text --batch 2 --seq 8 --steps 1 --save model
expect_code 0

# has FILE KEY TYPE VALUE: the file has the key with this type and value, 4 bytes each.
has() {
  grep -qaP "$2$3$4" "$1" || complain "$1 has no $2 of this value"
}

run export --load model --gguf f32.gguf --json r.json
expect_code 0
expect_lines out 1 "f32.gguf: 12 tensors in f32, architecture llama, "
bytes=$(stat -c %s f32.gguf)
for key in '"schema": "shardline.export/1"' '"gguf": "f32.gguf"' '"architecture": "llama"' '"dtype": "f32"' '"tensors": 12' "\"bytes\": $bytes"; do
  grep -qF "$key" r.json || complain "the record has no $key"
done
[[ $(head -c 4 f32.gguf) == GGUF ]] || complain "the file is no GGUF"
has f32.gguf llama.context_length '\x04\x00\x00\x00' '\x08\x00\x00\x00'  # a sequence of training
echo old >again.gguf
run export --load model --gguf again.gguf --context 258
expect_code 0
has again.gguf llama.context_length '\x04\x00\x00\x00' '\x02\x01\x00\x00'
[[ $(stat -c %s again.gguf) == "$bytes" ]] || complain "the file has another size"
run export --load model --gguf bf16.gguf --dtype bf16 --json -
expect_code 0
grep -qF '"dtype": "bf16"' out || complain "the record is not on standard output"

ranks=1 # from here on, as it starts sooner
# Without a note on training, the configuration says how long sequences are.
cp -r model untold
sed -i 's/shardline_sequence/another_remark____/' untold/model.safetensors
refused "untold: neither the weights nor config.json (max_position_embeddings) say how long sequences may be; --context N says it" export --load untold --gguf gone.gguf
sed -i 's/{/{"max_position_embeddings": 515,/' untold/config.json
run export --load untold --gguf told.gguf
expect_code 0
has told.gguf llama.context_length '\x04\x00\x00\x00' '\x03\x02\x00\x00'

cp bf16.gguf kept
refused "--gguf model/m.gguf: lies in model, the folder of --load, where nothing is written" export --load model --gguf model/m.gguf
refused "--gguf model/config.json: lies in model" export --load model --gguf model/config.json
refused "--gguf -: the file appears whole under its name" export --load model --gguf -
refused "--gguf bf16.gguf: the record of --json goes there" export --load model --gguf bf16.gguf --json bf16.gguf
refused "--dtype q4: f32, f16, bf16 and q8_0 are known" export --load model --gguf bf16.gguf --dtype q4
refused "--dtype q8_0: a row of model.layers.0.self_attn.o_proj.weight has 24 elements; q8_0 stores them in blocks of 32" export --load model --gguf bf16.gguf --dtype q8_0
refused "none/config.json: no such file" export --load none --gguf bf16.gguf
"$check" make large.json large
refused "large.json: the tokenizer has 70001 ids, but the model has a vocabulary of 256 (vocab_size)" export --load model --gguf bf16.gguf --tokenizer large.json
refused "--gguf large.json: the tokenizer of --tokenizer is read from there" export --load model --gguf large.json --tokenizer large.json
cmp -s bf16.gguf kept || complain "a refused run changed the file"

# A tokenizer comes from the folder, or by --tokenizer. What llama.cpp does with it in another way is said.
"$check" make t.json small
sed 's/256/270/' config.json >wide.json
run train --model wide.json --data text --batch 2 --seq 8 --steps 1 --tokenizer t.json --save words
expect_code 0
run export --load words --gguf words.gguf
expect_code 0
grep -qa '<|end|>' words.gguf || complain "the file has no added token"
grep -qa '\[PAD269\]' words.gguf || complain "the file has no token for the last row"
rm words/tokenizer.json
refused "words: a model of 270 tokens without tokenizer.json; --tokenizer FILE names" export --load words --gguf bf16.gguf
run export --load words --gguf same.gguf --tokenizer t.json
expect_code 0
cmp -s words.gguf same.gguf || complain "--tokenizer gives another file than the same in the folder"

# A full disk: exit code 1, and no file is left under the name or beside it.
cat >failing.sh <<SH
#!/usr/bin/env bash
LD_PRELOAD=$failing_calls exec "$program" "\$@"
SH
chmod +x failing.sh
program=$folder/failing.sh
for fault in "fsync:1" "rename:1"; do
  FAILING_CALL=$fault FAILING_RANK=0 run export --load model --gguf gone.gguf
  expect_code 1
  expect_lines err 1 "shardline: "
  [[ -z $(compgen -G 'gone.gguf*') ]] || complain "$fault: something is left: $(compgen -G 'gone.gguf*')"
done
finish
