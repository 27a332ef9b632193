#!/usr/bin/env bash
# The book's MLP by the command: the four listings of section 5.1, equal losses under every strategy, and refusals:
#
#   mlp_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
record_check=$5

# lines_of PASS: the program's lines of a pass as printed, without their columns.
lines_of() {
  awk -v pass="$1:" '/^(forward pass|backward pass|update).*:$/ { inside = $0 == pass; next } /^$/ { inside = 0 } inside' \
    "$folder/out" | sed -E 's/ +[0-9.]+ [kMG]?B +[0-9.]+ [kMG]?FLOP .*//'
}

# lists STRATEGY MESH: the listing on standard input is what the command prints, line by line, each with its times.
lists() {
  cat >"$folder/book"
  run train --model mlp --size B=24,D=8,F=12 --steps 3 --strategy "$1" --mesh "$2"
  expect_code 0
  { echo "forward pass:"; lines_of "forward pass"; echo "backward pass:"; lines_of "backward pass"; } >"$folder/listing"
  diff -u "$folder/book" "$folder/listing" || complain "this is not the listing of $1"
  local lines timed
  lines=$(grep -c " = " "$folder/listing")
  timed=$(sed -n '/^forward pass:/,/^update:/p' "$folder/out" |
    grep -cE ' = .* [0-9.]+ [kMG]?B +[0-9.]+ [kMG]?FLOP( +[0-9.]+ (ns|us|ms|s)){3} +[0-9.]+  (compute|memory|link|latency)')
  ((lines == timed)) || complain "$timed of $lines lines have their times"
}

# What the book writes as "Loss = ..." and "dOut = ..." is here the squared error, its sum over the ranks and its
# derivative. The rest is the book's text, with every AllGather and ReduceScatter over its axis.
if ((ranks > 1)); then
  lists dp "X=$ranks" <<'TEXT'
forward pass:
Tmp[B_X, F] = In[B_X, D] *_D W_in[D, F]
Out[B_X, D] = Tmp[B_X, F] *_F W_out[F, D]
loss[]{U_X} = squared_error(Out[B_X, D], Target[B_X, D])
loss[] = AllReduce_X(loss[]{U_X})
backward pass:
dOut[B_X, D] = squared_error_grad(Out[B_X, D], Target[B_X, D], dloss[])
dW_out[F, D]{U_X} = Tmp[B_X, F] *_B dOut[B_X, D]
dW_out[F, D] = AllReduce_X(dW_out[F, D]{U_X})
dTmp[B_X, F] = dOut[B_X, D] *_D W_out[F, D]
dW_in[D, F]{U_X} = In[B_X, D] *_B dTmp[B_X, F]
dW_in[D, F] = AllReduce_X(dW_in[D, F]{U_X})
dIn[B_X, D] = dTmp[B_X, F] *_F W_in[D, F]
TEXT
  lists fsdp "X=$ranks" <<'TEXT'
forward pass:
W_in[D, F] = AllGather_X(W_in[D_X, F])
Tmp[B_X, F] = In[B_X, D] *_D W_in[D, F]
W_out[F, D] = AllGather_X(W_out[F, D_X])
Out[B_X, D] = Tmp[B_X, F] *_F W_out[F, D]
loss[]{U_X} = squared_error(Out[B_X, D], Target[B_X, D])
loss[] = AllReduce_X(loss[]{U_X})
backward pass:
dOut[B_X, D] = squared_error_grad(Out[B_X, D], Target[B_X, D], dloss[])
dW_out[F, D]{U_X} = Tmp[B_X, F] *_B dOut[B_X, D]
dW_out[F, D_X] = ReduceScatter_X(dW_out[F, D]{U_X})
W_out[F, D] = AllGather_X(W_out[F, D_X])
dTmp[B_X, F] = dOut[B_X, D] *_D W_out[F, D]
dW_in[D, F]{U_X} = In[B_X, D] *_B dTmp[B_X, F]
dW_in[D_X, F] = ReduceScatter_X(dW_in[D, F]{U_X})
W_in[D, F] = AllGather_X(W_in[D_X, F])
dIn[B_X, D] = dTmp[B_X, F] *_F W_in[D, F]
TEXT
  lists tp "Y=$ranks" <<'TEXT'
