#!/usr/bin/env bash
# embedding_test.sh SOURCE BUILD LAUNCHER CMAKE_OPTION...: the project in the folder `user` contains SOURCE.
set -euo pipefail
source_folder=$1 build=$2 launcher=$3
shift 3
user=$build/../project

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

mkdir -p "$user"
for file in "$(dirname "$0")"/user/*; do
  cmp -s "$file" "$user/$(basename "$file")" || cp "$file" "$user/"
done
cmake -S "$user" -B "$build" -G Ninja -DSHARDLINE="$source_folder" "$@" --log-level=WARNING
cmake --build "$build" --target whole_array -- -j 2 | tail -n 5

said=$("$source_folder/scripts/mpirun.sh" "$launcher" 2 "$build/whole_array")
[[ "$said" == "A[4] = 40" ]] || fail "it says: $said"

# The options that the user gets from the target that links all floors.
all_floors=$(grep -o '"command": .*all_floors\.dir.*' "$build/compile_commands.json")
[[ "$all_floors" == *-std=gnu++20* ]] || fail "no C++20: $all_floors"
[[ "$all_floors" == *-DOMPI_SKIP_MPICXX* ]] || fail "the C++ bindings of MPI: $all_floors"
[[ "$all_floors" != *-Werror* && "$all_floors" != *-Wall* ]] || fail "our warnings: $all_floors"
libraries=$(ninja -C "$build" -t inputs all_floors | grep -o 'libshardline_[a-z]*\.a' | sort -u | tr '\n' ' ')
for floor in base runtime kernels collectives roofline program models; do
  [[ "$libraries" == *"libshardline_$floor.a"* ]] || fail "floor $floor is not linked: $libraries"
done
# It does not contain the command, its tests and their packages.
others=$(ninja -C "$build" -t targets all | grep -E '^shardline/(tools|tests|examples|benchmarks)/' || true)
[[ -z "$others" ]] || fail "parts that nobody asked for: $others"
