#!/usr/bin/env bash
# Times `shardline tokenize` on 1 rank and on several, beside `cat` of the same text. Exit code 1 if the files of tokens
# differ.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/tokenizer/ranks.sh --tokenizer FILE [--ranks N] [--copies N] [--passes N] [--program FILE]
  --tokenizer FILE  a tokenizer.json of byte-level BPE
  --ranks N         the most ranks (2)
  --copies N        of the sources and documentation of this project, one after the other (20)
  --passes N        of all runs in turn; the fastest of each counts (3)
  --program FILE    shardline, already built; without it the release preset is built
TEXT
}

tokenizer='' ranks=2 copies=20 passes=3 program=''
parse_options ranks --tokenizer=tokenizer --ranks=ranks --copies=copies --passes=passes --program=program -- "$@"
[[ -n $tokenizer ]] || refuse "--tokenizer FILE is needed"
if [[ -z $program ]]; then
  scripts/build.sh release >/dev/null
  program=build/release/shardline
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for ((i = 0; i < copies; ++i)); do
  git ls-files '*.cpp' '*.h' '*.md' '*.sh' | xargs cat
done >"$folder/text.txt"

# fastest NAME: the seconds of the fastest run of NAME.
fastest() { grep "^$1 " "$folder/results" | sort -k 2 -g | head -n 1 | cut -d ' ' -f 2; }

for ((pass = 0; pass < passes; ++pass)); do
  begin=$EPOCHREALTIME
  cat "$folder/text.txt" >"$folder/copy.txt"
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print "cat", b - a }' >>"$folder/results"
  for ((n = 1; n <= ranks; ++n)); do
    scripts/mpirun.sh "${MPIRUN:-mpirun}" "$n" "$program" tokenize --tokenizer "$tokenizer" --data "$folder/text.txt" \
      --out "$folder/$n.bin" --json "$folder/record.json" >/dev/null
    sed -n "s/^ *\"time_s\": \([0-9.e-]*\),*/$n \1/p" "$folder/record.json" >>"$folder/results"
    cmp "$folder/1.bin" "$folder/$n.bin"
  done
done
bytes=$(stat -c %s "$folder/text.txt")
for name in cat $(seq "$ranks"); do
  label=$name
  [[ $name == cat ]] || label="tokenize, ranks: $name"
  awk -v label="$label" -v bytes="$bytes" -v time="$(fastest "$name")" \
    'BEGIN { printf "%-20s %8.2f s %8.1f MB/s\n", label, time, bytes / time / 1e6 }'
done
echo "load of the machine: $(cut -d ' ' -f 1-3 /proc/loadavg)"
