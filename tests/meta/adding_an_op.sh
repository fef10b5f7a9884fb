# README.md and docs/adding-an-op.md show files as they are: each block of code behind a comment that names a file is that
# file.
# First the check is shown a page that is out of date.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

blocks() { # PAGE: the code below <!-- FILE --> goes to $scratch/blocks/FILE; prints the names
    rm -rf "$scratch/blocks"
    awk -v to="$scratch/blocks/" '
        /^<!-- [^ ]* -->$/ { name = $2; next }
        name != "" && /^```c$/ { inside = 1; out = to name; system("mkdir -p $(dirname " out ")"); printf "" > out; print name; next }
        inside && /^```$/ { inside = 0; name = ""; close(out); next }
        inside { print > out }' "$1"
}
check() { # PAGE: names that differ
    for name in $(blocks "$1"); do
        cmp -s "$scratch/blocks/$name" "$SOURCE/$name" || echo "$name"
    done
}
printf '<!-- src/tensor/ops/glu.c -->\n```c\nint x;\n```\n' >"$scratch/planted.md"
if [ "$(check "$scratch/planted.md")" != src/tensor/ops/glu.c ]; then
    echo "the check itself is wrong; on the planted page it said: $(check "$scratch/planted.md")"
    exit 1
fi

shows() { # COUNT PAGE: at least so many files, each as it is
    [ "$(blocks "$SOURCE/$2" | wc -l)" -ge "$1" ] || { echo "$2 shows fewer than $1 files"; exit 1; }
    found=$(check "$SOURCE/$2")
    [ -z "$found" ] || {
        echo "$2 shows other code than:"
        echo "$found"
        exit 1
    }
}
shows 1 README.md
shows 2 docs/adding-an-op.md
