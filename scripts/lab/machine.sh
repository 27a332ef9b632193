# shellcheck shell=bash
# Finds out whether this machine can have a lab, and takes turns. scripts/lab.sh sources this file.

state=/run/shardline-lab

# refuse_machine REASON
refuse_machine() {
  echo "lab: $1" >&2
  exit 77
}

# attempt WHAT COMMAND...: if the command fails, prints "WHAT: error" and fails.
attempt() {
  local what=$1 error
  shift
  error=$("$@" 2>&1 >/dev/null) && return 0
  echo "$what: ${error:-no reason given}"
  return 1
}

write_to() { echo "$2" >"$1"; }

# Tries all parts of a lab in namespaces without names. Nothing of them remains.
try_parts() {
  attempt "no file systems can be mounted" mount -t tmpfs none /run &&
    attempt "no network namespace can be named" ip netns add other &&
    attempt "no veth links (CAP_NET_ADMIN?)" ip link add one type veth peer name two netns other &&
    attempt "no bridges" ip link add torus type bridge &&
    attempt "no tbf shaper" tc qdisc add dev one root tbf rate 500mbit burst 256kb limit 16mb &&
    attempt "no setting of the network can be changed" write_to /proc/sys/net/ipv4/ip_forward 1 &&
    attempt "no host name can be set" write_to /proc/sys/kernel/hostname shardlab
}

# Prints the first reason against a lab here; nothing if there is none.
obstacle() {
  local tool version
  for tool in ip tc unshare flock; do
    if ! command -v "$tool" >/dev/null; then echo "no command '$tool' here; scripts/setup.sh installs it"; return; fi
  done
  version=$("$launcher" --version 2>&1 | head -n 1) || true
  if [[ ! $version =~ \((Open MPI|OpenRTE)\)\ 4\. ]]; then
    echo "'$launcher' is not the mpirun of Open MPI 4: '$version'"
    return
  fi
  if ((EUID != 0)); then echo "network namespaces need root"; return; fi
  attempt "no new namespaces (CAP_SYS_ADMIN?)" unshare --net --uts --mount true || return 0
  unshare --net --uts --mount bash -c "$(declare -f attempt write_to try_parts); try_parts" || true
}

require_machine() {
  local reason
  reason=$(obstacle)
  if [[ -n $reason ]]; then refuse_machine "there can be no lab here: $reason"; fi
}

# take_lock exclusive|shared: one script at a time may make or remove a lab. The lock lasts until
# this script ends, in any way. Programs start without it, so a lab can be removed even if only its
# script was killed.
take_lock() {
  local holder
  if ! { mkdir -p "$state" && exec {lock}>>"$state/lock"; } 2>/dev/null; then
    refuse_machine "cannot write in $state: root is needed"
  fi
  if ! flock --nonblock "--$1" "$lock"; then
    holder=$(cat "$state/holder" 2>/dev/null || true)
    echo "lab: waiting for another lab (${holder:-unknown}), $wait_seconds s at most" >&2
    flock --wait "$wait_seconds" "--$1" "$lock" || refuse_machine "another lab is at work: ${holder:-unknown}"
  fi
  echo "process $$: $invocation" >"$state/holder"
}
