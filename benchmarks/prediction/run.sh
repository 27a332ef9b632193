#!/usr/bin/env bash
# Measures the distance between measurement and prediction. It calibrates the machine, then runs
# collectives, products and training steps with their predictions.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/prediction/run.sh [--hosts N] [--rate RATE] [--machine FILE] [--keep DIR] [--steps N]
  --hosts N        N hosts of a lab (scripts/lab.sh), one rank each, training steps only; by default 2 ranks here
  --rate RATE      of every link of the lab, each way                                        (default 500mbit)
  --machine FILE   use this calibration instead of a new one
  --keep DIR       keep the records in this folder
  --steps N        training steps of each run                                                    (default 12)
Prints a table of all configurations, with the median and the largest of |measured / predicted - 1|.
TEXT
}

hosts='' rate=500mbit machine='' folder='' steps=12
parse_options prediction --hosts=hosts --rate=rate --machine=machine --keep=folder --steps=steps -- "$@"

scripts/build.sh release >/dev/null
if [[ -z $folder ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
ranks=${hosts:-2}

shardline() {
  if [[ -n $hosts ]]; then
    scripts/lab.sh mpirun build/release/shardline "$@"
  else
    scripts/mpirun.sh mpirun "$ranks" build/release/shardline "$@"
  fi
}

if [[ -n $hosts ]]; then
  scripts/lab.sh check
  scripts/lab.sh up --hosts "$hosts" --rate "$rate" >&2
  trap 'scripts/lab.sh down >&2' EXIT
fi
if [[ -z $machine ]]; then
  machine=$folder/machine.json
  shardline calibrate --threads 1 -o "$machine" >&2
fi

# config FILE D F LAYERS HEADS KV_HEADS: a model.
config() {
  cat >"$1" <<TEXT
{"model_type": "llama", "vocab_size": 256, "hidden_size": $2, "intermediate_size": $3, "num_hidden_layers": $4,
 "num_attention_heads": $5, "num_key_value_heads": $6, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
 "tie_word_embeddings": true, "hidden_act": "silu"}
TEXT
}
config "$folder/small.json" 256 704 4 4 2
config "$folder/middle.json" 512 1408 4 8 4
config "$folder/large.json" 1024 2816 2 8 8

# train MODEL STRATEGY SEQUENCES TOKENS
train() {
  local model=tiny
  if [[ $1 != tiny ]]; then model=$folder/$1.json; fi
  shardline train --model "$model" --strategy "$2" --batch "$3" --seq "$4" --steps "$steps" --threads 1 \
    --machine "$machine" --json "$folder/train-$1-${2//[=,]/-}-$3x$4.json" >/dev/null
}

# matmul NAME EXPRESSION SIZE
matmul() {
  shardline matmul "$2" --size "I=$3,J=$3,K=$3" --threads 1 --machine "$machine" --json "$folder/matmul-$1-$3.json" >/dev/null
}

if [[ -z $hosts ]]; then
  shardline bench all_gather reduce_scatter all_reduce all_to_all --bytes 64K:64M:32 --threads 1 \
    --machine "$machine" --json "$folder/bench.json" >/dev/null
  for size in 512 1024 2048; do
    matmul case1 "A[I_X, J] * B[J, K] -> C[I_X, K]" "$size"
    matmul case2 "A[I, J_X] * B[J, K] -> C[I, K]" "$size"
    matmul case3 "A[I, J_X] * B[J_X, K] -> C[I, K]" "$size"
    matmul case4 "A[I_X, J] * B[J, K_X] -> C[I_X, K]" "$size"
  done
  train tiny dp=X 8 128
  train tiny tp=X 8 128
  train tiny fsdp=X 8 128
  train small fsdp=X 8 128
  train small tp_seq=X 8 128
  train middle dp=X 8 256
fi
train middle fsdp=X 8 256
train middle zero1=X 8 128
train middle tp=X 4 256
train large fsdp=X 8 128
python3 benchmarks/prediction/table.py "$folder"
