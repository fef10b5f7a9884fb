# tools/deps.sh: looks before it installs, and says one sentence where it cannot. The system is played by stand-ins.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for tool in sh cat; do ln -s "$(command -v $tool)" "$scratch/$tool"; done

fake() { # NAME BODY
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/$1"
    chmod +x "$scratch/$1"
}
run() { # GROUP...
    : >"$scratch/calls"
    status=0
    PATH=$scratch sh "$SOURCE/tools/deps.sh" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
}
demand() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then return; fi
    echo "deps: $what"
    cat "$scratch/calls" "$scratch/out" "$scratch/err"
    exit 1
}
said_once() { [ "$(wc -l <"$scratch/err")" = 1 ] && grep -q 'cmake .*libjansson-dev' "$scratch/err" && [ ! -s "$scratch/out" ]; }

fake cc 'exit 0'
fake dpkg-query 'echo "unknown ok not-installed"'
run build
demand "without apt-get the status must be 1" test "$status" = 1
demand "without apt-get one sentence must list the packages" said_once

fake apt-get 'echo "apt-get $*" >>"'"$scratch"'/calls"'
fake id 'echo 1000'
run build
demand "without root or sudo the status must be 1" test "$status" = 1
demand "without root or sudo one sentence must list the packages" said_once
demand "without root or sudo apt-get must not be called" test ! -s "$scratch/calls"

fake sudo 'echo sudo >>"'"$scratch"'/calls"; exec "$@"'
run build
demand "through sudo it must succeed" test "$status" = 0
demand "through sudo apt-get must be called" test "$(grep -c sudo "$scratch/calls")" = 2

# What is not there: all of the group but the compiler, which the stand-in for cc answers for.
wanted=$(sed -n 's/^build|\([^|]*\)|.*/\1/p' "$SOURCE/tools/deps.sh" | grep -vx -e gcc -e libc6-dev | paste -sd ' ' -)
fake id 'echo 0'
run build
demand "as root it must succeed" test "$status" = 0
demand "as root it must update and install what is missing, and no more" test "$(cat "$scratch/calls")" = \
    "apt-get -qq update
apt-get -qq -y --no-install-recommends install $wanted"
demand "it must say why" grep -q 'libjansson-dev: reads JSON' "$scratch/out"

fake apt-get 'exit 100'
run build
demand "when apt-get fails the status must be 1" test "$status" = 1
demand "when apt-get fails the packages must be named" grep -q 'could not install: cmake' "$scratch/err"

fake apt-get 'echo "apt-get $*" >>"'"$scratch"'/calls"'
fake dpkg-query 'echo "install ok installed"'
run build test
demand "with everything there it must succeed" test "$status" = 0
demand "with everything there apt-get must not be called" test ! -s "$scratch/calls"
