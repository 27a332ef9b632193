# Memory is checked before it is taken.
section "Memory"
row 'mpirun -n 2 shardline train --strategy fsdp --batch 8388608 --steps 1' \
  "arrays were allocated until the system killed a rank, or another program" "shardline: train --strategy fsdp=X needs"
row 'mpirun -n 2 shardline bench all_gather --bytes 65536G' \
  "memory of the machine counted, not that of a group above the own one, and not what is free" '--no-memory-check goes on all the same'
row '(ulimit -v 3000000; mpirun -n 2 shardline matmul "A[I, J] * B[J, K] -> C[I, K]" --size I=16384,J=16384,K=16384)' \
  'exit code 1: `rank 0: std::bad_alloc`' 'for each rank, but ulimit -v leaves'
row 'mpirun -n 2 shardline matmul "A[I, J] * B[J, K] -> C[I, K]" --size I=10000000,J=10000000,K=8' \
  "refused by the memory that is installed, used or not" '--no-memory-check goes on all the same'
