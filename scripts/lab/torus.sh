# shellcheck shell=bash
# Makes and removes the torus of scripts/lab.sh, which sources this file. Host I is namespace
# shardlab<I>:
#
#   launch              198.18.0.<I+1>, a link of full speed to the bridge in the namespace shardlab-hub: starts programs
#   torus               198.18.1.<I+1>, the one address that programs talk to, whatever link the packets take
#   x_plus .. y_minus   the shaped links to the neighbours, without addresses; /32 routes send packets along them
#
# Everything is inside namespaces, so it cannot collide with the machine's own interfaces and
# addresses.

hub=shardlab-hub

# enter_host HOST COMMAND...: runs the command there, under the host's name. Open MPI tells nodes
# apart by it.
enter_host() {
  local name
  name=$(host_name "$1")
  shift
  # shellcheck disable=SC2016  # expanded in there
  exec ip netns exec "$name" unshare --uts bash -c 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"' "$name" "$@"
}

host_name() { echo "shardlab$1"; }
launch_address() { echo "198.18.0.$(($1 + 1))"; }
torus_address() { echo "198.18.1.$(($1 + 1))"; }

# Prepares a namespace for traffic: packets arrive by one link, and answers leave by another.
add_namespace() {
  ip netns add "$1"
  ip -n "$1" link set lo up
  ip netns exec "$1" bash -c 'for setting in ip_forward=1 conf/all/rp_filter=0 conf/default/rp_filter=0; do
    echo "${setting#*=}" >"/proc/sys/net/ipv4/${setting%=*}"; done'
}

add_hub() {
  add_namespace "$hub"
  ip -n "$hub" -batch - <<TEXT
link add launch type bridge
addr add 198.18.0.254/24 dev launch
link set launch up
TEXT
}

add_host() {
  local name
  name=$(host_name "$1")
  add_namespace "$name"
  # A bridge without ports can hold an address that belongs to no link. Some kernels lack dummy
  # interfaces.
  ip -n "$name" -batch - <<TEXT
link add launch type veth peer name port$1 netns $hub
addr add $(launch_address "$1")/24 dev launch
link set launch up
link add torus type bridge
addr add $(torus_address "$1")/24 dev torus
link set torus up
TEXT
  ip -n "$hub" link set "port$1" master launch up
}

# shape HOST INTERFACE RATE: limits what leaves by the interface to RATE, with a queue that drops
# nothing.
shape() {
  ip -n "$1" link set "$2" up
  tc -n "$1" qdisc add dev "$2" root tbf rate "$3" burst 256kb limit 16mb
}

# add_link AXIS FROM TO RATE: TO is the next host after FROM along the axis.
add_link() {
  local from to
  from=$(host_name "$2") to=$(host_name "$3")
  ip -n "$from" link add "$1_plus" type veth peer name "$1_minus" netns "$to"
  shape "$from" "$1_plus" "$4"
  shape "$to" "$1_minus" "$4"
}

# add_axis_links AXIS SIZE POSITION HOST NEXT RATE: the plus link of a host; an axis of size 2 has
# one link.
add_axis_links() {
  if (($2 > 2 || ($2 == 2 && $3 == 0))); then add_link "$1" "$4" "$5" "$6"; fi
}

# short_way SIZE FROM TO: plus or minus, and the next position that way; plus if both ways have
# equal length.
short_way() {
  local size=$1 from=$2 to=$3
  if ((size == 2 ? from == 0 : 2 * ((to - from + size) % size) <= size)); then
    echo plus $(((from + 1) % size))
  else
    echo minus $(((from + size - 1) % size))
  fi
}

# add_routes ROWS COLUMNS HOST: routes to every other host, first along mesh rows (x), then along
# columns.
add_routes() {
  local rows=$1 columns=$2 host=$3 other interface next
  local row=$((host / columns)) column=$((host % columns))
  for ((other = 0; other < rows * columns; other++)); do
    if ((other == host)); then continue; fi
    if ((other / columns != row)); then
      read -r interface next < <(short_way "$rows" "$row" $((other / columns)))
      interface=x_$interface next=$((next * columns + column))
    else
      read -r interface next < <(short_way "$columns" "$column" $((other % columns)))
      interface=y_$interface next=$((row * columns + next))
    fi
    echo "route add $(torus_address "$other")/32 via $(torus_address "$next") dev $interface onlink" \
      "src $(torus_address "$host")"
  done | ip -n "$(host_name "$host")" -batch -
}

# make_torus ROWS COLUMNS RATE: host indices are row-major, the columns (y) fastest.
make_torus() {
  local rows=$1 columns=$2 rate=$3 host row column
  add_hub
  for ((host = 0; host < rows * columns; host++)); do add_host "$host"; done
  for ((host = 0; host < rows * columns; host++)); do
    row=$((host / columns)) column=$((host % columns))
    add_axis_links x "$rows" "$row" "$host" $(((row + 1) % rows * columns + column)) "$rate"
    add_axis_links y "$columns" "$column" "$host" $((row * columns + (column + 1) % columns)) "$rate"
  done
  for ((host = 0; host < rows * columns; host++)); do add_routes "$rows" "$columns" "$host"; done
}

torus_namespaces() { ip netns list | awk '$1 ~ /^shardlab/ { print $1 }'; }

# Ends every process in a namespace, and waits until all are gone.
end_processes() {
  local attempt pids
  for attempt in {1..50}; do
    pids=$(ip netns pids "$1" 2>/dev/null || true)
    if [[ -z "$pids" ]]; then return 0; fi
    # shellcheck disable=SC2086  # several numbers
    if ((attempt % 10 == 1)); then kill -KILL $pids 2>/dev/null || true; fi
    sleep 0.1
  done
  echo "lab: processes in $1 do not end: ${pids//$'\n'/ }" >&2
}

# Removes everything, also of a half-made or half-removed torus. The kernel removes a namespace some
# time after its name is gone. So the links go first: their other ends go at once.
remove_torus() {
  local namespace link
  for namespace in $(torus_namespaces); do end_processes "$namespace"; done
  for namespace in $(torus_namespaces); do
    for link in $(ip -n "$namespace" -o link show type veth 2>/dev/null | sed 's/^[0-9]*: \([^@:]*\).*/\1/'); do
      ip -n "$namespace" link del "$link" || true
    done
  done
  for namespace in $(torus_namespaces); do ip netns del "$namespace"; done
}
