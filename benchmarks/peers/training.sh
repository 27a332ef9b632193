#!/usr/bin/env bash
# Our training steps beside PyTorch's: the same model, weights, tokens and cores, as a table.
# Exit code 1 if the losses differ.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/peers/training.sh [--experts | --where] [OPTION...]
  --ranks N      also on N cores, one rank on each: 1 (one core alone), 2, 4 or 8  (default: 2, or 1 where there is one core)
  --rounds N     in each round every way runs once; the table has medians                               (default 5)
  --steps N      training steps of a run, the first two untimed; the losses of all are compared           (default 20)
  --quick        1 round of 6 steps, unless --rounds and --steps say otherwise
  --experts      a Mixtral model instead: in each layer 8 experts, of which a token passes 2
  --where        instead: where the time of our step on one core goes, and each of its products measured alone
  --json FILE    write all measurements to this file
  Trains a LLaMA model of 13.1 million parameters, or a Mixtral model of 73.7 million, on 8 sequences of 256 tokens,
  in f32 and in bf16. PyTorch is that of /usr/bin/python3 (scripts/setup.sh --peers); --where does not need it. Every
  process keeps to its own core. Run nothing else on the machine.
TEXT
}

ranks='' rounds='' steps='' quick='' experts='' where='' record=''
parse_options training --quick:quick:yes --experts:experts:yes --where:where:yes --ranks=ranks --rounds=rounds --steps=steps --json=record -- "$@"
if [[ -n $experts && -n $where ]]; then refuse "--where knows no products of experts; without --experts it measures those of LLaMA"; fi
if [[ -n $quick ]]; then rounds=${rounds:-1} steps=${steps:-6}; fi
rounds=${rounds:-5} steps=${steps:-20}
for number in "--rounds $rounds" "--steps $steps"; do
  if [[ ! ${number#* } =~ ^[1-9][0-9]{0,3}$ ]]; then refuse "${number%% *} '${number#* }': a number from 1 is needed"; fi
done
if [[ -n $ranks && ! $ranks =~ ^[1248]$ ]]; then refuse "--ranks '$ranks': 1, 2, 4 and 8 divide the batch"; fi

python=/usr/bin/python3
peers=benchmarks/peers
read -ra cores < <($python "$peers/training_machine.py")
ranks=${ranks:-$((${#cores[@]} > 1 ? 2 : 1))}
if ((ranks > ${#cores[@]})); then refuse "--ranks $ranks: there are ${#cores[@]} cores here"; fi
if [[ -z $where ]] && ! $python -c 'import torch.distributed, numpy' 2>/dev/null; then
  refuse "there is no PyTorch for $python, so no comparison with it; scripts/setup.sh --peers installs it"
fi

scripts/build.sh release >&2
shardline=build/release/shardline
launcher=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' build/release/CMakeCache.txt)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

export OMPI_MCA_hwloc_base_binding_policy=none  # taskset puts each rank on its core, under every MPI
export PYTHONDONTWRITEBYTECODE=1

# on_cores N COMMAND...: runs a command on N ranks, each on its own core. Shows what it said only if it fails.
on_cores() {
  local count=$1 code=0
  shift
  # shellcheck disable=SC2016  # the rank's shell expands it
  scripts/mpirun.sh "$launcher" "$count" bash -c '
    cpus=($1)
    shift
    exec taskset -c "${cpus[${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${PMI_RANK:-0}}}]}" "$@"
  ' rank "${cores[*]}" "$@" >"$folder/out" 2>"$folder/err" || code=$?
  if ((code != 0)); then cat "$folder/out" "$folder/err" >&2; fi
  return "$code"
}

sizes=(--batch 8 --seq 256)
batch=(--data docs/architecture.md "${sizes[@]}" --seed 1)
type='"llama"' split=tp
if [[ -n $experts ]]; then type='"mixtral", "num_local_experts": 8, "num_experts_per_tok": 2' split=ep; fi
cat >"$folder/config.json" <<TEXT
{"model_type": $type, "vocab_size": 256, "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 4,
 "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
 "tie_word_embeddings": false, "hidden_act": "silu"}
TEXT

# The initial weights of both sides: one step with a learning rate that changes no weight.
on_cores 1 "$shardline" train --model "$folder/config.json" "${batch[@]}" --steps 1 --lr 1e-30 --threads 1 \
  --save "$folder/model"

# ours COUNT DTYPE STRATEGY RECORD
ours() {
  on_cores "$1" "$shardline" train --load "$folder/model" "${batch[@]}" --steps "$steps" --lr 1e-3 --threads 1 \
    --dtype "$2" --strategy "$3=X" --json "$4"
}

# torch COUNT DTYPE PROCESSES RECORD [OPTION...]
torch() {
  local cpus
  cpus=$(IFS=,; echo "${cores[*]:0:$1}")
  $python "$peers/training_torch.py" --model "$folder/model" "${batch[@]}" --steps "$steps" --lr 1e-3 \
    --dtype "$2" --processes "$3" --cpus "$cpus" --json "$4" "${@:5}"
}

# The element types that `train` knows; its refusal is a usage error that names the option.
dtypes=(f32)
on_bf16=0
on_cores 1 "$shardline" train --load "$folder/model" "${batch[@]}" --steps 1 --threads 1 --dtype bf16 \
  2>"$folder/refusal" || on_bf16=$?
if ((on_bf16 == 0)); then
  dtypes+=(bf16)
elif ((on_bf16 != 2)) || ! grep -q -- '--dtype bf16' "$folder/refusal"; then
  cat "$folder/refusal" >&2
  exit 1
fi

if [[ -n $where ]]; then
  records=()
  for dtype in "${dtypes[@]}"; do
    echo "training: our step in $dtype, then its products alone ..." >&2
    ours 1 "$dtype" dp "$folder/$dtype.json"
    records+=("$folder/$dtype.json")
  done
  taskset -c "${cores[0]}" $python "$peers/training_where.py" --model "$folder/model" "${sizes[@]}" --shardline "$shardline" \
    ${record:+--json "$record"} "${records[@]}"
  exit
fi

# The ways, as SIDE-DTYPE-CORES-HOW. Those that cannot run stay in the table, without a record.
ways=()
for dtype in f32 bf16; do
  for count in $(printf '%s\n' 1 "$ranks" | sort -nu); do
    if ((count == 1)); then
      ways+=("torch-$dtype-1-process" "ours-$dtype-1-rank")
    else
      ways+=("torch-$dtype-$count-"{threads,passive,ddp} "ours-$dtype-$count"-{dp,zero1,fsdp,"$split"})
    fi
  done
done
printf '%s\n' "${ways[@]}" >"$folder/ways"

# run_way WAY RECORD
run_way() {
  local side dtype count how
  IFS=- read -r side dtype count how <<<"$1"
  case $side-$how in
    torch-ddp) torch "$count" "$dtype" "$count" "$2" ;;
    torch-passive) torch "$count" "$dtype" 1 "$2" --passive ;;
    torch-*) torch "$count" "$dtype" 1 "$2" ;;
    ours-rank) ours 1 "$dtype" dp "$2" ;;
    ours-*) ours "$count" "$dtype" "$how" "$2" ;;
  esac
}

# Each round begins with another way.
for ((round = 0; round < rounds; ++round)); do
  mkdir "$folder/round-$round"
  for ((i = 0; i < ${#ways[@]}; ++i)); do
    way=${ways[$(((i + round) % ${#ways[@]}))]}
    if [[ $way == ours-bf16-* && ${#dtypes[@]} == 1 ]]; then continue; fi
    echo "training: round $((round + 1)) of $rounds, $way ..." >&2
    run_way "$way" "$folder/round-$round/$way.json"
  done
done
$python "$peers/training_table.py" "$folder" ${record:+--json "$record"}
