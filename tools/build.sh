#!/bin/sh
# build.sh DIR "TARGET..." [-DOPTION=VALUE...]: configures build/DIR and builds these targets in it, if any, with Ninja and
# ccache where they are installed. On a terminal one line shows the progress, elsewhere a line every tenth of the way. Everything goes to
# build/DIR/log; when the build fails its first errors are shown.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL # the make in front is not the make below
name=$1 targets=$2
shift 2
dir=build/$name
mkdir -p "$dir"

# clang and fuzz need clang; all else is built by CC, or gcc.
case $name in
clang | fuzz) compiler=clang-14 ;;
*) compiler=${CC:-$(command -v gcc || command -v cc)} ;;
esac
if [ ! -e "$dir/CMakeCache.txt" ]; then
    set -- -DCMAKE_C_COMPILER="$compiler" "$@"
    if command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi
    if command -v ccache >/dev/null; then set -- -DCMAKE_C_COMPILER_LAUNCHER=ccache "$@"; fi
fi

# Copies its input to the log and shows the progress that Ninja ("[12/345] ...") and Make ("[ 12%] ...") print.
progress() {
    width=$(stty size 2>/dev/null </dev/tty | cut -d ' ' -f 2) || width=
    case $width in '' | 0) width=80 ;; esac
    tenth=0
    while IFS= read -r line; do
        printf '%s\n' "$line" >&3
        case $line in
        *'globbed directories'* | *'Re-running CMake'*) continue ;;
        '['*']'*) ;;
        *) continue ;;
        esac
        at=${line%%]*} # "[12/345", "[ 12%"
        at=${at#?}
        if [ -t 1 ]; then
            printf '\r\033[K%.*s' $((width - 1)) "$name: $line"
            continue
        fi
        case $at in
        */*)
            [ "${at#*/}" -ge 20 ] || continue # soon done
            now=$((10 * ${at%/*} / ${at#*/}))
            ;;
        *) now=${at%\%} now=$((${now##* } / 10)) ;;
        esac
        if [ "$now" -gt "$tenth" ]; then
            tenth=$now
            echo "$name: $((10 * now)) % built"
        fi
    done
    if [ -t 1 ]; then printf '\r\033[K'; fi
}

{
    status=0
    # shellcheck disable=SC2086 # targets are words
    { cmake -S . -B "$dir" "$@" && { [ -z "$targets" ] || cmake --build "$dir" --target $targets -j "$(nproc)"; }; } 2>&1 ||
        status=$?
    echo $status >"$dir/status"
} | progress 3>"$dir/log"
if [ "$(cat "$dir/status")" != 0 ]; then
    # The first errors say most; where there are none, the end.
    { grep -n -A 6 -E 'error:|Error at|undefined reference|multiple definition' "$dir/log" || tail -n 40 "$dir/log"; } | head -n 60 >&2
    echo "$name: the build failed; all of it is in $dir/log" >&2
    exit 1
fi
