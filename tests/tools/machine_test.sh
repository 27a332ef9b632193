#!/usr/bin/env bash
# Machines in files: their figures predict and decide, and a fault in a file gives one line:
#
#   machine_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
record_check=$5
host=$(uname -n)
product="A[I_X, J] * B[J, K] -> C[I_X, K]"
reduction="A[I, J_X] * B[J_X, K] -> C[I, K]"
sizes=I=12,J=8,K=8

# machine NAME PEAK OVERHEAD TUNING [SED...]: a file NAME, measured here and edited by sed.
machine() {
  cat >"$folder/$1.json" <<JSON
{
  "schema": "shardline.machine/1",
  "name": "$1",
  "measured": {
    "host": "$host", "date": "2026-01-31T12:00:00Z", "mesh": "X=$ranks", "nodes": 1, "cores": 64,
    "ranks_per_node": $ranks, "threads_per_rank": 1, "blas": "some", "mpi": "some", "commit": "some"
  },
  "compute": {
    "f32": {"peak_flops_per_s": $2},
    "f64": {"peak_flops_per_s": $2}
  },
  "memory": {"triad_bytes_per_s": 1e30},
  "overhead_s": $3,
  "resources": {
    "node": {"kind": "shared_memory", "latency_s": 0, "bandwidth_one_way": 1e30, "bandwidth_two_way": 1e30}
  },
  "axes": {"X": "node"}$4
}
JSON
  sed -i "${@:5}" -e '' "$folder/$1.json"
}

# agrees ARGS...: the run is right, and its record has the figures of the machine `idle`.
agrees() {
  rm -f "$folder/record.json"
  run "$@" --threads 1 --machine "$folder/idle.json" --json "$folder/record.json"
  expect_code 0
  expect_lines err 1 "figures of machine idle, $folder/idle.json, hash "
  expect_lines err 0 "was measured"
  "$record_check" "$folder/record.json" idle "$host" "${carriers[@]}" || complain "the record is not right"
}

tuning=', "tuning": {"rules": [
  {"kind": "all_gather", "link": "node", "most_ranks": null, "most_bytes": null, "algorithm": "bidirectional"},
  {"kind": "reduce_scatter", "link": "node", "most_ranks": null, "most_bytes": null, "algorithm": "doubling"},
  {"kind": "all_reduce", "link": "node", "most_ranks": null, "most_bytes": null, "algorithm": "ring"}],
  "node_segment_bytes": 1000, "network_segment_bytes": 1000, "one_pass_bytes_of_two": 0, "one_pass_bytes_of_more": 0}'
machine idle 1e30 1024 "$tuning"
carriers=()
agrees matmul "$product" --size $sizes
agrees matmul "$reduction" --size $sizes --dtype bf16
agrees train --data "$0" --steps 2 --batch 4 --seq 8
if ((ranks > 1)); then carriers=(all_gather=bidirectional reduce_scatter=doubling all_reduce=ring); fi
agrees bench all_gather reduce_scatter all_reduce --counts 64,4000 --seconds 0.002
carriers=()

# The output, the model and the record name the machine whose figures decided.
agrees train --data "$0" --steps 1 --batch 4 --seq 8 --strategy auto --save "$folder/model"
if ((ranks > 1)); then expect_lines out 1 "strategies by prices of machine idle, "; fi
expect_lines out 1 "machine idle, each of $ranks ranks: matmul "
expect_lines out 1 "of the matmul rate of machine idle (MFU)"
hash=$(sed -n 's/.*"hash": "\(.*\)".*/\1/p' "$folder/record.json")
grep -qa "\"shardline_machine\":\"$hash\"" "$folder/model/model.safetensors" || complain "the model does not name the machine"
run explain "$reduction" --mesh "X=$ranks" --size $sizes --machine "$folder/idle.json" --json "$folder/explain.json"
expect_code 0
expect_lines out 1 "machine idle, f32: matmul "
"$record_check" "$folder/explain.json" idle "$host" || complain "the record of explain is not right"

# 12 * 8 * 8 products and sums over the ranks, at 1024 FLOP/s, and half a second
machine slow 1024 0.5 ""
run matmul "$product" --size $sizes --machine "$folder/slow.json" --json "$folder/record.json"
expect_code 0
seconds=("" 2.0 1.25 1.0 0.875)
grep -q "\"predicted_s\": ${seconds[$ranks]}," "$folder/record.json" || complain "not predicted ${seconds[$ranks]} s"

# Without a file nothing changes.
run matmul "$product" --size $sizes --json "$folder/record.json"
expect_code 0
grep -q '"machine_file": null' "$folder/record.json" || complain "a machine file without --machine"

