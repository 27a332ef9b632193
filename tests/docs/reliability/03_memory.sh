# Commands check memory before they take it.
section "Memory"
row 'mpirun -n 2 shardline train --strategy fsdp --batch 8388608 --steps 1' \
  "allocated arrays until the system killed a rank, or another program" "shardline: train --strategy fsdp=X needs"
row 'mpirun -n 2 shardline bench all_gather --bytes 65536G' \
  "checked the memory of the machine, not the limit of a higher control group and not the free memory" '--no-memory-check goes on all the same'
row '(ulimit -v 3000000; mpirun -n 2 shardline matmul "A[I, J] * B[J, K] -> C[I, K]" --size I=16384,J=16384,K=16384)' \
  'exit code 1: `rank 0: std::bad_alloc`' 'for each rank, but ulimit -v leaves'
row 'mpirun -n 2 shardline matmul "A[I, J] * B[J, K] -> C[I, K]" --size I=10000000,J=10000000,K=8' \
  "compared with the installed memory, not with the free memory" '--no-memory-check goes on all the same'
