#!/usr/bin/env bash
# Our collectives, Open MPI's own and Gloo's, on the same ranks and sizes, as a table.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/peers/run.sh [OPTION...]
  --ranks N              ranks                                       (default: as many as cores, at least 2)
  --bytes MIN:MAX[:F]    sizes, growing by the factor F (4 by default); K, M and G are powers of 1024. A size is the result
                         of all_gather, the input of reduce_scatter, a rank's buffer of the others (default 1K:64M)
  --lab N | RxC          one rank on each host of a lab of scripts/lab.sh, instead of --ranks
  --rate RATE            of the lab's links                                                      (default 500mbit)
  --json FILE            write all measurements to this file
  --docs                 measure 4K:64M, then 1M:16M with cold caches; print the tables of docs/collectives.md too;
                         excludes --bytes and --lab
  Gloo is that of PyTorch for /usr/bin/python3 (scripts/setup.sh --peers). Without it, its columns are empty.
TEXT
}

ranks='' bytes='' lab='' rate=500mbit record='' docs=''
parse_options peers --docs:docs:yes --ranks=ranks --bytes=bytes --lab=lab --rate=rate --json=record -- "$@"
if [[ -n $ranks && ! $ranks =~ ^[1-9][0-9]{0,3}$ ]]; then refuse "--ranks '$ranks': a number from 1 is needed"; fi
if [[ -n $ranks && -n $lab ]]; then refuse "--ranks and --lab exclude each other: a lab has one rank a host"; fi
if [[ -n $docs && -n $bytes$lab ]]; then refuse "--docs has sizes and a place of its own: it excludes --bytes and --lab"; fi
if [[ -n $docs ]]; then bytes=4K:64M; fi
bytes=${bytes:-1K:64M}

python=/usr/bin/python3
peers=benchmarks/peers
scripts/build.sh release
launcher=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' build/release/CMakeCache.txt)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [[ -n $lab ]]; then
  on_ranks=(scripts/lab.sh run --launcher "$launcher" --hosts "$lab" --rate "$rate" --)
else
  if [[ -z $ranks ]]; then ranks=$(($(nproc) > 2 ? $(nproc) : 2)); fi
  on_ranks=(scripts/mpirun.sh "$launcher" "$ranks")
fi

echo "peers: ours and Open MPI's ..." >&2
"${on_ranks[@]}" build/release/shardline bench --algorithm auto,native --bytes "$bytes" --threads 1 \
  --json "$folder/bench.json" >"$folder/bench.out"
results=("$folder/bench.json")
cold=()
if [[ -n $docs ]]; then
  echo "peers: the same with cold caches ..." >&2
  "${on_ranks[@]}" build/release/shardline bench --algorithm auto,native --bytes 1M:16M --cold --threads 1 \
    --json "$folder/cold.json" >"$folder/cold.out"
  cold=(--docs "$folder/cold.json")
fi

# The ranks and sizes that bench derived from the options, each size once.
read -r ranks sizes < <($python -c 'import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
print(rows[0]["ranks"], ",".join(str(int(size)) for size in sorted({row["bytes"] for row in rows})))' "$folder/bench.json")

if $python -c 'import torch.distributed' 2>/dev/null; then
  echo "peers: Gloo's ..." >&2
  gloo=("$python" "$peers/gloo_bench.py" --ranks "$ranks" --sizes "$sizes" --rendezvous "$folder/rendezvous"
    --json "$folder/gloo.json")
  if [[ -n $lab ]]; then "${on_ranks[@]}" "${gloo[@]}" --interface torus; else "${gloo[@]}"; fi
  results+=("$folder/gloo.json")
else
  echo "peers: no PyTorch for $python, so no Gloo; scripts/setup.sh --peers installs it" >&2
fi

$python "$peers/table.py" "${results[@]}" ${record:+--json "$record"} "${cold[@]}"
