#!/bin/bash
# In the sandbox: a sign of life in the mounted home, so that nobody has to ask for one through Cube's proxy.
#
#   bash heartbeat.sh HOME SANDBOX PORT SECONDS
#
# It writes HOME/.hermes-bot/heartbeat.json at once and then every SECONDS, until another heartbeat has taken its
# place or that directory is gone. It is bash, which runs every command of Cube in here anyway, and asks over
# /dev/tcp, because a second Python would cost every sandbox more than all the rest of this. Between two beats no
# other process is left and no file of the home is open. It tells what it sees and never what a file holds.

export LC_ALL=C TZ=UTC0
umask 077
home=$1 sandbox=$2 port=$3 every=$4
own=$home/.hermes-bot
file=$own/heartbeat.json
scratch=$own/.heartbeat.new
holder=${0%/*}/heartbeat.pid

# What a question may take, and how much of an answer is read.
patience=6
most=16384
most_tokens=1500
token='^[[:space:],]*("[^"]*"[[:space:]]*:|"[^"]*"|[][{}]|[^][{}",:[:space:]]+)'

# answer = what GET /health says on a port; empty when nothing comes. Connecting may hang where nobody accepts,
# and cannot be given a time, so it is a child that does it.
ask() {
  answer=
  IFS= read -r -N "$most" -t "$((patience + 1))" answer < <(
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit
    printf 'GET /health HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
    IFS= read -r -N "$most" -t "$patience" said <&3
    printf '%s' "$said"
  )
  # Above 128 it was the time that ended it, and the child is still there.
  if (($? > 128)); then kill "$!"; fi
}

# studio, note and version from the content of /health. Its "status" and "gateway" are constants.
look_at_studio() {
  studio=silent note='nothing has answered' version=
  ask "$port"
  if [[ -z $answer ]]; then return; fi
  studio=not-ready
  if ! read_health "${answer#*$'\r\n\r\n'}"; then
    note='/health has not answered with JSON' version=
  elif [[ $ready != true ]]; then
    note="the agent bridge is not ready (${state:-absent})"
  elif [[ -z $version ]]; then
    note='the agent does not tell its version'
  else
    studio=ready note=
  fi
}

# version, and ready and state of agent_bridge, from a JSON object; fails when it is none, or too long. Keys of the
# same name elsewhere in it do not count.
read_health() {
  local rest=${1//\\?/_} part key='' parent='' depth=0 count
  version='' ready='' state=''
  for ((count = 0; count < most_tokens; count++)); do
    if [[ ! $rest =~ $token ]]; then return 1; fi
    part=${BASH_REMATCH[1]} rest=${rest:${#BASH_REMATCH[0]}}
    if ((depth == 0)) && [[ $part != '{' ]]; then return 1; fi
    case $part in
      \"*:) key=${part#\"} key=${key%\"*} ;;
      '{' | '[')
        if ((depth == 1)); then parent=$part$key; fi
        if [[ $depth:$key == 1:agent_bridge ]]; then ready='' state=''; fi
        depth=$((depth + 1)) key=''
        ;;
      '}' | ']')
        depth=$((depth - 1)) key=''
        if ((depth == 0)); then break; fi
        ;;
      *)
        case $depth:$key in
          1:version)
            version=''
            if [[ $part == '"'?*'"' ]]; then plain "$part" && version=${text:-?}; fi
            ;;
          1:agent_bridge) ready='' state='' ;;
          2:ready) if [[ $parent == '{agent_bridge' ]]; then ready=$part; fi ;;
          2:status) if [[ $parent == '{agent_bridge' ]]; then plain "$part" && state=$text; fi ;;
        esac
        ;;
    esac
  done
  ((depth == 0)) && [[ -z ${rest//[[:space:]]/} ]]
}

# text = a value with nothing in it that could end a JSON string, and short.
plain() {
  text=${1//[^A-Za-z0-9 ().,:+_-]/}
  text=${text:0:60}
}

# gateway = whether a process "hermes gateway run" is there.
look_for_gateway() {
  local table words place
  gateway=false
  for table in /proc/[0-9]*/cmdline; do
    words=()
    mapfile -d '' -t -n 8 words <"$table"
    for ((place = 0; place < ${#words[@]} - 2; place++)); do
      if [[ ${words[place]##*/} == hermes && "${words[*]:place+1:3} " == *'gateway run '* ]]; then
        gateway=true
        return
      fi
    done
  done
}

look_at_machine() {
  local name value block
  envd=false load='' memory_free='' memory_total='' disk_free=''
  ask 49983
  if [[ $answer == 'HTTP/1.'?' 204'* ]]; then envd=true; fi
  read -r load _ </proc/loadavg
  while read -r name value _; do
    case $name in
      MemTotal:) memory_total=$((value * 1024)) ;;
      MemAvailable:) memory_free=$((value * 1024)) ;;
    esac
  done </proc/meminfo
  if read -r value block < <(stat -f -c '%a %S' "$home"); then disk_free=$((value * block)); fi
}

# at = the time here, in UTC; to a microsecond where bash tells it.
look_at_clock() {
  local now=${EPOCHREALTIME:--1}
  printf -v at '%(%Y-%m-%dT%H:%M:%S)T' "${now%.*}"
  if [[ $now == *.* ]]; then at+=.${now#*.}; fi
}

# A new file takes the place of the old one: a reader sees one of them, whole, and what stands there instead, a link
# above all, is replaced and never followed.
write_down() {
  rm -f -- "$scratch"
  set -o noclobber
  printf '{"sandbox":"%s","at":"%sZ","studio":"%s","note":"%s","version":"%s","envd":%s,"gateway":%s,"load":%s,"memory_free":%s,"memory_total":%s,"disk_free":%s,"pid":%s}\n' \
    "$sandbox" "$at" "$studio" "$note" "$version" "$envd" "$gateway" "${load:-null}" "${memory_free:-null}" \
    "${memory_total:-null}" "${disk_free:-null}" "$$" >"$scratch" && mv -fT -- "$scratch" "$file" ||
    rm -f -- "$scratch"
  set +o noclobber
}

is_wanted() {
  local now=''
  if [[ ! -d $own || -L $own ]]; then return 1; fi
  read -r now <"$holder"
  [[ $now == "$$" ]]
}

# Where there is no such pipe, a child has to sleep: never a loop without a rest.
rest() {
  if read -r -t "$1" -u 9 || (($? <= 128)); then sleep "$1"; fi
}

# What has begun is finished, so that nothing of it comes to light after the end.
trap 'exit 0' TERM
printf '%s\n' "$$" >"$holder"
# Nobody ever writes into this pipe: waiting for it is a rest that needs no process.
exec 9<> <(:)
while is_wanted; do
  began=$SECONDS
  look_at_studio
  look_for_gateway
  look_at_machine
  if ! is_wanted; then break; fi
  look_at_clock
  write_down
  left=$((every - (SECONDS - began)))
  # Neither a long beat nor a clock that was set meanwhile makes a pause of another kind.
  if ((left < 1 || left > every)); then left=1; fi
  rest "$left"
done
exit 0
