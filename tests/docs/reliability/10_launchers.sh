# A launcher of another MPI: its processes do not find each other. Each believes that it is the only rank.
section "A launcher of another MPI"
product='"A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=8,J=8,K=8'
noticed='started .*, but MPI has 1'
row "PMI_RANK=0 PMI_SIZE=2 shardline matmul $product" \
  "mpirun of MPICH with a shardline of Open MPI: every process ran the whole product alone, and all said \`correct\`" "$noticed"
row "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 shardline train" \
  "srun without a PMI that this MPI knows: four models were trained, each alone" "$noticed"
row "PMIX_NAMESPACE=job PMIX_RANK=1 shardline bench all_gather" \
  "the same with a launcher of PMIx, which gives a process its number only" "$noticed"
row "PMI_RANK=0 PMI_SIZE=2 shardline matmul $product --alone" "the same, but here the user wants it" '^correct'
row "SLURM_PROCID=0 SLURM_NTASKS=4 shardline matmul $product" "one rank, which is right in a batch script of four tasks" '^correct'
