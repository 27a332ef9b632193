#!/usr/bin/env bash
# Measures our collectives across a torus of hosts, as multiples of the least time on its links. It
# makes a lab (scripts/lab.sh), then measures the stream to the next neighbour and the collectives,
# in one run.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/torus/run.sh [--hosts N|RxC] [--rate RATE] [--bytes MIN:MAX] [--seconds S]
  --hosts N|RxC    a ring of N hosts, or a torus of R rows and C columns, one rank a host      (default 4)
  --rate RATE      of every link, each way                                                   (default 500mbit)
  --bytes MIN:MAX  sizes as `shardline bench` takes them                                       (default 4M:16M:2)
  --seconds S      of timed runs for each row                                                (default 2)
Needs the same as scripts/lab.sh. If no lab can be made, exits with 77 and the reason.
TEXT
}

hosts=4
rate=500mbit
bytes=4M:16M:2
seconds=2
parse_options torus --hosts=hosts --rate=rate --bytes=bytes --seconds=seconds -- "$@"
case "$hosts" in
  *x*) mesh=X=${hosts%x*},Y=${hosts#*x} ;;
  *) mesh=X=$hosts ;;
esac

scripts/build.sh release >/dev/null
record=$(mktemp)
trap 'rm -f "$record"' EXIT
scripts/lab.sh run --hosts "$hosts" --rate "$rate" -- build/release/shardline bench \
  shift all_gather reduce_scatter all_reduce all_to_all --mesh "$mesh" --algorithm ring,bidirectional,native \
  --bytes "$bytes" --seconds "$seconds" --threads 1 --json "$record" >&2
python3 benchmarks/torus/table.py "$record"
