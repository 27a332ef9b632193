#!/usr/bin/env bash
# The table of benchmarks/peers on records with known ratios:  table_test.sh TABLE_PY
set -euo pipefail

command -v python3 >/dev/null || { echo "no python3 here; skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# row COLLECTIVE ALGORITHM BYTES MEDIAN [WRONG]
row() {
  echo '{"collective": "'"$1"'", "algorithm": "'"$2"'", "ranks": 2, "bytes": '"$3"', "memory": "arena", "copy_s": 0.5e-6, "time_s": {"median": '"$4"'}, "wrong": '"${5:-0}"'}'
}

# bench WRONG: our record; Open MPI takes 2, 3 and 10 times as long as we do.
bench() {
  local rows
  rows=$(row all_gather auto 1024 1e-6 && row all_gather native 1024 2e-6 && row all_gather auto 1025 2e-3 "$1" &&
    row all_gather native 1025 6e-3 && row all_gather auto 1048576 0.5 && row all_gather native 1048576 5 &&
    row all_to_all auto 1024 1e-6 && row all_to_all native 1024 0.5e-6)
  echo '{"mesh": {"X": 2}, "machine": {"mpi": "An MPI 1.2, built somewhere"}, "valid_timing": false,' \
    '"valid_timing_reason": "too few cores", "rows": ['"$(paste -sd, <<<"$rows")"']}'
}

expect_line() {
  grep -qxE -- "$1" "$folder/out" || { echo "FAILED: no line like '$1' in:"; cat "$folder/out"; failures=$((failures + 1)); }
}

bench 0 >"$folder/bench.json"
echo '{"torch": "9.8", "rows": ['"$(row all_gather gloo 1024 4e-6)"','"$(row all_gather gloo 1048576 3)"']}' >"$folder/gloo.json"
python3 "$1" "$folder/bench.json" "$folder/gloo.json" --json "$folder/all.json" >"$folder/out"
expect_line '2 ranks; An MPI 1.2; Gloo of PyTorch 9.8'
expect_line 'timings are not valid: too few cores'
expect_line 'all_gather +1K +1 us +2 us +4 us +0.5 us +2.00 +4.00'
expect_line 'all_gather +1025 +2 ms +6 ms +n/a +0.5 us +3.00 +n/a'
expect_line 'all_gather +1M +500 ms +5 s +3 s +0.5 us +10.00 +6.00'
expect_line 'all_to_all +1K +1 us +0.5 us +n/a +0.5 us +0.50 +n/a'
expect_line 'all_gather +3.00 +5.00'
expect_line 'all_to_all +0.50 +n/a'
grep -q '"gloo": 5.0' "$folder/all.json" || { echo "FAILED: the record lacks the ratio"; failures=$((failures + 1)); }

# For the docs: a class of sizes has the median of its ratios. Below 1.3 it also gives the copies that ours takes.
docs_rows=$(row all_gather auto 4096 1e-6 && row all_gather native 4096 1.2e-6 && row all_gather auto 67108864 1e-3 &&
  row all_gather native 67108864 3e-3)
echo '{"mesh": {"X": 2}, "machine": {"mpi": "An MPI"}, "valid_timing": true, "busy_with_others": 0.021, "rows": ['"$(paste -sd, <<<"$docs_rows")"']}' >"$folder/docs.json"
echo '{"rows": ['"$(row all_gather auto 1048576 1e-3)"','"$(row all_gather native 1048576 1.5e-3)"']}' >"$folder/cold.json"
python3 "$1" "$folder/docs.json" --docs "$folder/cold.json" >"$folder/out"
expect_line '\| 4 to 64 KiB \| 1\.2 \(copy x 2\.0\) \| n/a \| n/a \| n/a \| 0\.02 \|'
expect_line '\| 64 MiB \| 3\.0 \| n/a \| n/a \| n/a \| 0\.02 \|'
expect_line '\| 1 to 16 MiB, cold caches \| 1\.5 \| n/a \| n/a \| n/a \| unknown \|'
expect_line '\| all_gather \| 1 ms \| 3 ms \| 0\.5 us \|'

bench 3 >"$folder/bench.json"
code=0
python3 "$1" "$folder/bench.json" >"$folder/out" 2>&1 || code=$?
((code == 1)) || { echo "FAILED: exit code $code for a wrong result"; failures=$((failures + 1)); }
expect_line 'wrong: all_gather by auto, 1025 bytes'
expect_line '2 ranks; An MPI 1.2; no Gloo'

((failures == 0)) && echo "the table is right"
