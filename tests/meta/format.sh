# The code is laid out as clang-format-14 lays it out. First the check is shown a file that is not.
set -eu
if ! command -v clang-format-14 >/dev/null; then
    echo "skipped: clang-format-14 is not installed"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

check() { # DIRECTORY...: the first line of each file below that would be changed
    find "$@" -name '*.[ch]' 2>/dev/null | xargs clang-format-14 --dry-run --style="file:$SOURCE/.clang-format" 2>&1 |
        sed -n 's/^\([^:]*\):\([0-9]*\):.*\[-Wclang-format-violations\]$/\1:\2/p' | sort -u -t: -k1,1
}
printf 'int x;\nint  y ;\n' >"$scratch/planted.c"
if [ "$(check "$scratch")" != "$scratch/planted.c:2" ]; then
    echo "the check itself is wrong; on the planted file it said: $(check "$scratch")"
    exit 1
fi

cd "$SOURCE"
found=$(check include src tests examples bench)
if [ -n "$found" ]; then
    echo "not laid out as clang-format-14 does it ('make format' mends it):"
    echo "$found"
    exit 1
fi
