#!/usr/bin/env bash
# Compares the step that `shardline plan` predicts for a custom model on this machine with a real
# run. It calibrates the machine, then plans and trains each model under each strategy.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/prediction/plan.sh [--machine FILE] [--steps N]
  --machine FILE   use this calibration (2 ranks, --threads 1) instead of a new one
  --steps N        training steps of each run                                                    (default 8)
Prints for each model and strategy the planned step, the median of the measured steps without the first two, and the ratio.
TEXT
}

machine='' steps=8
parse_options plan --machine=machine --steps=steps -- "$@"

scripts/build.sh release >/dev/null
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
shardline=build/release/shardline
if [[ -z $machine ]]; then
  machine=$folder/machine.json
  scripts/mpirun.sh mpirun 2 $shardline calibrate --threads 1 -o "$machine" >&2
fi

# compare D F LAYERS HEADS KV_HEADS SEQUENCES TOKENS STRATEGY
compare() {
  cat >"$folder/config.json" <<TEXT
{"model_type": "llama", "vocab_size": 512, "hidden_size": $1, "intermediate_size": $2, "num_hidden_layers": $3,
 "num_attention_heads": $4, "num_key_value_heads": $5, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
TEXT
  $shardline plan --model "$folder/config.json" --machine "$machine" --mesh X=2 --strategy "$8" \
    --batch-tokens $(($6 * $7)) --seq "$7" --json "$folder/plan.json" >/dev/null
  scripts/mpirun.sh mpirun 2 $shardline train --model "$folder/config.json" --machine "$machine" --strategy "$8" \
    --threads 1 --batch "$6" --seq "$7" --steps "$steps" --json "$folder/train.json" >/dev/null 2>&1
  /usr/bin/env python3 - "$folder" "d_model $1, d_ff $2, $3 layers, $6 x $7 tokens" "$8" <<'PYTHON'
import json, statistics, sys
folder, model, strategy = sys.argv[1:]
planned = json.load(open(folder + "/plan.json"))["candidates"][0]["step_s"]["scheduled"]
steps = json.load(open(folder + "/train.json"))["steps"][2:]
measured = statistics.median(step["step_s"] for step in steps)
print(f"{model:<48} {strategy:<8} planned {planned * 1e3:8.1f} ms  measured {measured * 1e3:8.1f} ms  ratio {measured / planned:.3f}",
      flush=True)
PYTHON
}

for strategy in dp=X fsdp=X tp=X; do
  compare 384 1088 6 6 2 8 192 $strategy
  compare 640 1792 5 10 5 4 256 $strategy
done
