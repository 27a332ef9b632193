section "Wrong statements"

row 'mpirun -n 4 shardline matmul "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]" --mesh X=2,Y=2 --size I=4,J=6,K=5' \
  "said of 72 FLOPs a rank: products at 0% of the best rate, more ranks would make it faster" \
  'The work is too small to be worth distributing'
row 'mpirun -n 2 shardline matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=5,J=7,K=3 --trace t.json' \
  "a slice was 5 us long and its \`measured_us\` was the time of another rank" \
  'trace of 5 steps in t.json'
checked "every slice says how long it is" python3 -c '
import json
slices = [e for e in json.load(open("t.json"))["traceEvents"] if e.get("cat") in ("compute", "collective")]
assert slices and all(e["dur"] == e["args"]["measured_us"] for e in slices)'
row 'shardline plan --model llama3-8b --hardware v5e --chips 16 --batch-tokens 1G' \
  'it said `2.6214e+05 sequences`' \
  'batch of [0-9]+ tokens, .* sequences of [0-9]+'
