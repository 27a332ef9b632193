# shellcheck shell=bash
section 'The baseline of `bench`'

row 'mpirun -n 2 shardline bench all_gather --counts 64 --algorithm native --iters 5' \
  '`native` called MPI_Iallgatherv with packing and bookkeeping around it; the place of its arrays was not shown' ' heap +0$'
