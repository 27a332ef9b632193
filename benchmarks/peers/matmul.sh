#!/usr/bin/env bash
# A table of a sharded product: by `shardline matmul`, by ScaLAPACK's psgemm, and as local products.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/options.sh

usage() {
  cat <<'TEXT'
usage: benchmarks/peers/matmul.sh [OPTION...]
  --ranks N        ranks on this machine, one BLAS thread each        (default 2)
  --size N,N,...   of the square matrices                             (default 2048,4096)
  --runs N         timed runs of each; the table has their median     (default 7)
  The product is C[I_X, K] = A[I_X, J] * B[J, K_X] in f32; psgemm runs in every grid of the ranks, in blocks of 64, 128
  and 256. Needs ScaLAPACK for the MPI at hand (scripts/setup.sh --peers).
TEXT
}

ranks=2
arguments=()
size='' runs=''
parse_options peers --ranks=ranks --size=size --runs=runs -- "$@"
if [[ -n $size ]]; then arguments+=(--size "$size"); fi
if [[ -n $runs ]]; then arguments+=(--runs "$runs"); fi
if [[ ! $ranks =~ ^[1-9][0-9]{0,3}$ ]]; then refuse "--ranks '$ranks': a number from 1 is needed"; fi

scripts/build.sh release >&2
program=build/release/benchmarks/peers/scalapack_gemm
if ! grep -q '^SCALAPACK_LIBRARY:[A-Z]*=/' build/release/CMakeCache.txt; then
  refuse "there is no ScaLAPACK for the MPI at hand, so no comparison with it; scripts/setup.sh --peers installs it"
fi
launcher=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' build/release/CMakeCache.txt)
export OPENBLAS_NUM_THREADS=1  # psgemm may use another BLAS than ours, whose threads the program sets
scripts/mpirun.sh "$launcher" "$ranks" "$program" "${arguments[@]}"
