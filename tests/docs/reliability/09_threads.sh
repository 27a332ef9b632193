# Little address space: a linked BLAS starts its threads before main(), and waits forever for their memory.
section "A limit of address space"
row "ulimit -v 150000; shardline --version" "hung: before main, the BLAS waited forever for memory for its threads" \
  '^OpenBLAS'
row "ulimit -v 150000; shardline train --nonsense" "the same"
row "ulimit -v 150000; shardline book --section S" "the same" '[0-9]+ figures'
row "ulimit -v 400000; shardline matmul \"A[I, J] * B[J, K] -> C[I, K]\" --size I=8,J=8,K=8 --threads 2" \
  "the same; now a command that computes checks first" 'the BLAS needs 256 MiB of address space for 2 threads.*'
