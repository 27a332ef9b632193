# Sourced by the tests of the command:  source command.sh MPIRUN_SH LAUNCHER RANKS PROGRAM
# `run ARGS...` runs PROGRAM on RANKS ranks. The functions after it check the result. `finish` ends the test.
mpirun_sh=$1
launcher=$2
ranks=$3
program=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# run ARGS...: sets code; standard output goes to $folder/out, standard error to $folder/err. A run that names no machine
# gets the one in KNOWN_MACHINE, if that is set: it then measures none when it starts.
run() {
  local words=("$@")
  if [[ -n ${KNOWN_MACHINE:-} && ${1:-} =~ ^(train|generate|sample)$ && " $* " != *' --'@(machine|hardware)[\ =]* ]]; then
    words=("$1" --machine "$KNOWN_MACHINE" "${@:2}")
  fi
  ran=$(printf '%q ' "${words[@]}")
  code=0
  timeout 120 "$mpirun_sh" "$launcher" "$ranks" "$program" "${words[@]}" >"$folder/out" 2>"$folder/err" || code=$?
}

complain() {
  echo "FAILED: $ran: $1; exit code $code, output:"
  sed 's/^/  | /' "$folder/out" "$folder/err"
  failures=$((failures + 1))
}

expect_code() {
  ((code == $1)) || complain "expected exit code $1"
}

# expect_lines FILE COUNT TEXT: FILE (out or err) has COUNT lines with TEXT.
expect_lines() {
  local count
  count=$(grep -cF -- "$3" "$folder/$1" || true)
  ((count == $2)) || complain "expected $2 line(s) with \"$3\" in $1, found $count"
}

# refused MESSAGE ARGS...: exit code 2, one message of ours and no output.
refused() {
  local message=$1
  shift
  run "$@"
  expect_code 2
  expect_lines err 1 "shardline: "
  expect_lines err 1 "$message"
  [[ ! -s $folder/out ]] || complain "expected no output"
}

finish() {
  ((failures == 0)) || exit 1
  echo "all runs ended as they should"
}
