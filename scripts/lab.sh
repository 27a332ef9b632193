#!/usr/bin/env bash
# A torus of hosts on one Linux machine: network namespaces, joined by links of a chosen rate. See docs/lab.md.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/lab.sh run [OPTION...] [--] PROGRAM [ARG...]   makes a lab, runs PROGRAM on all its ranks, removes it
       scripts/lab.sh up [OPTION...]                          makes a lab that stays
       scripts/lab.sh mpirun PROGRAM [ARG...]                 runs PROGRAM on all ranks of the lab that stands
       scripts/lab.sh exec HOST COMMAND [ARG...]              runs COMMAND on one host of it, by index
       scripts/lab.sh down [--wait SECONDS]                   removes it, and whatever a killed one left
       scripts/lab.sh check [--launcher MPIRUN]               can there be a lab on this machine?

  --hosts N | RxC       a ring of N hosts, or a torus of R rows and C columns; up to 16 hosts      (default 4)
  --ranks-per-host N    ranks of each host, which share memory                                     (default 1)
  --rate RATE           of every link, each way, in kbit, mbit or gbit                             (default 500mbit)
  --launcher MPIRUN     the mpirun of Open MPI 4                                                   (default mpirun)
  --wait SECONDS        how long to wait for another lab to end                                    (default 300)

Ranks are numbered host by host, hosts row by row: mesh X=R,Y=C is the torus RxC with one rank a host; with 2 hosts of 2
ranks, Y of X=2,Y=2 is inside a host. OMPI_MCA_* variables that are set win over those of the lab. A machine has one
lab at a time. Exit codes: that of PROGRAM; 2 for bad arguments; 77 where no lab can be had, with the reason.
TEXT
}

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$scripts/lab/torus.sh"
source "$scripts/lab/machine.sh"

invocation="lab.sh $*"
hosts=4 ranks_per_host=1 rate=500mbit launcher=mpirun wait_seconds=300
rows='' columns='' child=''

refuse_argument() {
  echo "lab: $1" >&2
  exit 2
}

