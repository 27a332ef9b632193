#!/usr/bin/env bash
# Inputs do not change, and lost output is an error:
#
#   output_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE RECORD_CHECK
set -euo pipefail
source "$(dirname "$0")/../command.sh" "$@"
record_check=$5
mkdir "$folder/files" "$folder/files/model"
cd "$folder/files"
product=(matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=8,J=8,K=8)

# shell COMMAND: runs it in a shell without a launcher. $shardline is the program.
shell() {
  ran=$1 code=0
  shardline=$program timeout 120 bash -c "$1" >"$folder/out" 2>"$folder/err" || code=$?
}

# lost COMMAND: its output cannot be written.
lost() {
  shell "$1"
  expect_code 1
  expect_lines err 1 "shardline: standard output cannot be written: "
}

printf 'the text\n' >text
printf '{}\n' | tee model/config.json >machine.json
ln -s text link
read_from="is read from there"
refused "--json text: the text of --data $read_from" train --data text --json text
refused "--report ./link: the text of --data $read_from" train --data text --report ./link
refused "--trace t: the text of --data $read_from" train --data "$PWD/t" --trace t
refused "--trace t.rank1.part: the text of --data $read_from" train --data t.rank1.part --trace t
refused "--json: it is empty" train --json= --steps 3
refused "--json ./model/config.json: the model of --model $read_from" train --model model/config.json \
  --json ./model/config.json
refused "--csv machine.json: the machine of --machine $read_from" bench --machine machine.json --csv machine.json
refused "--report machine.json: the machine of --machine $read_from" "${product[@]}" --machine machine.json --report machine.json
refused "--json model/r.json: lies in model, the folder of --load" sample --load model --prompt x --json model/r.json
refused "--save model/model.safetensors: lies in model, the folder of --load" train --load model --save model
refused "--json machine.json: the machine of --machine $read_from" explain "${product[@]:1}" --mesh X=4 --machine machine.json \
  --json machine.json
cmp -s text <(echo 'the text') || complain "the text has changed"
cmp -s machine.json model/config.json || complain "the machine has changed"
[[ $(ls . model) == $'.:\nlink\nmachine.json\nmodel\ntext\n\nmodel:\nconfig.json' ]] || complain "there are other files: $(ls . model)"

run "${product[@]}" --json -
expect_code 0
expect_lines err 1 "correct: "
"$record_check" "$folder/out" 1 || complain "standard output is not the record alone"
run bench all_gather --counts 8 --seconds 0.001 --csv -
expect_code 0
(($(wc -l <"$folder/out") == 3)) || complain "standard output is not the rows alone"
refused "--csv -: the record of --json goes there" bench --json - --csv -
refused "--trace -: " "${product[@]}" --trace -
[[ ! -e - ]] || complain "there is a file called -"

lost '$shardline --version >/dev/full'
lost '$shardline explain --help >&-'
lost '$shardline help >/dev/full'
lost '$shardline book --section 3.2 >/dev/full'
lost '$shardline book --section 3.2 --json record.json >&-'
[[ $(head -c 1 record.json) == "{" ]] || complain "the text went into the record"
lost '$shardline plan --model llama3-8b --chips 8 --json - >/dev/full'
lost "\$shardline ${product[*]@Q} >/dev/full"
ran="a full standard output of all ranks" code=0
timeout 120 "$mpirun_sh" "$launcher" "$ranks" bash -c 'exec "$0" "$@" >/dev/full' "$program" "${product[@]}" \
  >"$folder/out" 2>"$folder/err" || code=$?
expect_code 1
expect_lines err 1 "standard output cannot be written: No space left on device"
# If the reader has closed, the command ends by a signal or with exit code 1.
shell "(sleep 0.2; code=0; \$shardline ${product[*]@Q} || code=\$?; echo \"ended with \$code\" >&2) | true"
expect_lines err 0 "ended with 0"
expect_lines err 1 "ended with "
finish
