#!/usr/bin/env bash
# Our generation beside llama.cpp's: the same weights, prompts and cores, as a table. Exit code 1 if log probabilities differ.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/peers/generation.sh [OPTION...]
  --models LIST   100m, 800m or both: LLaMA models of so many parameters, with random weights           (default 100m,800m)
  --batches LIST  how many prompts are continued together                                                      (default 1,8)
  --dtypes LIST   element types of the weights: f32, bf16                                                 (default f32,bf16)
  --prompt N      tokens of a prompt                                                                           (default 512)
  --tokens N      tokens that are added to each prompt                                                          (default 32)
  --rounds N      in each round every way runs once; the table has medians                                       (default 3)
  --ranks N       cores: ranks of one thread for us, threads for llama.cpp                (default 2, or 1 if there is one)
  --quick         100m alone and one round, unless --models and --rounds say otherwise
  --modules DIR   a folder node_modules with node-llama-cpp; without it npm installs it into a temporary folder
  --json FILE     write all measurements to this file
  llama.cpp is that of node-llama-cpp 3.21.1 and needs node 20 and npm. The temporary folder takes about 14 GB for 800m.
  Every side keeps to the same cores. Run nothing else on the machine.
TEXT
}

models='' batches=1,8 dtypes=f32,bf16 prompt=512 tokens=32 rounds='' ranks='' quick='' modules='' record=''
parse_options generation --quick:quick:yes --models=models --batches=batches --dtypes=dtypes --prompt=prompt --tokens=tokens \
  --rounds=rounds --ranks=ranks --modules=modules --json=record -- "$@"
if [[ -n $quick ]]; then models=${models:-100m} rounds=${rounds:-1}; fi
models=${models:-100m,800m} rounds=${rounds:-3}

