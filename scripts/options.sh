# shellcheck shell=bash
# The options of a script. A script sources this file, defines `usage`, sets defaults and calls
#
#   parse_options NAME --option=variable... --flag:variable:value... -- "$@"
#
# `--option=variable` takes a value and stores it in the variable. `--flag:variable:value` takes no
# value and stores `value`. --help and -h print the usage. An unknown option ends the script with
# exit code 2 and a list of the legal options. `-*=variable` passes on everything that is not
# declared: it is appended to the array `variable`.

# refuse TEXT: one line on standard error, exit code 2. The line begins with the script's name in `script_name`.
refuse() {
  echo "${script_name:-$0}: $1" >&2
  exit 2
}

# legal_options: the declared options, separated by commas.
legal_options() {
  local name list=''
  for name in "${!option_variable[@]}"; do list+="$name"$'\n'; done
  printf '%s' "$list" | LC_ALL=C sort | paste -sd, - | sed 's/,/, /g'
}

# take_option OPTION [VALUE]: stores one option. Sets `option_words` to the number of words that it
# used.
take_option() {
  local variable
  if [[ -z ${option_variable[$1]:-} ]]; then
    if [[ -z $other_options ]]; then
      refuse "unknown option '$1'; legal are $(legal_options); --help explains them"
    fi
    local -n others=$other_options
    others+=("$1")
    option_words=1
    return
  fi
  variable=${option_variable[$1]}
  if [[ ${variable:0:1} == : ]]; then
    variable=${variable:1}
    printf -v "${variable%%:*}" '%s' "${variable#*:}"
    option_words=1
    return
  fi
  if (($# < 2)) || [[ -z $2 ]]; then refuse "$1 needs a value"; fi
  printf -v "$variable" '%s' "$2"
  option_words=2
}

parse_options() {
  local -A option_variable=()
  local other_options='' option_words=0
  script_name=$1
  shift
  while [[ $1 != -- ]]; do
    case $1 in
      '-*='*) other_options=${1#*=} ;;
      *=*) option_variable[${1%%=*}]=${1#*=} ;;
      *:*:*) option_variable[${1%%:*}]=:${1#*:} ;;
    esac
    shift
  done
  shift
  while (($# > 0)); do
    if [[ $1 == --help || $1 == -h ]]; then
      usage
      exit 0
    fi
    take_option "$@"
    shift "$option_words"
  done
}
