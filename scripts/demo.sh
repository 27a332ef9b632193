#!/usr/bin/env bash
# Installs packages, builds the command, trains a small model on this project's own text over MPI
# ranks (as many as cores, 2 to 4) for about a minute, and lets it continue a line of C++. It
# installs and builds only what it runs. At the end it prints the time of each part. Arguments go to
# `shardline train`.
set -euo pipefail
cd "$(dirname "$0")/.."

started=$SECONDS
echo "demo: installing packages where they are missing (half a minute to a few, by the network)"
scripts/setup.sh --command
installed=$SECONDS
echo "demo: building the command (minutes the first time)"
scripts/build.sh release --command
built=$SECONDS

ranks=$(nproc)
if ((ranks < 2)); then ranks=2; fi
if ((ranks > 4)); then ranks=4; fi
launcher=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' build/release/CMakeCache.txt)
model=build/demo/model
mkdir -p "$model"

run() {
  echo "+ $*"
  "$@"
}
echo "demo: training for about a minute, then a sample"
run scripts/mpirun.sh "$launcher" "$ranks" build/release/shardline train --save "$model" "$@"
run build/release/shardline sample --load "$model" --prompt $'#include "runtime/base/check.h"\n\nnamespace shardline {\n'
echo "demo: packages $((installed - started)) s, build $((built - installed)) s, run $((SECONDS - built)) s"
