#!/bin/sh
# build.sh STAGE TARGET [-DOPTION=VALUE...]: configures and builds TARGET in build/STAGE, where Ninja is used when it is
# there. Everything goes to build/STAGE/log; when something fails, its end is shown.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL # the make in front is not the make below
stage=$1 target=$2
shift 2
dir=build/$stage
mkdir -p "$dir"

# Release, address and thread are gcc's, unless CC says otherwise.
case $stage in
clang | fuzz) compiler=clang-14 ;;
*) compiler=${CC:-$(command -v gcc || command -v cc)} ;;
esac
[ -e "$dir/CMakeCache.txt" ] || set -- -DCMAKE_C_COMPILER="$compiler" "$@"
if [ ! -e "$dir/CMakeCache.txt" ] && command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi

if ! { cmake -S . -B "$dir" "$@" && cmake --build "$dir" --target "$target" -j "$(nproc)"; } >"$dir/log" 2>&1; then
    # The first errors say most; where there are none, the end.
    { grep -n -A 6 -E 'error:|Error at|undefined reference|multiple definition' "$dir/log" || tail -n 40 "$dir/log"; } | head -n 60 >&2
    echo "$stage: the build failed; all of it is in $dir/log" >&2
    exit 1
fi
