#!/usr/bin/env bash
# Makes every row of docs/reliability.md: the user's command, the earlier result, the result now.
#
#   reliability_test.sh MPIRUN_SH LAUNCHER SHARDLINE PAGE [--update]
#
# Runs the files of tests/docs/reliability in the order of their names, each in an empty folder, with the functions below.
# Their output must equal the page from its first "## " on. --update rewrites that part of the page.
set -euo pipefail
mpirun_sh=$1 launcher=$2 shardline=$3 page=$4 update=${5:-}
rows_folder=$(cd "$(dirname "$0")" && pwd)/reliability
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$shardline" "$folder/bin/shardline"
export PATH="$folder/bin:$PATH"
exec 3>"$folder/rows"

# The form of the user: mpirun -n N PROGRAM ARGS...
mpirun() { "$mpirun_sh" "$launcher" "${@:2}"; }

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# section TITLE: a heading and the head of a table.
section() {
  printf '\n## %s\n\n| What a user does | What happened | What happens now |\n| --- | --- | --- |\n' "$1" >&3
}

# A cell of a table; escapes bars, so they do not end it.
cell() { printf '%s' "${1//|/\\|}"; }

# row COMMAND HAPPENED [PATTERN]: runs COMMAND as a shell does. The last column is its exit code and its message: the
# first line "shardline: ...". With PATTERN, an extended regular expression, it is the first match in the output, so that
# measured numbers can be left out. Without a match the test fails. Both outputs stay in the files `out` and `err`, so the
# row file can check them.
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

# checked WHAT COMMAND...: a condition that must hold after a row, for example that a file did not change.
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
