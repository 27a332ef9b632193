#!/usr/bin/env bash
# mpirun starts its daemons with this instead of ssh:  remote_shell.sh [OPTION...] ADDRESS
# COMMAND...
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/torus.sh"

while [[ $1 == -* ]]; do shift; done
host=$((${1##*.} - 1))
shift
enter_host "$host" bash -c "$*"
