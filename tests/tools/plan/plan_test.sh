#!/usr/bin/env bash
# `shardline plan` runs without mpirun and prints once under it:
#
#   plan_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
check=$5
record=$folder/record.json

# alone ARGS...: runs without a launcher.
alone() {
  ran=$(printf '%q ' "$@")
  code=0
  timeout 60 "$program" "$@" >"$folder/out" 2>"$folder/err" || code=$?
}

# refused_alone MESSAGE ARGS...: exit code 2, one line and no output.
refused_alone() {
  local message=$1
  shift
  alone plan "$@"
  expect_code 2
  [[ $(wc -l <"$folder/err") == 1 ]] || complain "not one line"
  expect_lines err 1 "shardline: "
  expect_lines err 1 "$message"
  [[ ! -s $folder/out ]] || complain "expected no output"
}

alone plan --model llama3-70b --hardware v5p --chips 8960 --batch-tokens 4M --json "$record"
expect_code 0
expect_lines out 1 "8192 of the 8960 chips"
expect_lines out 1 "468.1 tokens a chip"
share=$(sed -nE 's/.*: ([0-9.]+)% of the peak of .*/\1/p' "$folder/out")
awk -v share="$share" 'BEGIN { exit !(share > 50 && share <= 100) }' || complain "$share% of the peak"
grep -qE "^forward pass +1548\.14 +2048 x 4 " "$folder/out" || complain "the forward pass does not choose 2048 x 4"
grep -qE "activations kept +[0-9.]+ +1024 x 8 " "$folder/out" || complain "both passes do not choose 1024 x 8"
grep -qE "gathered again +[0-9.]+ +1024 x 8 " "$folder/out" || complain "regathering does not choose 1024 x 8"
# Book section 6.3: 1024 sequences for 2048 ranks of FSDP: 1024 x 2 x 4. The search finds it, and one command prices it.
grep -A 2 '^mesh, on' "$folder/out" | grep -qE '^\{X:1024, C:2, Y:4\} on 64x32, 4 +fsdp=X,cp_fsdp=C,tp=Y +whole ' ||
  complain "1024 x 2 x 4 is not the best"
expect_lines out 1 "The batch has 1024 sequences: 1024-way data x 2-way context parallelism"
expect_lines out 1 "Of X = 2048 in the forward pass, 1024 split the batch and 2 each sequence"
expect_lines out 1 "(section 4.3, of layers with d_ff 4 D and all heads with keys: 8 D = 65536)"
"$check" "$record" || complain "the record is not right"
found=$(grep -m 1 '^{X:1024, C:2, Y:4}' "$folder/out")
for strategy in fsdp=X,cp_fsdp=C,tp=Y fsdp=X,cp=C,tp=Y fsdp=X,cp_heads=C,tp=Y zero1=X,cp=C,tp_seq=Y; do
  alone plan --model llama3-70b --mesh X=1024:2,C=2:0,Y=4:1 --strategy $strategy --batch-tokens 4M --json "$record"
  expect_code 0
  "$check" "$record" || complain "the record of $strategy is not right"
  if [[ $strategy == fsdp=X,cp_fsdp=C,tp=Y ]]; then expect_lines out 1 "$found"; fi
done
# One sequence for 15 chips.
alone plan --model llama3-8b --torus 3x5 --batch-tokens 4K --seq 4096
expect_code 0
grep -qE '^\{C:3, Y:5\} on 3, 5 +cp=C,tp=Y ' "$folder/out" || complain "one sequence is not split"
alone plan --model llama3-8b --mesh C=15 --strategy cp=C --batch-tokens 4K --seq 4096
expect_code 0
expect_lines out 1 "The batch has 1 sequence: 15-way context parallelism. Each sequence is on 15 ranks"

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 8192, "intermediate_size": 32768, "num_hidden_layers": 8, "num_attention_heads": 64,
 "vocab_size": 1000, "rope_scaling": {"type": "linear", "factor": 2.0}}
