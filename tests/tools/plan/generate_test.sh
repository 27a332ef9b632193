#!/usr/bin/env bash
# `shardline plan --generate`, which starts no MPI:
#
#   generate_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
check=$5
record=$folder/record.json

# generate ARGS...: runs without a launcher.
generate() {
  ran=$(printf '%q ' plan --generate "$@")
  code=0
  timeout 60 "$program" plan --generate "$@" >"$folder/out" 2>"$folder/err" || code=$?
}

# right ARGS...: exit code 0 and a right record.
right() {
  generate "$@" --json "$record"
  expect_code 0
  "$check" "$record" || complain "the record is not right"
}

# refused_generation MESSAGE ARGS...: exit code 2, one line and no output.
refused_generation() {
  local message=$1
  shift
  generate "$@"
  expect_code 2
  [[ $(wc -l <"$folder/err") == 1 ]] || complain "not one line"
  expect_lines err 1 "$message"
  [[ ! -s $folder/out ]] || complain "expected no output"
}

# Chapter 8: LLaMA-3 70B in int8 on a v5e 4x2, batch 32, caches of 8192 tokens: (70.55e9 + 42.95e9) / 6.48e12 s.
book=(--model llama3-70b --hardware v5e --prompt-tokens 7680 --new-tokens 512)
right "${book[@]}" --chips 8 --dtype int8 --batch 32
expect_lines out 1 "decode      17.5 ms a step without links: caches 6.63 ms + the longer of parameters 10.9 ms and FLOPs 2.87 ms"
expect_lines out 1 "FLOPs take longer than reading all weights from 122 sequences on"
expect_lines out 1 "of 128 GB; 42 sequences fit"
# What the derived programs add: two AllReduces in each layer, and that of the embedding.
expect_lines out 1 "programs    20.8 ms a step under tp_rep=Y on {Y:8}: 17.4 ms for what a rank reads and computes + 3.40 ms of"
expect_lines out 1 "collectives, 2 in each layer; AllReduces take 3.20 ms of it"
grep -qE '^\{Y:8\} on 4x2 +tp_rep=Y +20\.8 ms +10\.7 ms +6\.63 ms +2\.82 ms +3\.40 ms +3\.20 ms +2 +2 +1\.84 MB ' "$folder/out" ||
  complain "no row of tp_rep"
grep -qE '^\{X:8\} on 4x2 +dp=X .* no ' "$folder/out" || complain "all weights fit on each chip"
# Exercise 7.7: twice the rounds from 16 chips on.
right "${book[@]}" --chips 16 --dtype int8 --batch 8
expect_lines out 1 "In 1D a rank sends 500 kB in a layer, in 4 rounds; in 2D at least 334 kB, in 8: ws=X,tp_rep=Y on {X:2, Y:8}."
expect_lines out 1 "By bytes alone 2D is ahead from 8 chips on (exercise 7.7)."
right "${book[@]}" --dtype int8 --batch 32
# As many caches on each smallest slice, and 138 on each double.
for row in "bf16 +16 .* 42 +244 " "bf16 +32 .* 138 +244 " "int8 +8 .* 42 +122 " "int8 +16 .* 138 +122 " \
  "int4 +4 .* 42 +61 " "int4 +8 .* 138 +61 "; do
  grep -qE "^$row" "$folder/out" || complain "no row $row"
done
# Too many: how many fit, and where the batch does.
right "${book[@]}" --chips 8 --dtype int8 --batch 43
expect_lines out 1 "42 sequences fit"
expect_lines out 1 "43 sequences do not fit; 16 chips hold them"
# Without --chips the fewest that hold the batch; without --batch all that fit.
right "${book[@]}" --dtype int8 --batch 100
expect_lines out 1 "batch 100 on 16 chips"
right "${book[@]}" --dtype int8
expect_lines out 1 "batch 42 on 8 chips"
# Section 8.1.2: 0.92 s for a prompt in bf16 on 16 chips; about three such servers for one that generates.
right --model llama3-70b --hardware v5e --chips 16 --batch 40 --price-per-hour 1.2
expect_lines out 1 "prefill     917 ms a prompt on 16 chips at 40% of the peak (section 8.1.2); 987 ms with attention counted"
grep -qE '^servers +3\.6[0-9] of 16 chips' "$folder/out" || complain "not about three servers"
grep -qE '^cost +2\.6[0-9] a million new tokens, 0\.64[0-9] a million prompt tokens' "$folder/out" || complain "another cost"
# Exercise 8.3.
right --model llama3-405b --hardware v5e --dtype int8 --prompt-tokens 7680 --step-limit 0.015
grep -A 2 '^Most tokens a chip' "$folder/out" | grep -qE '^ +64 +122 +12\.8 ms' || complain "not batch 122 on 64 chips"
right --model llama3-405b --hardware v5e --dtype int8 --prompt-tokens 7680 --step-limit 1e-6
expect_lines out 1 "of all batches up to 4096: none is so fast"
# A batch asked for raises the cap of 4096.
right --model llama3-8b --hardware v5e --dtype int8 --prompt-tokens 60 --new-tokens 4 --batch 5000 --step-limit 1
expect_lines out 1 "    at most 5000, on up to "
expect_lines out 1 "of all batches up to 5000:"

