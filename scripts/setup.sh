#!/usr/bin/env bash
# Installs everything for building and testing (or only for building the command) on Debian 12,
# Ubuntu 24.04 or later, as root or with sudo. It is quick if nothing is missing. On other systems
# it names the missing tools and headers, and fails.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/setup.sh [--command] [--mpich] [--peers] [--check]
  --command  only what building and running the command needs, nothing for tests, benchmarks and lint
  --mpich    MPICH too, beside Open MPI (which stays the default of mpicc and mpirun)
  --peers    PyTorch and ScaLAPACK too, for the comparisons of benchmarks/peers (large)
  --check    install nothing: name the tools and headers that are missing, exit 1 if there are any
TEXT
}

# For building and running the command. The CMake files of oneDNN ask for OpenCL.
packages=(build-essential cmake ninja-build pkg-config openmpi-bin libopenmpi-dev libopenblas-dev libdnnl-dev
  ocl-icd-opencl-dev libeigen3-dev libcli11-dev nlohmann-json3-dev libfmt-dev libpcre2-dev libutf8proc-dev)
headers=(cblas.h:openblas oneapi/dnnl/dnnl.hpp:dnnl CL/cl.h:OpenCL Eigen/Dense:eigen3 CLI/CLI.hpp:CLI11 nlohmann/json.hpp:nlohmann_json fmt/format.h:fmt
  pcre2.h:libpcre2-8 utf8proc.h:libutf8proc)
# For benchmarks and tests.
test_packages=(libbenchmark-dev libgtest-dev iproute2)
test_headers=(benchmark/benchmark.h:benchmark gtest/gtest.h:gtest)
# Optional: if one of these is not available, the steps that need it are skipped. The lint tools
# stay at one release, because LLVM releases format differently. Tests open pages in the browser.
optional_packages=(clang-format-14 clang-tidy-14 chromium-headless-shell)
command_only=false
mpich=false
peers=false
check_only=false

for argument in "$@"; do
  case "$argument" in
    --command) command_only=true ;;
    --mpich) mpich=true ;;
    --peers) peers=true ;;
    --check) check_only=true ;;
    --help | -h) usage; exit 0 ;;
    *) echo "setup: unknown option '$argument'" >&2; usage >&2; exit 2 ;;
  esac
done
if $command_only; then
  optional_packages=()
else
  packages+=("${test_packages[@]}")
  headers+=("${test_headers[@]}")
fi
if $mpich; then packages+=(mpich libmpich-dev); fi
if $peers; then packages+=(python3-torch python3-numpy libscalapack-openmpi-dev); fi

# has_header HEADER PKG_CONFIG_NAME: true if the compiler finds it, on its own paths or on those of
# pkg-config.
has_header() {
  local flags
  flags=$(pkg-config --cflags "$2" 2>/dev/null || true)
  # shellcheck disable=SC2086  # the flags are several words
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
    "${CXX:-c++}" -I/usr/include/eigen3 $flags -E -x c++ - >/dev/null 2>&1
}

# Prints one line per missing tool or header.
missing_things() {
  local tools=(cmake ninja pkg-config "${CC:-cc}" "${CXX:-c++}" mpicc mpirun) tool entry
  if $mpich; then tools+=(mpicc.mpich mpirun.mpich); fi
  for tool in "${tools[@]}"; do
    command -v "$tool" >/dev/null || echo "  tool $tool"
  done
  if $peers; then
    /usr/bin/python3 -c 'import torch.distributed, numpy' 2>/dev/null || echo "  PyTorch and NumPy of /usr/bin/python3"
    ldconfig -p | grep -qF libscalapack-openmpi.so || echo "  ScaLAPACK for Open MPI"
  fi
  command -v "${CXX:-c++}" >/dev/null || return 0
  for entry in "${headers[@]}"; do
    has_header "${entry%%:*}" "${entry##*:}" || echo "  header <${entry%%:*}> (${entry##*:})"
  done
}

check_machine() {
  local missing
  missing=$(missing_things)
  if [[ -n "$missing" ]]; then
    printf 'setup: missing on this machine:\n%s\n' "$missing" >&2
    return 1
  fi
}

is_installed() { [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]; }

# Prints the arguments that are not installed packages, one per line.
not_installed() {
  local package
  for package in "$@"; do
    is_installed "$package" || echo "$package"
  done
}

# The same, without packages that this distribution lacks.
not_installed_but_offered() {
  local package
  for package in $(not_installed "$@"); do
    if apt-cache show "$package" >/dev/null 2>&1; then echo "$package"; fi
  done
}

if $check_only; then check_machine; exit; fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  check_machine || { echo "setup: this is not a Debian or Ubuntu; please install them by its own means" >&2; exit 1; }
  exit 0
fi

missing=$(not_installed "${packages[@]}")
optional=$(not_installed_but_offered "${optional_packages[@]}")
if [[ -z "$missing$optional" ]]; then exit 0; fi
as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: neither root nor sudo; please have these installed: ${missing//$'\n'/ } ${optional//$'\n'/ }" >&2
    if [[ -z "$missing" ]]; then exit 0; fi
    exit 1
  fi
  as_root=(sudo)
fi
install() {
  if (($# == 0)); then return; fi
  echo "setup: installing $*"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}
if ! "${as_root[@]}" apt-get update -qq; then
  [[ -z "$missing" ]] || exit 1
fi
# shellcheck disable=SC2046  # several words
install $(not_installed "${packages[@]}")
for package in $(not_installed_but_offered "${optional_packages[@]}"); do
  install "$package" || echo "setup: going on without $package" >&2
done
