# Text of the book and of programs, typed without a change.
section "The book's notation"
row 'shardline explain "A[I, J_X] *_J B[J_X, K] -> C[I, K]{U_X}" --mesh X=16 --size I=64,J=64,K=64' \
  "a line that programs print was refused at its \`_\`" '^  C\[I, K\]\{U_X\} = .*'
row "shardline explain '\\mathbf{A}[I, J_X] \\cdot_J \\mathbf{B}[J, K] \\rightarrow \\mathbf{C}[I, K]' --mesh X=16 --size I=64,J=64,K=64" \
  "LaTeX was refused at its first backslash" '^axis X: case 2'
row "shardline explain '\\textbf{A}[I, J_X] \\cdot_\\text{LOCAL} \\textbf{B}[J_X, K] \\rightarrow &\\ C[I, K] \\{\\ U_X \\}' --mesh X=2 --size I=64,J=64,K=64" \
  "an aligned line of case 3 was refused at a subscript without braces and at its \`&\`" '^  C\[I, K\]\{U_X\} = .*'
row 'shardline explain "A[I_{XY}, J] * B[J, K] -> C[I_{XY}, K]" --mesh X=4,Y=4 --size I=64,J=64,K=64' \
  "said that the mesh has no axis XY" '^  C\[I_XY, K\] = .*'
row "shardline explain '\\text{AllGather}_Y([E_Y, F]) \\rightarrow [E, F]' --mesh X=8,Y=4 --size E=2048,F=8192" \
  "one collective alone could be neither priced nor run" '^  A\[E, F\] = .*'
row 'mpirun -n 2 shardline matmul "A[I, J]{U_X} -> A[I_X, J]" --size I=64,J=64' \
  "the same" '^correct: .*'
row 'shardline explain "A[I_{XY}, J]" --mesh X=2,Y=8,Z=2 --size I=128,J=2048 --dtype int8' \
  "there was no int8, and an array alone was refused" '^A\[I_XY, J\]: .*'
row 'shardline explain "A[I, J] * B[J, K] -> C[I, K]" --mesh X=1 --size I=64,J=64,K=64' \
  "silently counted arrays on a TPU as f32, twice the bytes of the book's" '^hardware v5e, bf16'
row 'shardline explain "A[I, J] *_K B[J, K] -> C[I, K]" --mesh X=2 --size I=64,J=64,K=64' \
  "what stands below \`*\` is now checked, not skipped"
row 'shardline explain "A[I_X, J] = AllGather_X(A[I_X, J])" --mesh X=2 --size I=64,J=64' \
  "so is the result of a collective"
row 'mpirun -n 2 shardline matmul "A[I_X, J] -> A[I, J]" --size I=64,J=64 --dtype int8' \
  "int8 has prices but does not run"
