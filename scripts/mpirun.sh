#!/usr/bin/env bash
# Runs a program on N ranks, with the launcher flags that this machine needs:
#
#   scripts/mpirun.sh LAUNCHER N PROGRAM [ARGS...]
#
# LAUNCHER is the mpirun of Open MPI or MPICH, by name or path. Open MPI gets its settings through
# its OMPI_MCA_* variables, unless the caller has set them.
set -euo pipefail

if [[ $# -lt 3 || ! $2 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: $0 LAUNCHER N PROGRAM [ARGS...]" >&2
  exit 2
fi
launcher=$1
ranks=$2
shift 2

# mca NAME VALUE: a default for an Open MPI parameter.
mca() {
  local variable=OMPI_MCA_$1
  if [[ -z ${!variable:-} ]]; then
    export "$variable=$2"
  fi
}

in_container() {
  [[ -e /.dockerenv || -e /run/.containerenv || -n ${container:-} ]] ||
    grep -qsE 'docker|kubepods|containerd|lxc' /proc/1/cgroup
}

# Open MPI copies between processes with process_vm_readv. The system call filter of a container
# forbids it unless the container has CAP_SYS_PTRACE (bit 19), and Open MPI notices that only inside
# a message. Open MPI itself checks Yama's ptrace_scope, except for scopes 2 and 3, which no process
# can lift.
copy_between_processes_forbidden() {
  local scope seccomp capabilities
  scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)
  seccomp=$(awk '$1 == "Seccomp:" { print $2 }' /proc/self/status 2>/dev/null || true)
  capabilities=$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status 2>/dev/null || true)
  ((scope >= 2)) || { [[ ${seccomp:-0} == 2 ]] && (((16#${capabilities:-0} >> 19 & 1) == 0)); }
}

prepare_open_mpi() {
  if [[ $(id -u) -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  local cores
  cores=$(nproc)
  # A run with checkpoints gets time to save after SIGTERM. Open MPI waits that long before it hands SIGTERM on, and as
  # long again before it kills; also whenever a job fails.
  if [[ " $* " == *" --save-every"* ]]; then
    mca odls_base_sigkill_timeout 5
  fi
  if ((ranks > cores)); then
    # A waiting rank must give its core to the rank that it waits for.
    mca mpi_yield_when_idle 1
  fi
  if ((ranks > cores)) || in_container; then
    mca hwloc_base_binding_policy none
  fi
  if copy_between_processes_forbidden; then
    mca btl_vader_single_copy_mechanism none
  fi
  # Each rank maps some megabytes of shared memory. Containers often have only 64 MB.
  local shared_kb
  shared_kb=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1 || true)
  if ((${shared_kb:-0} < ranks * 8192)); then
    mca btl_vader_backing_directory "${TMPDIR:-/tmp}"
  fi
}

version=$("$launcher" --version 2>&1 || true)
case $version in
  *"Open MPI"* | *OpenRTE* | *PRRTE*)
    prepare_open_mpi "$@"
    exec "$launcher" --oversubscribe -n "$ranks" "$@"
    ;;
  *)
    exec "$launcher" -n "$ranks" "$@"
    ;;
esac