if ((ranks != 2)); then finish && exit; fi

# Another machine or another way to use it
machine elsewhere 1e9 0 "" -e "s/\"host\": \"[^\"]*\"/\"host\": \"elsewhere\"/" -e 's/"threads_per_rank": 1/"threads_per_rank": 77/' \
  -e 's/"commit": "some"/"commit": "some", "busy_with_others": 0.25/'
for command in "bench --counts 1" "matmul '$product' --size $sizes" "train --steps 1" \
  "explain '$product' --mesh X=$ranks --size $sizes"; do
  eval "refused 'elsewhere.json: measured on host elsewhere, this is $host; --other-machine takes' \
    $command --machine '$folder/elsewhere.json'"
done
run bench all_gather --counts 1 --seconds 0.001 --threads 1 --mesh "X=$ranks,Y=1" \
  --machine "$folder/elsewhere.json" --other-machine --json "$folder/record.json"
expect_code 0
expect_lines err 1 "elsewhere.json was measured on mesh {X:$ranks}, this is {X:$ranks, Y:1}"
expect_lines err 1 "elsewhere.json was measured with 77 threads per rank, here are 1"
expect_lines err 1 "elsewhere.json was measured while other work took 0.25 of the cores' time"
expect_lines err 0 "ranks per node"
grep -q "was measured with 77 threads per rank, here are 1" "$folder/record.json" || complain "the record has no difference"

# Faulty files: one line, and existing files do not change.
echo untouched >"$folder/record.json"
entries=$(ls "$folder" | sort)
bad() {
  local message=$1 script=$2
  sed "$script" "$folder/idle.json" >"$folder/bad.json"
  refused "$folder/bad.json: $message" bench all_gather --counts 1 --machine "$folder/bad.json" --json "$folder/record.json"
  refused "$folder/bad.json: $message" explain "$product" --mesh "X=$ranks" --size $sizes --machine "$folder/bad.json" \
    --json "$folder/record.json"
  rm "$folder/bad.json"
}
bad "memroy is not a key of a machine; nearest are memory, " 's/"memory": /"memroy": /'
bad "resources.node.bandwidth_one_way is -4000000000.0: a positive number" 's/"bandwidth_one_way": 1e30/"bandwidth_one_way": -4e9/'
bad "axes.X is \"nod\": one of node" 's/"X": "node"/"X": "nod"/'
bad "not JSON: " 's/"schema"/schema/'
refused "machine idle has no link for axis Y; it has links for X" bench all_gather --counts 1 --mesh "Y=$ranks" \
  --machine "$folder/idle.json"
refused "machine idle has no link for axis Y; it has links for X" \
  explain "A[I_Y, J] * B[J, K] -> C[I_Y, K]" --mesh "Y=$ranks" --size $sizes --machine "$folder/idle.json"
sed 's/"f64"/"bf16"/' "$folder/idle.json" >"$folder/bad.json"
refused "machine idle has no figures for f64; it has f32, bf16" matmul "$product" --size $sizes --dtype f64 \
  --machine "$folder/bad.json"
rm "$folder/bad.json"
refused "$folder/nowhere/record.json" matmul "$product" --size $sizes --machine "$folder/idle.json" \
  --json "$folder/nowhere/record.json"
refused "$folder/missing.json: no such file" matmul "$product" --size $sizes --machine "$folder/missing.json"
refused "--machine: it is empty" matmul "$product" --size $sizes --machine ""
refused "--machine excludes --hardware" matmul "$product" --size $sizes --machine "$folder/idle.json" --hardware cpu
refused "--machine excludes --hardware" explain "$product" --mesh X=1 --size $sizes --machine "$folder/idle.json" --hardware cpu
refused "--other-machine requires --machine" bench --other-machine
[[ $(ls "$folder" | sort) == "$entries" ]] || complain "files came or went: $(ls "$folder")"
[[ $(<"$folder/record.json") == untouched ]] || complain "a refused run wrote its record"
# A file from a processor with other instructions binds the library of the run's type only.
machine foreign 1e30 0 "" -e 's/"f64": {/"bf16": {"peak_flops_per_s": 1e30, "library": "onednn"}, "f64": {/'
export ONEDNN_MAX_CPU_ISA=AVX2
run matmul "$product" --size $sizes --machine "$folder/foreign.json"
expect_code 0
refused "products of bf16 are by oneDNN there; the processors here have no instructions for that" \
  matmul "$product" --size $sizes --dtype bf16 --machine "$folder/foreign.json"
unset ONEDNN_MAX_CPU_ISA
finish
