section "Words without an explanation"

row 'shardline explain "A[I_XY, J] * B[J, K] -> C[I_YX, K]" --mesh X=2,Y=2 --size I=64,J=64,K=64 --hardware v5e' \
  "it printed \`Reshard_XY\` without an explanation" '^Reshard: .*'
row 'shardline explain "A[I_X, J]{U_Y} * B[J, K] -> C[I, K_X]{U_Y}" --mesh X=2,Y=2 --size I=64,J=64,K=64 --hardware v5e' \
  "likewise \`Owe_Y\`" '^Owe: .*'
row 'shardline explain "A[I, J_X] * B[J_X, K] -> C[I, K]" --mesh X=4 --size I=64,J=64,K=64 --hardware v5e --dtype bf16' \
  "likewise \`over wire hop\`" '^wire hop: .*'
row 'shardline explain "A[I, J_X] * B[J_X, K] -> C[I, K]" --mesh X=4 --size I=64,J=64,K=64 --hardware v5e --dtype bf16' \
  "likewise the column \`T_math\`" '^T_math: .*'
row 'shardline explain "A[I, J_X] * B[J_X, K] -> C[I, K]" --mesh X=4 --size I=64,J=64,K=64 --hardware v5e --dtype bf16' \
  "likewise the column \`T_comms\`" '^T_comms: .*'
row 'mpirun -n 2 shardline matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=32,J=32,K=32' \
  "likewise the column \`exposed\`" '^exposed: .*'
