#!/usr/bin/env bash
# Checks the layout (.clang-format) and the habits (.clang-tidy) of the sources. A clean file is
# checked by clang-tidy again only if it, a project header that it includes, or .clang-tidy changes.
# Exit code 77 (skipped, for ctest) if the tools are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
usage: scripts/lint.sh [format | tidy [FOLDER...] | quick]
  format   clang-format on every source, a second or so
  tidy     clang-tidy on every source, or on those under the folders named; minutes the first time
  quick    the few checks of clang-tidy that find most, on the sources of the floors
  Without an argument: format and tidy.
TEXT
}

llvm=14
build=build/release
clean_folder=build/lint
floors=(runtime kernels collectives roofline program models tools)
all_folders=("${floors[@]}" benchmarks tests examples)
# A check walks over every header that a source includes. These checks run before every merge.
quick_checks='-*,readability-identifier-naming,bugprone-use-after-move,google-explicit-constructor,modernize-use-override'
quick_checks+=',performance-for-range-copy,performance-unnecessary-value-param'
# The requested checks; empty for all of .clang-tidy.
checks=

# find_tool NAME: release $llvm of the tool, under any name. Other releases give other results.
find_tool() {
  local candidate
  for candidate in "$1-$llvm" "$1"; do
    if [[ "$("$candidate" --version 2>/dev/null)" == *"version $llvm."* ]]; then echo "$candidate"; return; fi
  done
  echo "lint: $1 $llvm is not on this machine; skipped" >&2
  exit 77
}

sources() {
  find "${all_folders[@]}" \( -name '*.h' -o -name '*.cpp' \) | LC_ALL=C sort
}

format() {
  local tool places
  tool=$(find_tool clang-format) || exit
  places=$(sources | xargs "$tool" --dry-run 2>&1 | sed -n 's/^\([^:]*:[0-9]*\):.*-Wclang-format-violations.*/\1/p' | uniq)
  if [[ -z "$places" ]]; then return 0; fi
  printf 'lint: not as %s lays it out:\n%s\n' "$tool" "$places"
  echo "lint: clang-format -i FILE puts it right"
  return 1
}

# Prints "KEY FILE" for every compiled source in the given folders. KEY is a hash of everything in
# the project that clang-tidy's result depends on. The headers are those that the compiler recorded
# when it built the file.
tidy_keys() {
  local file dependencies
  ninja -C "$build" -t deps | awk -v root="$PWD/" '
    function flush() { if (source != "") print source, files; source = ""; files = "" }
    /^[^ ]/ || /^$/ { flush(); next }
    { path = $1; sub(/^(\.\.\/)+/, root, path); if (index(path, root) != 1) next; path = substr(path, length(root) + 1)
      if (path ~ /^build\//) next
      if (source == "") source = path; else files = files " " path }
    END { flush() }' | LC_ALL=C sort -u |
  while read -r file dependencies; do
    if [[ ! -e "$file" ]]; then continue; fi
    # shellcheck disable=SC2086  # the dependencies are several words
    echo "$({ echo "$checks"; cat .clang-tidy "$file" $dependencies; } | sha256sum | cut -c1-40) $file"
  done | grep -E "^[0-9a-f]+ ($(IFS='|'; echo "$*"))/"
}

tidy_one() {
  local tool=$1 key=$2 file=$3 report
  if [[ -e "$clean_folder/$key" ]]; then return 0; fi
  # The compiler handles warnings of the build. Here only the checks of .clang-tidy are errors.
  if report=$("$tool" -p "$build" --quiet --checks="$checks" --extra-arg=-Wno-error "$file" 2>/dev/null); then
    touch "$clean_folder/$key"
  else
    printf '%s\n' "$report"
    return 1
  fi
}

tidy() {
  local tool folders=("$@")
  if ((${#folders[@]} == 0)); then folders=("${all_folders[@]}"); fi
  tool=$(find_tool clang-tidy) || exit
  scripts/build.sh release >/dev/null
  mkdir -p "$clean_folder"
  export -f tidy_one
  export build clean_folder checks
  tidy_keys "${folders[@]}" | xargs -P "$(nproc)" -L 1 bash -c 'tidy_one "$@"' tidy_one "$tool"
}

case "${1:-all}" in
  format) format ;;
  tidy) shift; tidy "$@" ;;
  quick) checks=$quick_checks; tidy "${floors[@]}" ;;
  all) format; tidy ;;
  --help | -h) usage ;;
  *) echo "lint: unknown check '$1'" >&2; usage >&2; exit 2 ;;
esac
