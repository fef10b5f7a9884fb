# The code is laid out as clang-format-14 lays it out.
set -eu
if ! command -v clang-format-14 >/dev/null; then
    echo "skipped: clang-format-14 is not installed"
    exit 77
fi
cd "$SOURCE"
find include src tests examples bench -name '*.[ch]' 2>/dev/null | xargs clang-format-14 --dry-run -Werror