# matches OPTION LIST PATTERN LEGAL: refuses a list with a word that is not legal.
matches() {
  if [[ ! $2 =~ ^($3)(,($3))*$ ]]; then refuse "$1 '$2': $4"; fi
}
matches --models "$models" '100m|800m' 'there are 100m and 800m'
matches --dtypes "$dtypes" 'f32|bf16' 'there are f32 and bf16'
matches --batches "$batches" '[1-9][0-9]{0,2}' 'numbers from 1 are needed'
for number in "--prompt $prompt" "--tokens $tokens" "--rounds $rounds" ${ranks:+"--ranks $ranks"}; do
  if [[ ! ${number#* } =~ ^[1-9][0-9]{0,3}$ ]]; then refuse "${number%% *} '${number#* }': a number from 1 is needed"; fi
done
if ((tokens < 2)); then refuse "--tokens $tokens: the first comes from the prompt, so 2 are needed to time a step"; fi

python=/usr/bin/python3
peers=benchmarks/peers
read -ra cores < <($python "$peers/training_machine.py")
ranks=${ranks:-$((${#cores[@]} > 1 ? 2 : 1))}
if ((ranks > ${#cores[@]})); then refuse "--ranks $ranks: there are ${#cores[@]} cores here"; fi
$python -c 'import numpy' 2>/dev/null || refuse "there is no NumPy for $python; scripts/setup.sh --peers installs it"
command -v node >/dev/null || refuse "there is no node, which llama.cpp's binaries are called by"

scripts/build.sh release --command >&2
shardline=build/release/shardline
launcher=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' build/release/CMakeCache.txt)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export OMPI_MCA_hwloc_base_binding_policy=none  # taskset puts each rank on its core, under every MPI
export PYTHONDONTWRITEBYTECODE=1

if [[ -z $modules ]]; then
  echo "generation: npm installs node-llama-cpp ..." >&2
  npm install --prefix "$folder/npm" --ignore-scripts --omit=optional --no-audit --no-fund \
    node-llama-cpp@3.21.1 @node-llama-cpp/linux-x64@3.21.1 >"$folder/npm.out" 2>&1 ||
    { cat "$folder/npm.out" >&2; refuse "npm cannot install node-llama-cpp; --modules DIR takes one that is there"; }
  modules=$folder/npm/node_modules
fi

# on_cores COMMAND...: runs it on all ranks, each on its own core. Shows what it said only if it fails.
on_cores() {
  local code=0
  # shellcheck disable=SC2016  # the rank's shell expands it
  scripts/mpirun.sh "$launcher" "$ranks" bash -c '
    cpus=($1)
    shift
    exec taskset -c "${cpus[${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${PMI_RANK:-0}}}]}" "$@"
  ' rank "${cores[*]}" "$@" >"$folder/out" 2>"$folder/err" || code=$?
  if ((code != 0)); then cat "$folder/out" "$folder/err" >&2; fi
  return "$code"
}

# ours MODEL BATCH DTYPE TOKENS RECORD [OPTION...]
ours() {
  on_cores "$shardline" generate --load "$folder/$1" --prompts "$folder/prompts-$2" --tokens "$4" --dtype "$3" \
    --threads 1 --temperature 0 --ignore-eos --json "$5" "${@:6}"
}

# llama MODEL DTYPE JOB RECORD: as many threads as ranks.
llama() {
  taskset -c "$(IFS=,; echo "${cores[*]:0:ranks}")" node "$peers/generation_llama.mjs" "$modules" "$folder/$1-$2.gguf" "$3" "$4" \
    2>"$folder/err" || { cat "$folder/err" >&2; return 1; }
}

# job BATCH TOKENS [RECORD]
job() {
  $python "$peers/generation_inputs.py" job "$folder/job.json" "$folder/prompts-$1" "$ranks" "${@:2}"
}

IFS=, read -ra models <<<"$models"
IFS=, read -ra batches <<<"$batches"
IFS=, read -ra dtypes <<<"$dtypes"
for batch in 2 "${batches[@]}"; do
  $python "$peers/generation_inputs.py" prompts docs/architecture.md "$batch" "$prompt" "$folder/prompts-$batch"
done
mkdir "$folder/scores"
for model in "${models[@]}"; do
  mkdir "$folder/$model"
  count=$($python "$peers/generation_inputs.py" model "$model" "$folder/$model")
  echo "generation: $model has $count parameters ..." >&2
  for dtype in "${dtypes[@]}"; do
    "$shardline" export --load "$folder/$model" --gguf "$folder/$model-$dtype.gguf" --dtype "$dtype" >&2
    # The ids that we add, judged by both.
    ours "$model" 2 "$dtype" 16 "$folder/scores/$model-$dtype-ours.json" --logprobs 1
    job 2 16 "$folder/scores/$model-$dtype-ours.json"
    llama "$model" "$dtype" "$folder/job.json" "$folder/scores/$model-$dtype-llama.json"
  done
done

ways=()
for model in "${models[@]}"; do
  for batch in "${batches[@]}"; do
    for dtype in "${dtypes[@]}"; do ways+=("$model-$batch-$dtype-"{llama,ours}); done
  done
done
printf '%s\n' "${ways[@]}" >"$folder/ways"

# run_way WAY RECORD
run_way() {
  local model batch dtype side
  IFS=- read -r model batch dtype side <<<"$1"
  if [[ $side == llama ]]; then
    job "$batch" "$tokens"
    llama "$model" "$dtype" "$folder/job.json" "$2"
  else
    ours "$model" "$batch" "$dtype" "$tokens" "$2"
  fi
}

# Each round begins with another way.
for ((round = 0; round < rounds; ++round)); do
  mkdir "$folder/round-$round"
  for ((i = 0; i < ${#ways[@]}; ++i)); do
    way=${ways[$(((i + round) % ${#ways[@]}))]}
    echo "generation: round $((round + 1)) of $rounds, $way ..." >&2
    run_way "$way" "$folder/round-$round/$way.json"
  done
done
$python "$peers/generation_table.py" "$folder" ${record:+--json "$record"}
