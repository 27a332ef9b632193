#!/usr/bin/env bash
# algorithm_places_test.sh SOURCE: the list "Adding an algorithm" of docs/collectives.md has exactly the files that
# distinguish algorithms by messages.
set -euo pipefail
cd "$1"
listed=$(sed -n '/^## Adding an algorithm/,/^## Measured/s/^[0-9]*\. `\([a-z_/.]*\)`.*/\1/p' docs/collectives.md | LC_ALL=C sort)
found=$(grep -rlE 'Algorithm::(pairwise|doubling)' runtime kernels collectives roofline program models tools | LC_ALL=C sort)
diff -U 0 --label docs/collectives.md <(printf '%s\n' "$listed") --label 'the sources' <(printf '%s\n' "$found")
