#!/usr/bin/env bash
# A calibration writes a machine for the predictions of other commands, and a record of its figures:
#
#   calibrate_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE
set -euo pipefail
source "$(dirname "$0")/command.sh" "$@"
machine=$folder/machine.json

run calibrate -o "$machine" --seconds 0.001 --threads 1 --json "$folder/record.json"
expect_code 0
expect_lines out 1 "written to $machine"
python3 - "$machine" "$folder/record.json" "$ranks" "$(uname -n)" <<'CHECK' || complain "the files are not right"
import json, sys
machine, record = (json.load(open(path)) for path in sys.argv[1:3])
ranks, host = int(sys.argv[3]), sys.argv[4]

def at(value, pointer):
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value

measured = machine["measured"]
assert measured["host"] == host and measured["threads_per_rank"] == 1 and measured["ranks_per_node"] == ranks
assert measured["mesh"] == f"X={ranks}"
assert measured.get("busy_with_others") == record["busy_with_others"]
assert 0 <= measured.get("busy_with_others", 0) <= 1
for pointer in measured["unreliable"]:
    if not pointer.startswith("/contention"):
        assert at(machine, pointer) >= 0, pointer
assert len(measured["unreliable"]) > 100  # measured once, nothing is reliable
assert record["command"] == "calibrate" and record["gemm"] == machine["compute"] and record["memory"] == machine["memory"]
assert [link["axis"] for link in record["links"]] == (["X"] if ranks > 1 else [])
for link in record["links"]:
    assert link["latency_s"] > 0 and link["bandwidth_one_way"] > 0 and link["bandwidth_two_way"] > 0
    assert link["kind"] == "shared_memory" and link["residual"] >= 0
CHECK

run matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=8,J=8,K=8 --threads 1 --machine "$machine"
expect_code 0
expect_lines err 1 "figures of machine $(uname -n), $machine, hash "

refused "$folder/none/machine.json: cannot be created" calibrate -o "$folder/none/machine.json"
refused "--seconds 0: a positive number" calibrate -o "$machine" --seconds 0
refused "-o $machine: the record of --json goes there" calibrate -o "$machine" --json "$machine"
refused "--output is required" calibrate
finish
