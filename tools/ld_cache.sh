#!/bin/sh
# ld_cache.sh PREFIX: after libraries were installed there by root, tells ld.so of them, where PREFIX is one whose libraries
# it looks for; any other is found by LD_LIBRARY_PATH or a run path, and the system's cache is left alone.
set -eu
prefix=${1%/}
[ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null || exit 0
# /lib is /usr/lib on most systems, and listed once.
for dir in $(ldconfig -v -N -X 2>/dev/null | sed -n 's/^\(\/[^:]*\):.*/\1/p'); do
    case $dir/ in
    "$prefix/lib"*) exec ldconfig ;;
    /lib*) if [ "$prefix" = /usr ]; then exec ldconfig; fi ;;
    esac
done
