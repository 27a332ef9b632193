#!/usr/bin/env bash
# Makes every row of docs/reliability.md: what a user does, what happened once, what happens now.
#
#   reliability_test.sh MPIRUN_SH LAUNCHER SHARDLINE PAGE [--update]
#
# The files of tests/docs/reliability run in the order of their names, each in an empty folder, by the functions below. What they
# print must be what the page says from its first "## " on. With --update that part of the page is written anew.
set -euo pipefail
mpirun_sh=$1 launcher=$2 shardline=$3 page=$4 update=${5:-}
rows_folder=$(cd "$(dirname "$0")" && pwd)/reliability
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$shardline" "$folder/bin/shardline"
export PATH="$folder/bin:$PATH"
exec 3>"$folder/rows"

# As a user writes it: mpirun -n N PROGRAM ARGS...
mpirun() { "$mpirun_sh" "$launcher" "${@:2}"; }

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# section TITLE: a heading and the head of a table.
section() {
  printf '\n## %s\n\n| What a user does | What happened | What happens now |\n| --- | --- | --- |\n' "$1" >&3
}

# A cell of a table: bars do not end it.
cell() { printf '%s' "${1//|/\\|}"; }

# row COMMAND HAPPENED [PATTERN]: runs COMMAND as a shell would. The last column is its exit code and what it said: its first
# line "shardline: ...". With PATTERN, an extended regular expression, it is the first piece of the output that
# matches, so that measured numbers can be left out; without such a piece the test fails. Both outputs stay in the files
# `out` and `err` for what the row file checks itself.
row() {
  local command=$1 happened=$2 pattern=${3:-} code=0 said
  (eval "$command") >out 2>err </dev/null || code=$?
  if [[ -n $pattern ]]; then
    said=$(cat out err | tr '\0' ' ' | grep -oE -m 1 -- "$pattern" | head -n 1 || true)
    [[ -n $said ]] || { cat out err >&2; fail "$command: nothing in its output matches $pattern"; }
  else
    said=$(sed -n 's/^shardline: //p' err | head -n 1)
  fi
  printf '| `%s` | %s | exit code %d%s |\n' "$(cell "$command")" "$(cell "$happened")" "$code" \
    "${said:+: \`$(cell "$said")\`}" >&3
}

# checked WHAT COMMAND...: something that must hold after a row, such as that a file is as it was.
checked() {
  local what=$1
  shift
  "$@" >/dev/null || fail "$what"
}

for file in "$rows_folder"/*.sh; do
  mkdir "$folder/work"
  cd "$folder/work"
  # shellcheck source=/dev/null
  source "$file"
  cd "$folder"
  rm -rf "$folder/work"
done

written=$(sed -n '/^## /,$p' "$page")
made=$(sed -n '/^## /,$p' "$folder/rows")
[[ -n $made ]] || fail "no rows were made"
if [[ $update == --update ]]; then
  { sed '/^## /,$d' "$page"; printf '%s\n' "$made"; } >"$folder/page"
  cat "$folder/page" >"$page"
  exit 0
fi
if ! diff -U 3 --label "$page" <(printf '%s\n' "$written") --label 'what happens now' <(printf '%s\n' "$made"); then
  fail "$0 $mpirun_sh $launcher $shardline $page --update writes the page anew"
fi
echo "$page: $(grep -c '^| `' "$folder/rows") rows are as it says"
