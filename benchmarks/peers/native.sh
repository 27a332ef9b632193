#!/usr/bin/env bash
# Checks that `native` of shardline bench takes as long as a plain loop over MPI's call, as a table.
# Exit code 1 if it does not.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/peers/native.sh [OPTION...]
  --ranks N    ranks on this machine           (default 2)
  --rounds N   pairs of bench and loop a row   (default 7)
  Runs four collectives of f32, 4 KiB to 64 MiB. The table has the median and the quartiles of the ratio over the rounds.
  The median must be within 5% of 1. If it is not, but a quarter of the rounds agree, the row is noisy, not different. The
  column copy is a memcpy of as many bytes as the result has. Run nothing else on the machine.
TEXT
}

ranks=2 rounds=7
parse_options peers --ranks=ranks --rounds=rounds -- "$@"
for number in "--ranks $ranks" "--rounds $rounds"; do
  if [[ ! ${number#* } =~ ^[1-9][0-9]{0,3}$ ]]; then refuse "${number%% *} '${number#* }': a number from 1 is needed"; fi
done

scripts/build.sh release >&2
launcher=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' build/release/CMakeCache.txt)
scripts/mpirun.sh "$launcher" "$ranks" build/release/benchmarks/peers/native_loop "$rounds"
