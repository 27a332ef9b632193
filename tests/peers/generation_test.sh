#!/usr/bin/env bash
# The parts of benchmarks/peers/generation.sh that need neither llama.cpp nor a run:  generation_test.sh PEERS_FOLDER
set -euo pipefail

python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || { echo "no NumPy for $python here; skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONDONTWRITEBYTECODE=1
cd "$folder"

"$python" - "$1" <<'PYTHON'
import json, sys

sys.path.insert(0, sys.argv[1])
import generation_inputs as inputs
from training_inputs import read_safetensors


def parameters(width, inner, layers, heads, key_heads):
    attention = width * 64 * (2 * heads + 2 * key_heads)
    return inputs.VOCABULARY * width + width + layers * (attention + 3 * width * inner + 2 * width)


assert round(parameters(*inputs.MODELS["100m"]) / 1e6) == 100
assert round(parameters(*inputs.MODELS["800m"]) / 1e6) == 804
inputs.VOCABULARY, inputs.MODELS["tiny"] = 300, (10, 12, 2, 3, 1)
assert inputs.write_model("tiny", ".") == parameters(10, 12, 2, 3, 1)
config = json.load(open("config.json"))
assert (config["vocab_size"], config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]) == (300, 10, 12, 2)
assert (config["num_attention_heads"], config["num_key_value_heads"], config["tie_word_embeddings"]) == (3, 1, True)
arrays = read_safetensors("model.safetensors")
assert len(arrays) == 2 + 2 * 9 and sum(array.size for array in arrays.values()) == parameters(10, 12, 2, 3, 1)
assert arrays["model.layers.1.self_attn.k_proj.weight"].shape == (64, 10)
assert arrays["model.layers.0.mlp.down_proj.weight"].shape == (10, 12)
for name, array in arrays.items():
    if array.ndim == 2:  # a row of them keeps the size of what it multiplies
        assert abs((array**2).sum(1).mean() - 1) < 0.3, name

open("text", "w").write("ab\ncd\u00e9fg" * 4)
inputs.write_prompts("text", 3, 5, "prompts")
assert open("prompts").read() == "ab cd\n fgab\n cd f\n"
inputs.write_job("job", "prompts", 2, 7)
job = json.load(open("job"))
assert job == {"threads": 2, "cache": "f16", "tokens": 7, "runs": 1, "flash": "auto",
               "prompts": [[97, 98, 32, 99, 100], [32, 102, 103, 97, 98], [32, 99, 100, 32, 102]]}
json.dump({"outputs": [{"tokens": [1, 2]}, {"tokens": [3]}, {"tokens": []}]}, open("record", "w"))
inputs.write_job("job", "prompts", 2, 7, "record")
job = json.load(open("job"))
assert job["continuations"] == [[1, 2], [3], []] and job["flash"] is False and job["cache"] == "f32"
PYTHON

failures=0
fail() { echo "FAILED: $1"; failures=$((failures + 1)); }
expect_line() { grep -qxE -- "$1" out || { fail "no line like '$1' in:"; cat out; }; }

# record ROUND WAY PREFILL DECODE BUSY: 512 tokens of each prompt in PREFILL seconds, steps of DECODE seconds.
record() {
  local batch=${2#*-}
  mkdir -p "round-$1"
  echo '{"system": "WIDE", "machine": {"blas": "a BLAS"}, "busy_with_others": '"$5"',
    "prefill": {"tokens": '$((512 * ${batch%%-*}))', "time_s": {"median": '"$3"'}},
    "decode": {"tokens": 99, "time_s": {"median": '"$4"'}}}' >"round-$1/$2.json"
}
# scores MODEL-DTYPE OURS THEIRS: the second of two log probabilities.
scores() {
  mkdir -p scores
  echo '{"outputs": [{"logprobs": [{"token": 1, "logprob": -3.5}, {"token": 2, "logprob": '"$2"'}]}]}' >"scores/$1-ours.json"
  echo '{"logprobs": [[-3.5, '"$3"']]}' >"scores/$1-llama.json"
}

printf '%s\n' 100m-1-f32-llama 100m-1-f32-ours 100m-8-bf16-llama 100m-8-bf16-ours >ways
prefill=(2 4 8)
for round in 0 1 2; do
  record $round 100m-1-f32-llama 4 0.1 0.01
  record $round 100m-1-f32-ours "${prefill[$round]}" 0.05 null
  record $round 100m-8-bf16-llama 2 0.25 0.02
  record $round 100m-8-bf16-ours 1 0.5 0.03
done
scores 100m-f32 -2 -2.0009
scores 100m-bf16 -2 -2.5
"$python" "$1/generation_table.py" . --json all.json >out
expect_line 'llama\.cpp: WIDE'
expect_line 'ours: a BLAS'
expect_line 'llama\.cpp 100m f32, batch 1 +128\.0 +10\.0 +1\.00 +1\.00 +1%'
expect_line 'ours 100m f32, batch 1 +128\.0 +20\.0 +1\.00 +2\.00 +n/a'
expect_line 'llama\.cpp 100m bf16, batch 8 +2048\.0 +32\.0 +1\.00 +1\.00 +2%'
expect_line 'ours 100m bf16, batch 8 +4096\.0 +16\.0 +2\.00 +0\.50 +3%'
expect_line '100m-f32: log probabilities differ by at most 9\.0e-04'
expect_line '100m-bf16: log probabilities differ by at most 5\.0e-01'
if grep -q 'timings are not valid' out; then fail "3% of other work is called too much"; fi
grep -q '"schema": "shardline.peers_generation/1"' all.json || fail "the record has no schema"

record 1 100m-8-bf16-llama 2 0.25 0.06
"$python" "$1/generation_table.py" . >out
expect_line "timings are not valid: other work took 6% of the cores' time from a way"

for logprob in -2.0011 NaN; do
  scores 100m-f32 -2 $logprob
  code=0
  "$python" "$1/generation_table.py" . >out 2>&1 || code=$?
  ((code == 1)) || fail "exit code $code for $logprob instead of -2"
  expect_line "100m-f32: a log probability differs from llama\.cpp's by more than 0\.001"
done

# refused OPTIONS...: exit code 2 and one line, before anything is built.
refused() {
  local code=0
  "$1/generation.sh" "${@:2}" >out 2>&1 || code=$?
  ((code == 2)) && (($(wc -l <out) == 1)) || { fail "exit code $code for ${*:2}:"; cat out; }
}
refused "$1" --models 7b
refused "$1" --dtypes f32,f64
refused "$1" --batches 1,0
refused "$1" --tokens 1
refused "$1" --rounds none

((failures == 0)) && echo "models, prompts and the table are right"