for more in "--model mixtral-8x7b --hardware h100" "--model mixtral-8x7b --hardware v5e --dtype int4 --batch 3" \
  "--model tiny --hardware cpu" "--model tiny --hardware cpu --dtype int8 --chips 3 --batch 5" "--model gpt3 --chips 12" \
  "--model deepseek-v3 --hardware v5e --dtype int8 --cache-dtype bf16" "--model llama3-8b --chips 1 --context 100000" \
  "--model llama2-13b --hardware v4p --price-per-hour 3.2 --new-tokens 1 --prompt-tokens 1"; do
  # shellcheck disable=SC2086  # several words
  right $more
done
# DeepSeek-V3 caches 576 elements of a token and layer: 61 x 576 bytes in int8. Mixtral reads the experts of its tokens.
right --model deepseek-v3 --hardware v5e --dtype int8
expect_lines out 1 "caches in int8: 35.1 kB a token"
expect_lines out 1 "parameters, 37.6 G that a token passes"
expect_lines out 1 "(a) No program is derived: none has latent attention, shared experts, layers without experts."
right --model llama3-70b --hardware v5e --chips 4096 --batch 8
expect_lines out 1 "(a) No program is derived: v5e has no room for a mesh of 4096 ranks."
right --model mixtral-8x7b --hardware h100 --chips 2 --batch 1
expect_lines out 1 "the longer of parameters 3.84 ms"

# The figure and the page.
generate "${book[@]}" --dtype int8 --plot "$folder/plan.svg" --report "$folder/plan.html"
expect_code 0
for name in "8 chips" "16 chips" "128 chips" "latency of a decode step" "tokens/s of a chip"; do
  grep -qF "$name" "$folder/plan.svg" || complain "the plot has no \"$name\""
  grep -qF "$name" "$folder/plan.html" || complain "the page has no \"$name\""
done
for name in "Derived programs" "reading parameters" "reading caches" "FLOPs" "links"; do
  grep -qF "$name" "$folder/plan.html" || complain "the page has no \"$name\""
done
[[ $(tail -n 1 "$folder/plan.html") == '</html>' ]] || complain "no whole page"

# A machine without links has one rank, of 20 GB.
cat >"$folder/machine.json" <<'JSON'
{"schema": "shardline.machine/1", "name": "alone", "compute": {"f32": {"peak_flops_per_s": 1e11}},
 "memory": {"triad_bytes_per_s": 1e10, "capacity_bytes": 2e10}}
JSON
alone=(--model llama3-8b --machine "$folder/machine.json" --prompt-tokens 6144 --new-tokens 2048)
right "${alone[@]}" --dtype int8
expect_lines out 1 "of 20.0 GB; 22 sequences fit"
grep -qE '^int8 +1 ' "$folder/out" || complain "no slice of one rank"
if grep -qE '^(bf16|int8|int4) +([2-9]|1[0-9]) ' "$folder/out"; then complain "ranks without links make a slice"; fi
refused_generation "machine.json: 32.1 GB of weights in f32 and 1 cache of 8192 tokens need 2 ranks, and the file has no links between ranks; take a file with links, or less of --batch, --context or --dtype" \
  "${alone[@]}"
refused_generation "8.03 GB of weights in int8 and 23 caches of 8192 tokens need 2 ranks, and the file has no links" \
  "${alone[@]}" --dtype int8 --batch 23
refused_generation "--chips 2: --machine $folder/machine.json has no links between ranks" "${alone[@]}" --dtype int8 --chips 2

small=(--model llama3-70b --hardware v5e)
refused_generation '--chips 4: 64.0 GB of memory, 141 GB of weights in bf16, 2.85 GB for one cache of 8704 tokens; 16 chips hold them' "${small[@]}" --chips 4
refused_generation '--batch 0: a whole number from 1' "${small[@]}" --batch 0
refused_generation '--dtype int7: bf16, int8 or int4' "${small[@]}" --dtype int7
refused_generation '--dtype f32: bf16, int8 or int4' "${small[@]}" --dtype f32
refused_generation '--cache-dtype int4: bf16 or int8' "${small[@]}" --cache-dtype int4
refused_generation '--context 8000: less than the 8192 tokens of a prompt and the 512 new ones' "${small[@]}" --context 8000
refused_generation '--step-limit 0: a positive number' "${small[@]}" --step-limit 0
refused_generation '--utilisation 0: ' "${small[@]}" --utilisation 0
refused_generation '--price-per-hour 1e300: a number from 0 to 1000000000' "${small[@]}" --price-per-hour 1e300
refused_generation '--plot p.png: the plot is written as SVG' "${small[@]}" --plot p.png
refused_generation 'the record of --json goes there' "${small[@]}" --plot "$folder/f" --json "$folder/f"
refused_generation 'is not known, nor is there such a file' --model nobody --chips 8
refused_generation 'nearest are v5p, v5e' --model llama3-70b --hardware v5x
for option in --mesh=X=2 --torus=4x4 --strategy=tp=X --pods=2 --seq=8 --batch-tokens=4M --tokens=1e9 --capacity=1 --stages=2 \
  --micro-batches=2 --timetable=1f1b --remat=none; do
  refused_generation "${option%%=*} excludes --generate" "${small[@]}" "$option"
done
for option in --prompt-tokens=8 --new-tokens=8 --context=8 --batch=8 --cache-dtype=int8 --step-limit=1 --plot=p.svg; do
  ran="plan $option"
  code=0
  "$program" plan "${small[@]}" --chips 8 "$option" >"$folder/out" 2>"$folder/err" || code=$?
  expect_code 2
  expect_lines err 1 "${option%%=*} requires --generate"
done
if "$program" plan --generate "${small[@]}" >/dev/full 2>/dev/null; then complain "a full disk is no error"; fi
finish
