#!/usr/bin/env bash
# Bad input ends every command with one message and exit code 2; help and version with 0:
#
#   refusal_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
good="A[I, J_X] * B[J_X, K] -> C[I, K]"
sizes=I=8,J=8,K=8

run --help
expect_code 0
expect_lines out 1 "Subcommands:"
expect_lines err 0 "shardline"
run --version
expect_code 0
expect_lines out 1 "shardline "
run matmul --help
expect_code 0
expect_lines out 1 "mpirun -n 2 shardline matmul"

refused "no command given; see shardline --help"
refused "there is no command 'frobnicate'; there are matmul, explain, plan, train" frobnicate
refused "there is no command 'frobnicate'; there are matmul, explain, plan, train" frobnicate --size $sizes
refused "--frobnicate; see shardline --help" --frobnicate
refused "--frobnicate; see shardline matmul --help" matmul "$good" --size $sizes --frobnicate
refused "EXPR is required; see shardline matmul --help" matmul --size $sizes
refused "--size is required; see shardline matmul --help" matmul "$good"
for option in --save --load --strategy --model --data --dtype; do
  refused "$option: it is empty" train $option ""
done
refused "--strategy: it is empty" sample --load "$folder" --prompt x --strategy ""
refused "--dtype: it is empty" explain "$good" --size $sizes --mesh X=2 --dtype ""
refused "--dtype: it is empty" plan --model tiny --chips 2 --dtype ""
refused "--no-memory-check: a switch, it takes no value" matmul "$good" --size $sizes --no-memory-check=false
refused "--model llama3-70b: no such file; tiny, mlp, or a Hugging Face config.json" train --model llama3-70b
refused "--show: a switch, it takes no value; see shardline matmul --help" matmul "$good" --size $sizes --show=5
refused "--choose" matmul "$good" --size $sizes --choose first

refused "expected \",\" or \"]\" after a dim here" matmul "A[I; J] * B[J, K] -> C[I, K]" --size $sizes
expect_lines err 1 "  A[I; J] * B[J, K] -> C[I, K]"
expect_lines err 1 "     ^"
refused "dim I is sharded over axis Z, which mesh {X:$ranks} does not have" \
  matmul "A[I_Z, J] * B[J, K] -> C[I, K]" --size $sizes
refused "axis X is used twice" matmul "A[I_X, J_X] * B[J, K] -> C[I, K]" --size $sizes
refused "mesh {X:7}" matmul "$good" --size $sizes --mesh X=7
refused "axis X has size 0" matmul "$good" --size $sizes --mesh X=0
refused "dim J of A[I, J] is in no other operand and not in the result C[I, K]" \
  matmul "A[I, J] * B[L, K] -> C[I, K]" --size $sizes,L=8
refused "dim M of the result C[I, K, M] is in no operand" matmul "A[I, J] * B[J, K] -> C[I, K, M]" --size $sizes,M=8
refused "dim K of B[J_X, K] has no size" matmul "$good" --size I=8,J=8
refused "size K=0 is not positive" matmul "$good" --size I=8,J=8,K=0
refused "no result given; write -> C[...]" matmul "A[I, J] * B[J, K]" --size $sizes
refused "the result C[I, K]{U_X} cannot owe on X" matmul "A[I_X, J] * B[J, K] -> C[I, K]{U_X}" --size $sizes
refused "--choose 1000: there are candidates 1 to " matmul "$good" --size $sizes --choose 1000
refused " for the 2 ranks on a node, but " matmul "$good" --size I=1000000,J=1000000,K=1000000
refused "--dtype f16: f32, bf16 and f64 are known" matmul "$good" --size $sizes --dtype f16
refused "--threads 0: a whole number of at least 1" matmul "$good" --size $sizes --threads 0
refused "$folder/nowhere/record.json" matmul "$good" --size $sizes --json "$folder/nowhere/record.json"
refused "--dtype int8: nothing is run in int8, explain alone prices it; f32, bf16 and f64 are known here" \
  matmul "$good" --size $sizes --dtype int8
refused "--dtype i32: f32, bf16 and f64 are known" matmul "$good" --size $sizes --dtype i32
refused "--threads 100000: at most " matmul "$good" --size $sizes --threads 100000
refused "--seed -1: a whole number from 0 to 18446744073709551615" matmul "$good" --size $sizes --seed -1
refused "--seed 18446744073709551616: a whole number from 0" matmul "$good" --size $sizes --seed 18446744073709551616
refused "--json: it is empty" matmul "$good" --size $sizes --json ""
refused "--mesh: it is empty" matmul "$good" --size $sizes --mesh ""
refused "--hardware" matmul "$good" --size $sizes --hardware
refused "hardware \"v9\" is not known; nearest are v3, v4p, v5p; there are v3, v4p, v5p, v5e, v6e, h100, cpu" matmul "$good" --size $sizes --hardware v9

# Arrays that cannot be counted in 64 bits are refused also without the memory check.
cat >"$folder/wide.json" <<'JSON'
{"model_type": "llama", "hidden_size": 200000, "intermediate_size": 22, "num_hidden_layers": 2,
 "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 2147483647}
JSON
sed 's/"head_dim": 4/"head_dim": 2147483646/; s/200000/1/; s/2147483647/256/' "$folder/wide.json" >"$folder/heads.json"
for strategy in fsdp auto; do
  refused "each rank has 1.72 PB of arrays or more; at most 1.00 PB are counted" \
    train --model "$folder/wide.json" --strategy $strategy --steps 1 --no-memory-check
  refused ", --batch 1000000, --seq 1000000: each rank has " \
    train --model "$folder/heads.json" --strategy $strategy --batch 1000000 --seq 1000000 --no-memory-check
done

refused "EXPR is required; see shardline explain --help" explain --mesh X=4 --size $sizes
refused "--mesh is required; see shardline explain --help" explain "$good" --size $sizes
refused "hardware \"v9\" is not known; nearest are v3, v4p, v5p; there are v3, v4p, v5p, v5e, v6e, h100, cpu" \
  explain "$good" --mesh X=4 --size $sizes --hardware v9
refused "the result C[I, K]{U_X} cannot owe on X" explain "A[I_X, J] * B[J, K] -> C[I, K]{U_X}" --mesh X=4 --size $sizes
refused "$folder/nowhere/record.json" explain "$good" --mesh X=4 --size $sizes --json "$folder/nowhere/record.json"
run explain --help
expect_code 0
expect_lines out 1 "shardline explain \"In[B, D]"
expect_lines err 0 "shardline"
finish