JSON
# Book section 5.1.4: 64 chips, 48,000 tokens, d_ff 32,768.
alone plan --model "$folder/config.json" --chips 64 --batch-tokens 48000 --seq 1000 --json "$record"
expect_code 0
grep -qE "^forward pass +13\.69 +16 x 4 " "$folder/out" || complain "the forward pass does not choose 16 x 4"
grep -qE "activations kept +[0-9.]+ +8 x 8 " "$folder/out" || complain "both passes do not choose 8 x 8"
grep -qE "gathered again +[0-9.]+ +16 x 4 " "$folder/out" || complain "regathering does not choose 16 x 4"
"$check" "$record" || complain "the record is not right"

for more in "--hardware v5e --chips 256" "--hardware h100 --chips 8" "--hardware cpu --chips 2" "--chips 1" \
  "--torus 4x4x8" "--mesh X=16:2,Y=4:1 --strategy fsdp=X,tp=Y" "--chips 17920 --pods 2" "--mesh X=16:2,Y=4:1 --pods 2 --strategy dp=pods,fsdp=X,tp=Y" "--mesh X=6,Y=3 --dtype f32" \
  "--mesh Z=4,X=2,Y=2" "--chips 64 --stages 4 --micro-batches 16 --timetable zb_h1 --remat stream"; do
  # shellcheck disable=SC2086  # several words
  alone plan --model llama3-8b --batch-tokens 1M $more --json "$record"
  expect_code 0
  "$check" "$record" || complain "the record is not right"
done
for model in tiny llama2-13b llama3-405b qwen2.5-7b gemma-7b gpt3; do
  alone plan --model $model --chips 512 --batch-tokens 1M --price-per-hour 2.5 --json "$record"
  expect_code 0
  "$check" "$record" || complain "the record of $model is not right"
done

# Experts: Mixtral on v5e, from 1.97e14 / 8.1e11 / 2 * 8 / 2 = 486 tokens in int8.
alone plan --model mixtral-8x7b --hardware v5e --mesh X=16,Y=4 --strategy fsdp=X,tp_ep=Y --batch-tokens 1M --json "$record"
expect_code 0
expect_lines out 1 "an expert has room for 1.25 times its even share"
expect_lines out 1 "8 experts of which a token passes 2"
expect_lines out 1 "parameters  46.7 G, 12.9 G that a token passes: experts 45.1 G"
expect_lines out 1 "= 973 tokens at a time with weights in bf16, from 486 with weights in int8;"
"$check" "$record" || complain "the record of mixtral-8x7b is not right"
# The search finds experts over the ranks of tensor parallelism; each role has a price.
alone plan --model mixtral-8x7b --chips 2048 --batch-tokens 16M --json "$folder/search.json"
expect_code 0
grep -A 2 '^mesh, on' "$folder/out" | grep -qE '^\{X:1024, Y:2\} on 32x32, 2 +fsdp=X,tp_ep=Y +whole ' || complain "tp_ep is not the best"
"$check" "$folder/search.json" || complain "the record of a search with experts is not right"
for strategy in ep_fsdp=Z,fsdp=X ep=Z,zero1=X; do
  grep -qF "\"$strategy\"" "$folder/search.json" || complain "no candidate has $strategy"
  alone plan --model mixtral-8x7b --mesh Z=8,X=8 --strategy $strategy --batch-tokens 1M --capacity 0 --json "$record"
  expect_code 0
  "$check" "$record" || complain "the record of $strategy is not right"
done
refused_alone '--strategy ep=X: the model has no experts to split' --model llama3-8b --mesh X=8 --strategy ep=X
refused_alone '--capacity 1: the model has no experts' --model llama3-8b --chips 8 --capacity 1
# Latent attention is counted and in the closed form; no program has it.
alone plan --model deepseek-v3 --hardware v5e --chips 256 --batch-tokens 16M --report "$folder/plan.html" --json "$record"
expect_code 0
expect_lines out 1 "parameters  671 G, 37.6 G that a token passes"
expect_lines out 1 "from 3891 with weights in int8;"
expect_lines out 1 "(b) The whole step is not priced: no program has latent attention"
"$check" "$record" || complain "the record of deepseek-v3 is not right"
grep -qF "no step is priced" "$folder/plan.html" || complain "the page does not say that no step is priced"
for option in "--strategy fsdp=X --mesh X=8" "--timetable 1f1b --chips 8" "--remat block --chips 8"; do
  # shellcheck disable=SC2086  # several words
  refused_alone "no step of deepseek-v3 is priced, as no program has latent attention" --model deepseek-v3 $option
