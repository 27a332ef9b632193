#!/usr/bin/env bash
# Sets the machine up, builds, trains a small model on this project's own text over MPI ranks (as many as cores, 2 to 4)
# for about a minute, and lets it continue a line of C++. Arguments are handed to `shardline train`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh release

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
run scripts/mpirun.sh "$launcher" "$ranks" build/release/shardline train --save "$model" "$@"
run build/release/shardline sample --load "$model" --prompt $'#include "runtime/base/check.h"\n\nnamespace shardline {\n'