forward pass:
In[B, D] = AllGather_Y(In[B, D_Y])
Tmp[B, F_Y] = In[B, D] *_D W_in[D, F_Y]
Out[B, D]{U_Y} = Tmp[B, F_Y] *_F W_out[F_Y, D]
Out[B, D_Y] = ReduceScatter_Y(Out[B, D]{U_Y})
loss[]{U_Y} = squared_error(Out[B, D_Y], Target[B, D_Y])
loss[] = AllReduce_Y(loss[]{U_Y})
backward pass:
dOut[B, D_Y] = squared_error_grad(Out[B, D_Y], Target[B, D_Y], dloss[])
dOut[B, D] = AllGather_Y(dOut[B, D_Y])
dW_out[F_Y, D] = Tmp[B, F_Y] *_B dOut[B, D]
dTmp[B, F_Y] = dOut[B, D] *_D W_out[F_Y, D]
In[B, D] = AllGather_Y(In[B, D_Y])
dW_in[D, F_Y] = In[B, D] *_B dTmp[B, F_Y]
dIn[B, D]{U_Y} = dTmp[B, F_Y] *_F W_in[D, F_Y]
dIn[B, D_Y] = ReduceScatter_Y(dIn[B, D]{U_Y})
TEXT
fi
if ((ranks == 4)); then
  lists fsdp+tp X=2,Y=2 <<'TEXT'
forward pass:
In[B_X, D] = AllGather_Y(In[B_X, D_Y])
W_in[D, F_Y] = AllGather_X(W_in[D_X, F_Y])
Tmp[B_X, F_Y] = In[B_X, D] *_D W_in[D, F_Y]
W_out[F_Y, D] = AllGather_X(W_out[F_Y, D_X])
Out[B_X, D]{U_Y} = Tmp[B_X, F_Y] *_F W_out[F_Y, D]
Out[B_X, D_Y] = ReduceScatter_Y(Out[B_X, D]{U_Y})
loss[]{U_XY} = squared_error(Out[B_X, D_Y], Target[B_X, D_Y])
loss[] = AllReduce_XY(loss[]{U_XY})
backward pass:
dOut[B_X, D_Y] = squared_error_grad(Out[B_X, D_Y], Target[B_X, D_Y], dloss[])
dOut[B_X, D] = AllGather_Y(dOut[B_X, D_Y])
dW_out[F_Y, D]{U_X} = Tmp[B_X, F_Y] *_B dOut[B_X, D]
dW_out[F_Y, D_X] = ReduceScatter_X(dW_out[F_Y, D]{U_X})
W_out[F_Y, D] = AllGather_X(W_out[F_Y, D_X])
dTmp[B_X, F_Y] = dOut[B_X, D] *_D W_out[F_Y, D]
In[B_X, D] = AllGather_Y(In[B_X, D_Y])
dW_in[D, F_Y]{U_X} = In[B_X, D] *_B dTmp[B_X, F_Y]
dW_in[D_X, F_Y] = ReduceScatter_X(dW_in[D, F_Y]{U_X})
W_in[D, F_Y] = AllGather_X(W_in[D_X, F_Y])
dIn[B_X, D]{U_Y} = dTmp[B_X, F_Y] *_F W_in[D, F_Y]
dIn[B_X, D_Y] = ReduceScatter_Y(dIn[B_X, D]{U_Y})
TEXT
  # The book's note: the second gather of In "can be skipped by sharing with (1) from the forward pass".
  run train --model mlp --size B=24,D=8,F=12 --steps 3 --strategy tp --mesh Y=4 --keep-activations
  expect_code 0
  expect_lines out 1 "In[B, D] = AllGather_Y(In[B, D_Y])"
fi