done

# One pipeline: eight times as many micro-batches as stages hold all stages busy, but for a ninth of the step or so.
alone plan --model llama3-8b --mesh Z=4,X=2 --strategy pp=Z,dp=X --batch-tokens 1M --micro-batches 32 --timetable 1f1b
expect_code 0
grep -qE "^\{Z:4, X:2\} .* pp=Z,dp=X +1f1b of 32" "$folder/out" || complain "no pipeline as it was asked for"
share=$(sed -nE 's/^Its stages wait for each other ([0-9.]+)% .*/\1/p' "$folder/out")
awk -v share="$share" 'BEGIN { exit !(share > 5 && share < 20) }' || complain "stages wait for $share% of the step"

refused_alone 'unknown timetable "1b1f"; legal: 1f1b' --model llama3-8b --chips 8 --timetable 1b1f
refused_alone 'one of none, matmuls, stream, block' --model llama3-8b --chips 8 --remat all
refused_alone '--micro-batches 7: a divisor of the 256 sequences' --model llama3-8b --chips 8 --batch-tokens 1M --micro-batches 7
refused_alone 'role pp is on axes X and Z' --model llama3-8b --mesh X=2,Z=2 --strategy pp=X,pp=Z
refused_alone 'nearest are llama3-8b' --model llama3-7b --chips 8
refused_alone 'nearest are v5p, v5e' --model llama3-8b --hardware v5x --chips 8
refused_alone 'give --chips N' --model llama3-8b
refused_alone '--chips 0: a whole number from 1 to 16777216' --model llama3-8b --chips 0
refused_alone '16x20x28 has 8960' --model llama3-8b --torus 16x20x28 --chips 100
refused_alone 'no whole axes of torus 16x20x28 make' --model llama3-8b --torus 16x20x28 --mesh X=2240,Y=4
refused_alone 'v5p has 3' --model llama3-8b --mesh X=8:2,Y=4:2
refused_alone '"2:3" is not a whole number of at least 0' --model llama3-8b --mesh X=8:2:3
refused_alone '"Y" is not NAME=SIZE' --model llama3-8b --mesh X=8:2,Y
refused_alone 'v5e has 2 torus axes' --model llama3-8b --hardware v5e --torus 4x4x4
refused_alone 'have at most 16' --model llama3-8b --hardware v5e --torus 32x4
refused_alone 'fewer than the 2048 ranks' --model llama3-8b --mesh X=2048:2,Y=4:1 --batch-tokens 512 --seq 512 --strategy fsdp=X,tp=Y
refused_alone 'not a size: a whole number of tokens' --model llama3-8b --chips 8 --batch-tokens 4Q
refused_alone 'not a multiple of --pods' --model llama3-8b --chips 9 --pods 2
refused_alone 'what joins pods of h100' --model llama3-8b --chips 8 --pods 2 --hardware h100
refused_alone 'needs --mesh' --model llama3-8b --chips 8 --strategy fsdp=X
refused_alone '--utilisation 1.5' --model llama3-8b --chips 8 --utilisation 1.5
refused_alone 'unknown role "zero9"' --model llama3-8b --mesh X=8 --strategy zero9=X
refused_alone '--seq 4096: from 1 to 1024' --model llama3-8b --chips 8 --batch-tokens 1K
refused_alone 'it has at most 256; --pods' --model llama3-8b --hardware v5e --chips 512
refused_alone '--chips 99999999: a whole number from 1 to 16777216' --model llama3-8b --chips 99999999
refused_alone '1024 sequences of 4096, fewer than the 2048 ranks over which fsdp=X,tp=Y on {X:2048, Y:4} splits the batch; --mesh X=1024,C=2,Y=4 --strategy fsdp=X,cp_fsdp=C,tp=Y splits sequences too' \
  --model llama3-70b --mesh X=2048,Y=4 --strategy fsdp=X,tp=Y --batch-tokens 4M
