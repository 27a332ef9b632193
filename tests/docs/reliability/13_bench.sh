# shellcheck shell=bash
section 'Small faults of what `bench` said'

row 'mpirun -n 1 shardline bench all_gather --counts 64 --iters 5' \
  'with one rank, the rows said n/a but the summary gave a bandwidth' 'all_gather +auto +1 +n/a'
row 'mpirun -n 2 shardline bench all_gather --counts 64 --iters 5' \
  'counted all rows ("median of 2 rows"), also those of `native`, which have no prediction' 'median of 1 row with a prediction'