# losses ARGS...: the losses of a run in f64, one a line, and a complete record. They fall.
losses() {
  rm -f "$folder/record.json"
  run train --model mlp --size B=24,D=6,F=10,L=2 --steps 6 --dtype f64 --json "$folder/record.json" "$@"
  expect_code 0
  "$record_check" "$folder/record.json" 6 || complain "the record is not right"
  grep -oE '^step +[0-9]+  loss [0-9.]+|^held-out loss [0-9.]+' "$folder/out" >"$folder/losses" || true
  (($(wc -l <"$folder/losses") == 7)) || complain "expected 7 losses"
  awk '{ loss = $NF } NR == 1 { first = loss } END { exit !(loss < first) }' "$folder/losses" || complain "the loss does not fall"
}

losses --mesh "X=$ranks" --strategy dp
cp "$folder/losses" "$folder/first"
for layout in "X=$ranks zero1" "X=$ranks fsdp" "Y=$ranks tp" "X=$ranks auto"; do
  losses --mesh "${layout% *}" --strategy "${layout#* }"
  diff "$folder/first" "$folder/losses" || complain "other losses"
done
other=(--optimizer descent --activation gelu)
losses "${other[@]}" --mesh "X=$ranks" --strategy dp
cp "$folder/losses" "$folder/first"
losses "${other[@]}" --mesh "X=1,Y=$ranks" --strategy fsdp+tp --micro-batches 3 --keep-parameters
expect_lines out 1 "in 3 micro-batches"
expect_lines out 1 "backward pass of micro-batch 3:"
diff "$folder/first" "$folder/losses" || complain "other losses with micro-batches"

# The defaults are all there.
run train --model mlp --steps 1
expect_code 0
expect_lines out 1 "model: 524288 parameters, mlp of 1 layer, D 256, F 1024, no activation"
expect_lines out 1 "512 rows a step"

if ((ranks != 2)); then  # what is refused is refused on any number of ranks
  finish
  exit 0
fi
mlp=(train --model mlp)
refused "--data: --model mlp makes its own rows" "${mlp[@]}" --data README.md
refused "--batch: --model mlp has its rows in --size, as in B=512" "${mlp[@]}" --batch 8
refused "--seq: --model mlp has no sequences" "${mlp[@]}" --seq 8
refused "--save: --model mlp is not saved" "${mlp[@]}" --save "$folder/model"
refused "--resume: --model mlp is not saved" "${mlp[@]}" --resume "$folder/model"
refused "--model excludes --load" "${mlp[@]}" --load "$folder/model"
refused "--size B=8: only --model mlp has it; give --batch and --seq" train --size B=8
refused "--activation gelu: only --model mlp has it" train --activation gelu
refused "--activation relu: gelu or none" "${mlp[@]}" --activation relu
refused "--optimizer sgd: adamw or descent" "${mlp[@]}" --optimizer sgd
refused "--decay-all: --model mlp has no parameters but matrices" "${mlp[@]}" --decay-all
for option in "--clip 1" "--weight-decay 0.1" "--betas 0.9,0.95"; do
  refused "$option: --optimizer descent does not have it, only adamw does; leave the option out" \
    "${mlp[@]}" --optimizer descent $option
done
refused "--decay-all: --optimizer descent does not have it" "${mlp[@]}" --optimizer descent --decay-all
refused "--size K=2: sizes of --model mlp are B, D, F and L" "${mlp[@]}" --size K=2
refused "size D=0 is not positive" "${mlp[@]}" --size D=0
refused "\"many\" is not a whole number" "${mlp[@]}" --size B=many
refused "\"B\" is no size" "${mlp[@]}" --size B
refused "dim B is given twice" "${mlp[@]}" --size B=2,B=3
refused "--size F=1000001: at most 1000000" "${mlp[@]}" --size F=1000001
refused "--size L=1001: at most 1000" "${mlp[@]}" --size L=1001
refused "for weights and their moments alone, needs" "${mlp[@]}" --size D=1000000,F=1000000
refused "train --strategy dp=X needs" "${mlp[@]}" --size B=100000000 --strategy dp --mesh "X=$ranks"
refused "--micro-batches 5 does not divide the rows of --size B=512" "${mlp[@]}" --micro-batches 5
refused "role tp_seq splits sequences, and --model mlp has none; its roles are dp, zero1, zero2, fsdp, tp" "${mlp[@]}" \
  --mesh "Y=$ranks" --strategy tp_seq=Y
refused "--size: it is empty" "${mlp[@]}" --size ""
finish
