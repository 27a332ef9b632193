#!/usr/bin/env bash
# The parts of benchmarks/peers/training.sh that need neither PyTorch nor a run:  training_test.sh PEERS_FOLDER
set -euo pipefail

python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || { echo "no NumPy for $python here; skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONDONTWRITEBYTECODE=1

"$python" - "$1" "$folder" <<'PYTHON'
import json, math, sys

sys.path.insert(0, sys.argv[1])
import numpy
from training_inputs import CounterRng, Samples, learning_rate, mix, read_safetensors
from training_where import products

# SplitMix64 of seed 0 by its authors, and the values that tests/runtime/base/base_test.cpp keeps.
assert [mix(i * 0x9E3779B97F4A7C15 & (1 << 64) - 1) for i in range(3)] == [
    0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
rng = CounterRng(1, "W")
assert (rng.bits(0), rng.bits(1)) == (0x72CF0C6110462DBD, 0x11A6FB3035E02188)
assert rng.below(0, 1000) == int(0x72CF0C6110462DBD / 2**64 * 1000)

# 251 is prime, so every window of 3 bytes says where it begins; 10 bytes are held out.
text = bytes(i % 251 for i in range(109))
samples = Samples(text, 3, seed=5)
ids, labels = samples.batch(7, 400)
assert ids.shape == labels.shape == (400, 3)
assert (labels == ids + 1).all() and (ids[:, 1:] == labels[:, :-1]).all()
assert ids[:, 0].min() == 0 and labels.max() == 98
assert ids[0, 0] == CounterRng(5, "training samples").below(7, 96)
assert (samples.batch(8, 1)[0] == ids[1:2]).all()

header = json.dumps({"__metadata__": {"format": "pt"},
                     "a": {"dtype": "F64", "shape": [1, 1], "data_offsets": [0, 8]},
                     "b": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},
                     "none": {"dtype": "F32", "shape": [0, 7], "data_offsets": [32, 32]}}).encode()
path = sys.argv[2] + "/f.safetensors"
with open(path, "wb") as file:
    file.write(len(header).to_bytes(8, "little") + header)
    file.write(b"\0\0\0\0\0\0\xf8\x3f" + b"\0\0\x80\x3f\0\0\0\xc0" + b"\0\0\0\x3f" * 4)
arrays = read_safetensors(path)
assert sorted(arrays) == ["a", "b", "none"]
assert arrays["a"].dtype == numpy.float64 and arrays["a"].tolist() == [[1.5]]
assert arrays["b"].dtype == numpy.float32 and arrays["b"].tolist() == [[1, -2, 0.5], [0.5, 0.5, 0.5]]
assert arrays["none"].shape == (0, 7)

program = [f"{line}[B, T, D] = {line}x[B, T, K, H] *_KH W_{line}[D, K, H]" for line in ("q1", "q2")]
program += ["x1[B, T, D] = h1[B, T, D] + d1[B, T, D]", "dW_1[V, D] = z[B, T, D] *_BT l[B, T, V]"]
assert products(program) == {"A[B, T, K, H] * B[D, K, H] -> C[B, T, D]": 2, "A[B, T, D] * B[B, T, V] -> C[V, D]": 1}

rates = [learning_rate(2.0, step, 40) for step in range(1, 41)]
assert rates[:4] == [0.5, 1.0, 1.5, 2.0] and rates == sorted(rates[:4]) + sorted(rates[4:], reverse=True)
assert math.isclose(rates[21], 2.0 * 0.55) and math.isclose(rates[39], 0.2)
PYTHON

failures=0
fail() { echo "FAILED: $1"; failures=$((failures + 1)); }
expect_line() { grep -qxE -- "$1" "$folder/out" || { fail "no line like '$1' in:"; cat "$folder/out"; }; }

# record ROUND WAY LAST_LOSS RATE: six steps. RATE is the median without the first two.
record() {
  local steps='' losses=(5 4 3 2.5 2.25 "$3") tenths=(1 1 8 9 11 12) i
  for i in {0..5}; do
    steps+=', {"loss": '"${losses[$i]}"', "tokens_per_s": '$(($4 * tenths[i] / 10))'}'
  done
  mkdir -p "$folder/round-$1"
  echo '{"versions": {"torch": "9.8", "vectors": "WIDE", "blas": "libblas", "onednn": "7.6"}, "machine": {"blas": "a BLAS"},
    "parameters": 77, "busy_with_others": 0.0'"$1"', "steps": ['"${steps:2}"']}' >"$folder/round-$1/$2.json"
}

printf '%s\n' torch-f32-1-process ours-f32-1-rank torch-f32-2-threads torch-f32-2-ddp ours-f32-2-dp torch-bf16-1-process \
  ours-bf16-1-rank >"$folder/ways"
ours=(500 300 400)
for round in 0 1 2; do
  record $round torch-f32-1-process 2 $((100 + 100 * round))  # the ratios of the rounds are 5, 1.5 and 1.33
  record $round ours-f32-1-rank 2.0001 "${ours[$round]}"
  record $round torch-f32-2-threads 2 250
  record $round torch-f32-2-ddp 2 400
  record $round ours-f32-2-dp 2 600
  record $round torch-bf16-1-process 2.1 800
done
"$python" "$1/training_table.py" "$folder" --json "$folder/all.json" >"$folder/out"
expect_line 'PyTorch 9\.8, WIDE, libblas, oneDNN 7\.6'
expect_line 'ours: a BLAS'
expect_line '3 x 6 steps; .*'
expect_line 'PyTorch f32, 1 core, process +200 +100% +1\.00 +1\.00 +2% +0\.0e\+00'
expect_line 'ours f32, 1 core, rank +400 +50% +2\.00 +1\.50 +2% +5\.0e-05'
expect_line 'PyTorch f32, 2 cores, threads +250 +0% +0\.62 +0\.62 +2% +0\.0e\+00'
expect_line 'ours f32, 2 cores, dp +600 +0% +1\.50 +1\.50 +2% +0\.0e\+00'
expect_line 'ours bf16, 1 core, rank +n/a +n/a +n/a +n/a +n/a +n/a'
expect_line '1 core, f32 +2\.00 +1\.50 +ours-f32-1-rank +torch-f32-1-process'
expect_line '1 core, bf16 +n/a +n/a +n/a +torch-bf16-1-process'
expect_line '1 core, either +0\.50 +0\.50 +ours-f32-1-rank +torch-bf16-1-process'
expect_line '2 cores, f32 +1\.50 +1\.50 +ours-f32-2-dp +torch-f32-2-ddp'
if grep -q 'timings are not valid' "$folder/out"; then fail "2% of other work is called too much"; fi
grep -q '"losses_agree": true' "$folder/all.json" || fail "the record does not say that the losses agree"

sed -i 's/"busy_with_others": 0.01/"busy_with_others": 0.06/' "$folder/round-1/ours-f32-2-dp.json"
"$python" "$1/training_table.py" "$folder" >"$folder/out"
expect_line "timings are not valid: other work took 6% of the cores' time from a way"

for loss in 2.0003 NaN; do
  record 1 ours-f32-2-dp "$loss" 600
  code=0
  "$python" "$1/training_table.py" "$folder" >"$folder/out" 2>&1 || code=$?
  ((code == 1)) || fail "exit code $code for a loss of $loss instead of 2"
  expect_line "ours-f32-2-dp: a loss differs from PyTorch's by more than 0\.0001 of it"
done

((failures == 0)) && echo "samples, weights and the table are right"
