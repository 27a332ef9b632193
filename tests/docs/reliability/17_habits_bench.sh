# shellcheck shell=bash
section 'Habits of nccl-tests and OSU in `bench`'

row 'mpirun -n 2 shardline bench allreduce -b 1k -e 1KiB -f 2 --iters 5' \
  'each of these was refused as unknown' 'all 2 rows are right'
row 'mpirun -n 2 shardline bench all_reduce_perf MPI_Allgather --counts 64 --iters 5' \
  '`collective '"'all_reduce_perf'"': there are all_gather, ...`' 'all 4 rows are right'
row 'mpirun -n 2 shardline bench --bytes 1KB' 'refused without saying that 1K is 1024 bytes'
row 'mpirun -n 2 shardline bench -w 5' '`The following arguments were not expected`'
row 'mpirun -n 2 shardline bench -g 2' '`The following arguments were not expected`'
row 'mpirun -n 2 shardline bench --plot p.png' 'an SVG file called p.png'
row 'mpirun -n 2 shardline bench --report run.pdf' 'an HTML file called run.pdf'