refused_alone '1 sequence of 4096, fewer than the 15 ranks' --model llama3-8b --torus 3x5 --mesh X=15 --batch-tokens 4K
refused_alone 'no way to give every rank tokens; a sequence has 4096, and 8 heads' --model llama3-8b --mesh C=16 --strategy cp_heads=C
refused_alone '--seq 3000: does not divide the 1048576 tokens' --model llama3-8b --chips 8 --batch-tokens 1M --seq 3000
refused_alone '--stages 3: a power of two from 1 to 32' --model llama3-8b --chips 64 --stages 3
refused_alone 'no torus axes' --model llama3-8b --hardware h100 --mesh X=4:2
refused_alone '--torus says how it lies' --model llama3-8b --torus 4x4 --mesh X=16:1
refused_alone 'is read from there' --model "$folder/config.json" --chips 8 --json "$folder/config.json"
refused_alone 'goes there' --model llama3-8b --chips 8 --json "$folder/f" --report "$folder/./f"
refused_alone 'int7' --model llama3-8b --chips 8 --dtype int7
refused_alone 'nowhere/r.json' --model llama3-8b --chips 8 --json "$folder/nowhere/r.json"

# A model that this machine has not seen: the plan equals the prediction of training.
cat >"$folder/own.json" <<'JSON'
{"model_type": "llama", "hidden_size": 96, "intermediate_size": 260, "num_hidden_layers": 6, "num_attention_heads": 6,
 "num_key_value_heads": 2, "vocab_size": 300, "rms_norm_eps": 1e-5}
JSON
for i in {1..400}; do echo "line $((i * i % 97));"; done >"$folder/text"
run calibrate --seconds 2 -o "$folder/machine.json"
expect_code 0
for role in dp zero1 zero2 fsdp tp cp cp_fsdp; do
  run train --model "$folder/own.json" --data "$folder/text" --batch 6 --seq 32 --steps 2 --strategy "$role=X" \
    --machine "$folder/machine.json" --json "$folder/train.json"
  expect_code 0
  alone plan --model "$folder/own.json" --machine "$folder/machine.json" --mesh "X=$ranks" --strategy "$role=X" \
    --batch-tokens 192 --seq 32 --json "$record"
  expect_code 0
  "$check" --train "$record" "$folder/train.json" >"$folder/check" 2>&1 || complain "$(cat "$folder/check")"
done
run train --model "$folder/own.json" --data "$folder/text" --batch 6 --seq 32 --steps 2 --strategy pp=X --micro-batches 6 \
  --timetable 1f1b --machine "$folder/machine.json" --json "$folder/train.json"
expect_code 0
alone plan --model "$folder/own.json" --machine "$folder/machine.json" --mesh "X=$ranks" --strategy pp=X \
  --batch-tokens 192 --seq 32 --micro-batches 6 --timetable 1f1b --json "$record"
expect_code 0
"$check" --train "$record" "$folder/train.json" >"$folder/check" 2>&1 || complain "$(cat "$folder/check")"
# Generation on the calibrated machine: its memory, its rates, and its links if there is more than one rank.
alone plan --generate --model "$folder/own.json" --machine "$folder/machine.json" --chips "$ranks" --batch 2 --dtype int8
expect_code 0
expect_lines out 1 "of products in f32; "
expect_lines out 1 "batch 2 on $ranks chip"
if ((ranks > 1)); then
  expect_lines out 1 "links       "
  grep -qE "^\{X:$ranks\} +fsdp=X " "$folder/out" || complain "no derived program on the axis of the file"
fi
sed 's/"X"/"A"/' "$folder/machine.json" >"$folder/other_axis.json"
refused_alone 'no link for axis X or Y' --model tiny --machine "$folder/other_axis.json" --chips 2

alone plan --model tiny --chips 1 --batch-tokens 128K --report "$folder/plan.html" --json "$record"
expect_code 0
"$check" "$record" || complain "the record of one chip is not right"
for text in "Where attention matters" "T = 8 D = " "as computed: causal mask" "as the book counts: no mask" "this plan"; do
  grep -qF "$text" "$folder/plan.html" || complain "the page has no \"$text\""
done
if "$program" plan --model tiny --chips 8 >/dev/full 2>/dev/null; then complain "a full disk is no error"; fi

run plan --model tiny --chips 8 --batch-tokens 64K --seq 128
expect_code 0
expect_lines out 1 "hardware v5p: "
refused "is not known, nor is there such a file" plan --model nobody --chips 8
finish
