#!/usr/bin/env bash
# Measures the distance between measured and predicted times of generation: prefill, and the median step of decode.
# Texts are continued by three models of random weights, in batches, by strategies. Each run measures the machine at its
# start, as runs do by themselves: decode takes the time of reading memory, whose speed changes within seconds on some
# machines.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/prediction/generation.sh [--machine FILE] [--keep DIR] [--rounds N] [--models LIST] [--batches LIST] [--strategies LIST] [--dtype D]
  --machine FILE     predict by this calibration (2 ranks, --threads 1) instead
  --keep DIR         keep the records in this folder
  --rounds N         runs of each, of which the medians count                                     (default 3)
  --models LIST      of 30m, 100m and 800m                                            (default 30m,100m,800m)
  --batches LIST     how many texts are continued together                                  (default 1,8,32)
  --strategies LIST  roles of the only axis                                            (default tp_rep,tp,ws)
  --dtype D          element type of weights and caches                                        (default f32)
  --prompt N         tokens of a prompt                                                         (default 64)
  --tokens N         tokens that are added to each                                              (default 24)
Prints a table of all, with the median and the largest of |measured / predicted - 1|.
TEXT
}

machine='' folder='' rounds=3 models=30m,100m,800m batches=1,8,32 strategies=tp_rep,tp,ws dtype=f32 prompt=64 tokens=24
parse_options generation --machine=machine --keep=folder --rounds=rounds --models=models --batches=batches --strategies=strategies --dtype=dtype \
  --prompt=prompt --tokens=tokens -- "$@"
IFS=, read -ra models <<<"$models"
IFS=, read -ra batches <<<"$batches"
IFS=, read -ra strategies <<<"$strategies"

scripts/build.sh release --command >&2
inputs=benchmarks/peers/generation_inputs.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${folder:-$work/records}
mkdir -p "$folder"

shardline() {
  scripts/mpirun.sh mpirun 2 build/release/shardline "$@"
}

for batch in "${batches[@]}"; do
  /usr/bin/python3 $inputs prompts docs/architecture.md "$batch" "$prompt" "$work/prompts-$batch"
done
for model in "${models[@]}"; do
  mkdir "$work/$model"
  /usr/bin/python3 $inputs model "$model" "$work/$model" >/dev/null
  for batch in "${batches[@]}"; do
    for strategy in "${strategies[@]}"; do
      for ((round = 1; round <= rounds; ++round)); do
        shardline generate --load "$work/$model" --prompts "$work/prompts-$batch" --tokens "$tokens" --dtype "$dtype" \
          --strategy "$strategy=X" --prefill-strategy "$strategy=X" --temperature 0 --ignore-eos --threads 1 \
          ${machine:+--machine "$machine"} --json "$folder/generate-$model-$(printf %02d "$batch")-$strategy.round$round.json" >/dev/null
      done
    done
  done
  rm -r "${work:?}/$model"
done
python3 benchmarks/prediction/table.py "$folder"
