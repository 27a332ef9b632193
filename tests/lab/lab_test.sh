#!/usr/bin/env bash
# The lab of hosts:  lab_test.sh LAB_SH LAUNCHER NODES_PROGRAM
set -euo pipefail

lab=$1
launcher=$2
nodes_program=$3
folder=$(mktemp -d)
failures=0
background=
standing=false

clean_up() {
  if [[ -n $background ]]; then kill "$background" 2>/dev/null || true; fi
  if $standing; then "$lab" down; fi
  rm -rf "$folder"
}
trap clean_up EXIT

complain() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# expect WHAT WANTED FOUND
expect() { [[ "$3" == "$2" ]] || complain "$1: expected '$2', found '$3'"; }

# refuses CODE TEXT ARGUMENT...: the lab ends with exit code CODE, and its message contains TEXT.
refuses() {
  local wanted=$1 text=$2 code=0
  shift 2
  timeout 30 "$lab" "$@" >"$folder/out" 2>&1 || code=$?
  expect "exit code of 'lab.sh $*'" "$wanted" "$code"
  grep -qF -- "$text" "$folder/out" || complain "'lab.sh $*' does not say '$text' but: $(cat "$folder/out")"
}

# No lab has left anything. Holds the lock, because other labs may start and end on this machine.
expect_nothing_left() {
  expect "namespaces left $1" "" "$(flock /run/shardline-lab/lock ip netns list | grep shardlab || true)"
  expect "links left $1" "" "$(ip -o link | grep -E 'shardlab|x_plus|y_plus|port[0-9]' || true)"
}

# route HOST OTHER: the link and the next host on the way from HOST to OTHER, as "x_plus 3".
route() {
  "$lab" exec "$1" ip route get "198.18.1.$(($2 + 1))" |
    sed -n 's/.* via 198\.18\.1\.\([0-9]*\) dev \([a-z_]*\) .*/\2 \1/p' | { read -r link via; echo "$link $((via - 1))"; }
}

# start_in_background ARGUMENT...: a lab that runs until it is killed; sets background.
start_in_background() {
  rm -f "$folder/ready"
  "$lab" run --launcher "$launcher" --hosts 2 --wait 100 -- bash -c "echo ready >>$folder/ready; exec sleep 60" \
    >"$folder/background" 2>&1 &
  background=$!
  timeout 110 bash -c "until [[ \$(cat $folder/ready 2>/dev/null | wc -l) == 2 ]]; do sleep 0.1; done"
}

"$lab" check --launcher "$launcher" || exit

refuses 2 "unknown command 'dwon'" dwon
refuses 2 "--hosts '0'" run --hosts 0 true
refuses 2 "--hosts '2x2x2'" run --hosts 2x2x2 true
refuses 2 "16 hosts are the most" run --hosts 5x4 true
refuses 2 "--ranks-per-host '0': a number from 1 to 64" run --ranks-per-host 0 true
refuses 2 "--rate '500'" up --rate 500
refuses 2 "--rate needs a value" up --rate
refuses 2 "unknown option '--speed'" run --speed 3 true
refuses 2 "no program to run" run --hosts 2
refuses 2 "no program '$folder/none'" run "$folder/none"
refuses 2 "unexpected argument 'now'" down now
refuses 77 "not the mpirun of Open MPI 4" run --launcher cat true

# A lab that keeps running: 2 rows of 3 hosts of 2 ranks.
"$lab" up --launcher "$launcher" --hosts 2x3 --ranks-per-host 2 --wait 100 || exit
standing=true
expect "the host's name" shardlab4 "$("$lab" exec 4 hostname)"
expect "one link along x, two along y" "x_plus y_minus y_plus" \
  "$("$lab" exec 0 ip -o link | sed -n 's/.* \([xy]_[a-z]*\)@.*/\1/p' | sort | xargs)"
expect "to the row below" "x_plus 3" "$(route 0 3)"
expect "to the row above" "x_minus 0" "$(route 3 0)"
expect "to the column after" "y_plus 1" "$(route 0 1)"
expect "to the column before, round the end" "y_minus 2" "$(route 0 2)"
expect "along x before y" "x_plus 4" "$(route 1 5)"
expect "along y after x" "y_plus 5" "$(route 4 5)"
# Open MPI's launcher may warn that its child was faster than its call of setpgid.
expect "nodes of the ranks" "0 0 2 2 4 4 6 6 8 8 10 10" "$(timeout 60 "$lab" mpirun "$nodes_program" 2>&1 | grep -v 'plm:rsh: Warning: setpgid')"
expect "a parameter of the caller" 77777 \
  "$(OMPI_MCA_btl_tcp_eager_limit=77777 timeout 60 "$lab" mpirun printenv OMPI_MCA_btl_tcp_eager_limit | sort -u)"
refuses 77 "a lab stands" run --launcher "$launcher" true
refuses 2 "HOST '6': a number from 0 to 5" exec 6 true
"$lab" down
standing=false
expect_nothing_left "by down"
refuses 2 "no lab stands" exec 0 true

# A lab for one run: its exit code is always the program's. A second lab does not start. A signal ends it in order.
refuses 3 "" run --launcher "$launcher" --hosts 2 --wait 100 bash -c 'exit 3'
expect_nothing_left "by a run"
start_in_background
refuses 77 "another lab is at work" run --launcher "$launcher" --wait 0 true
refuses 77 "another lab is at work" down --wait 0
[[ -n $(ip netns pids shardlab1) ]] || complain "a second lab destroyed the first"
kill -TERM "$background"
code=0
wait "$background" || code=$?
expect "exit code after SIGTERM" 143 "$code"
expect_nothing_left "after SIGTERM"

# A lab whose script was killed before it cleaned up.
start_in_background
kill -KILL "$background"
wait "$background" 2>/dev/null || true
background=
daemons=$(ip netns pids shardlab1)
[[ -n $daemons ]] || complain "nothing was left by SIGKILL, so its removal was not tested"
"$lab" down
expect_nothing_left "by down after SIGKILL"
for pid in $daemons; do
  if grep -qs '^State:.[^Z]' "/proc/$pid/status"; then complain "process $pid of the killed lab still runs"; fi
done

((failures == 0)) && echo "the lab works and leaves nothing behind"
