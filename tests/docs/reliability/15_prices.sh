# A slice reads and writes the block that a rank keeps. Its price was once that of the whole array.
section "Prices of what is touched"
cheapest='^ +1 .*'
row 'shardline explain "A[I, J] * B[J, K] -> C[I_X, K]" --mesh X=16 --size I=4096,J=4096,K=16 --dtype bf16' \
  "slicing A, the cheapest way, was ranked third at 85.6 us" "$cheapest"
row 'shardline explain "A[I, J] * B[J, K] -> C[I, K_X]" --mesh X=16 --size I=16,J=4096,K=4096 --dtype bf16' \
  "the same with B: at 85.6 us it lost to ways that read all of B" "$cheapest"
row 'shardline explain "A[I, J_X] * B[J, K] -> C[I, K]{U_X}" --mesh X=16 --size I=16,J=4096,K=4096 --dtype bf16' \
  "a slice of a contracted dim cost 85.6 us; it takes 8" "$cheapest"