# number NAME VALUE LEAST MOST
number() {
  if [[ ! $2 =~ ^[0-9]{1,6}$ ]] || ((10#$2 < $3 || 10#$2 > $4)); then
    refuse_argument "$1 '$2': a number from $3 to $4 is needed"
  fi
}

set_shape() {
  if [[ ! $hosts =~ ^([1-9][0-9]?)(x([1-9][0-9]?))?$ ]]; then
    refuse_argument "--hosts '$hosts': a ring is N, as in 4, a torus RxC, as in 2x3"
  fi
  rows=${BASH_REMATCH[1]} columns=${BASH_REMATCH[3]:-1}
  if ((rows * columns > 16)); then refuse_argument "--hosts '$hosts': 16 hosts are the most"; fi
}

# parse 'OPTION...' ARGUMENT...: reads the named options into the variables above, and the other
# arguments into `rest`.
parse() {
  local legal=" $1 "
  shift
  while (($# > 0)) && [[ $1 == -* ]]; do
    if [[ $1 == -- ]]; then shift; break; fi
    if [[ $legal != *" $1 "* ]]; then refuse_argument "unknown option '$1'; legal here:${legal% }"; fi
    if (($# < 2)); then refuse_argument "$1 needs a value"; fi
    case $1 in
      --hosts) hosts=$2 ;;
      --ranks-per-host) ranks_per_host=$2 ;;
      --rate) rate=$2 ;;
      --launcher) launcher=$2 ;;
      --wait) wait_seconds=$2 ;;
    esac
    shift 2
  done
  rest=("$@")
  set_shape
  number --ranks-per-host "$ranks_per_host" 1 64
  number --wait "$wait_seconds" 0 86400
  if [[ ! $rate =~ ^[1-9][0-9]{0,5}(\.[0-9]+)?[kmg]bit$ ]]; then
    refuse_argument "--rate '$rate': a number of kbit, mbit or gbit is needed, as in 500mbit"
  fi
}

expect_program() {
  if (($# == 0)); then refuse_argument "no program to run"; fi
  command -v -- "$1" >/dev/null || refuse_argument "no program '$1'"
}

expect_no_more() {
  if (($# > 0)); then refuse_argument "unexpected argument '$1'"; fi
}

# Removes the lab, and files that a killed Open MPI leaves.
remove_lab() {
  remove_torus
  rm -rf "$state"/{kept,hosts,agent,sessions} {/dev/shm,"${TMPDIR:-/tmp}"}/vader_segment.shardlab*
}

# Gives the running program a few seconds to end itself.
end_child() {
  trap '' INT TERM HUP
  if [[ -n $child ]] && kill -TERM "$child" 2>/dev/null; then
    timeout 5 tail --pid="$child" -f /dev/null || true
  fi
}

end_on_signals() {
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# Removes the rest of an earlier lab, then makes the requested one. The lab ends with the script.
make_lab() {
  local host
  require_machine
  take_lock exclusive
  if [[ -e $state/kept ]]; then refuse_machine "a lab stands; 'scripts/lab.sh down' removes it: $(<"$state/kept")"; fi
  end_on_signals
  trap 'end_child; remove_lab' EXIT
  remove_lab
  mkdir "$state/sessions"
  make_torus "$rows" "$columns" "$rate"
  for ((host = 0; host < rows * columns; host++)); do
    echo "$(launch_address "$host") slots=$ranks_per_host"
  done >"$state/hosts"
  # The path of this script may have blanks. The mpirun option must not have any.
  printf 'exec bash %q "$@"\n' "$scripts/lab/remote_shell.sh" >"$state/agent"
}

# Uses the existing lab. A shared lock keeps the lab while this script runs.
join_lab() {
  take_lock shared
  if [[ ! -e $state/kept ]]; then refuse_argument "no lab stands; scripts/lab.sh up makes one"; fi
  source "$state/kept"
  set_shape
  end_on_signals
  trap end_child EXIT
}

# Tells Open MPI how to find the hosts and use their links. The caller's own settings stay.
set_open_mpi_parameters() {
  local parameter name
  for parameter in \
    plm=rsh "plm_rsh_agent=bash $state/agent" "orte_default_hostfile=$state/hosts" "orte_tmpdir_base=$state/sessions" \
    oob_tcp_if_include=launch btl_tcp_if_include=torus pml=ob1 btl=self,vader,tcp \
    btl_tcp_eager_limit=1048576 btl_tcp_max_send_size=1048576 hwloc_base_binding_policy=none mpi_yield_when_idle=1; do
    name=OMPI_MCA_${parameter%%=*}
    export "$name=${!name:-${parameter#*=}}"
  done
}

# Runs a command in the background with the caller's standard input, so this script reacts to
# signals at once.
run_child() {
  local code=0
  "$@" <&0 {lock}>&- &
  child=$!
  wait "$child" || code=$?
  child=
  return "$code"
}

run_on_all_ranks() {
  set_open_mpi_parameters
  run_child ip netns exec "$hub" "$scripts/mpirun.sh" "$launcher" $((rows * columns * ranks_per_host)) "$@"
}

command_run() {
  parse '--hosts --ranks-per-host --rate --launcher --wait' "$@"
  expect_program "${rest[@]}"
  make_lab
  run_on_all_ranks "${rest[@]}"
}

command_up() {
  parse '--hosts --ranks-per-host --rate --launcher --wait' "$@"
  expect_no_more "${rest[@]}"
  make_lab
  printf 'hosts=%q ranks_per_host=%q rate=%q launcher=%q\n' "$hosts" "$ranks_per_host" "$rate" "$launcher" >"$state/kept"
  trap - EXIT
}

command_mpirun() {
  parse '--wait' "$@"
  expect_program "${rest[@]}"
  join_lab
  run_on_all_ranks "${rest[@]}"
}

command_exec() {
  parse '--wait' "$@"
  join_lab
  number HOST "${rest[0]:-}" 0 $((rows * columns - 1))
  if ((${#rest[@]} < 2)); then refuse_argument "no command to run"; fi
  run_child enter_host "${rest[@]}"
}

command_down() {
  parse '--wait' "$@"
  expect_no_more "${rest[@]}"
  take_lock exclusive
  remove_lab
}

command_check() {
  parse '--launcher' "$@"
  expect_no_more "${rest[@]}"
  require_machine
}

case ${1:-} in
  run | up | mpirun | exec | down | check) "command_$1" "${@:2}" ;;
  --help | -h) usage ;;
  *) echo "lab: unknown command '${1:-}'" >&2; usage >&2; exit 2 ;;
esac
