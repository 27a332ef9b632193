#!/usr/bin/env bash
# links_test.sh SOURCE: every relative link of the documents leads to a file. The architecture names only existing files and rooms.
set -euo pipefail
cd "$1"
faults=0
fault() { echo "$1" >&2; faults=$((faults + 1)); }

for page in *.md docs/*.md; do
  while IFS= read -r link; do
    [[ -e "$(dirname "$page")/${link%%#*}" ]] || fault "$page: the link $link leads nowhere"
  done < <(grep -oE '\]\([^)#:][^):]*\)' "$page" | sed 's/^](//; s/)$//')
done

# A path in backquotes: a folder, or a header or source without its ending.
while IFS= read -r path; do
  [[ -e "$path" || -e "$path.h" || -e "$path.cpp" ]] || fault "docs/architecture.md: there is no $path"
done < <(grep -oE '`(runtime|kernels|collectives|roofline|program|models|tools)/[a-z_/]*`' docs/architecture.md | tr -d '`' | sort -u)

exit $((faults > 0))
