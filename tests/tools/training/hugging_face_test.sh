#!/usr/bin/env bash
# Models in folders of Hugging Face, loaded, trained and saved, against a model in PyTorch (hugging_face.py):
#
#   hugging_face_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE LOGITS_PROGRAM PEERS_FOLDER
set -euo pipefail
python=/usr/bin/python3
"$python" -c 'import numpy, torch' 2>/dev/null || { echo "no PyTorch for $python here; skipped"; exit 77; }
source "$(dirname "$0")/../command.sh" "$@"
logits_program=$5
peers=$6
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
torch() { "$python" "$(dirname "$0")/hugging_face.py" "$@" || { echo "FAILED: hugging_face.py $*"; failures=$((failures + 1)); }; }
logits_of() { "$mpirun_sh" "$launcher" "$ranks" "$logits_program" "$folder/text" 14 "$@"; }

torch make "$folder"
models=("$folder"/*-one "$folder"/*-several)
logits_of "${models[@]}"
torch logits "$folder"

# trains MODEL WAY [ARGS...]: the record becomes MODEL-WAY.json, the trained model lies in MODEL-WAY.
trains() {
  run train --load "$folder/$1" --data "$folder/text" --batch 6 --seq 9 --steps 5 --lr 1e-2 --save "$folder/$1-$2" \
    --json "$folder/$1-$2.json" "${@:3}"
  expect_code 0
}
for model in llama2-f32-one llama3-bf16-several mistral-f16-one qwen2-f16-several smollm2-bf16-one; do
  trains $model fsdp32 --mesh "X=$ranks" --strategy fsdp
  trains $model tp64 --mesh "Y=$ranks" --strategy tp --dtype f64
done
trains qwen2-f16-several pp64 --mesh "Z=$ranks" --strategy pp --micro-batches 3 --timetable 1f1b --remat block --dtype f64
trains mixtral-f32-several ep32 --mesh "X=$ranks" --strategy ep=X
trains mixtral-f16-several tpep64 --mesh "X=$ranks" --strategy tp_ep=X --dtype f64
trains mixtral-bf16-one epfsdp64 --mesh "X=$ranks" --strategy ep_fsdp=X --micro-batches 3 --dtype f64
torch training "$folder" "$peers"

# What is saved loads again, and is then what PyTorch makes of it.
rm "$folder"/*/logits.f64
logits_of "$folder"/*-fsdp32 "$folder"/*-tp64 "$folder"/*-ep32 "$folder"/*-epfsdp64
torch logits "$folder"

# refuses MESSAGE MODEL FROM TO: the configuration with the text FROM replaced by TO.
refuses() {
  local config=$folder/$2/config.json
  cp "$config" "$folder/config.json"
  sed -i "s/$3/$4/" "$config"
  cmp -s "$config" "$folder/config.json" && { echo "FAILED: nothing to replace: $3"; failures=$((failures + 1)); }
  refused "$1" train --load "$folder/$2" --data "$folder/text" --steps 1
  mv "$folder/config.json" "$config"
}
refuses 'rope_scaling.rope_type is "yarn"; only "default" and "llama3" are implemented' llama3-f32-one llama3 yarn
refuses 'rope_scaling.factor is missing; rope_type "llama3" needs factor' llama3-f32-one '"factor": 8.0,' ''
refuses 'use_sliding_window is true; only false is implemented' qwen2-f32-one '"use_sliding_window": false' '"use_sliding_window": true'
refuses '6 missing: model.layers.0.self_attn.k_proj.bias' llama2-f32-one '"llama"' '"qwen2"'
refuses 'self_attn.k_proj.bias (the model_type has no biases; those of qwen2 are implemented)' qwen2-f32-one '"qwen2"' '"llama"'
refuses 'has shape [60, 48], the configuration says [72, 48]' mistral-f32-one '"head_dim": 10' '"head_dim": 12'
refuses '6 missing: model.layers.0.block_sparse_moe.experts.5.w1.weight' mixtral-f32-one '"num_local_experts": 5' '"num_local_experts": 6'
refuses '6 not used: model.layers.0.block_sparse_moe.experts.4.w1.weight (num_local_experts is 4)' mixtral-f16-several '"num_local_experts": 5' '"num_local_experts": 4'
refuses 'experts.0.w1.weight has shape [40, 48], the configuration says [56, 48]' mixtral-f32-one '"intermediate_size": 40' '"intermediate_size": 56'
refuses 'num_experts_per_tok is 6 and num_local_experts is 5' mixtral-f32-one '"num_experts_per_tok": 2' '"num_experts_per_tok": 6'
refuses 'router_jitter_noise is 0.5; only 0 is implemented' mixtral-f32-one '"router_jitter_noise": 0.0' '"router_jitter_noise": 0.5'
finish
