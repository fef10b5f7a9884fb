# Every link and figure of the pages leads to a file, and a link with # to a heading of it; every page of docs/ is reached
# from README.md by links, and every figure of docs/pictures is shown. First the check is shown pages that break the rules.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

pages() { # ROOT: the Markdown that is read on its own
    (cd "$1" && find . -maxdepth 1 -name '*.md' && find docs tests/oracle -name '*.md' 2>/dev/null) | sed 's,^\./,,' | sort
}
links() { # FILE: the targets of its links and figures, code aside
    sed '/^ *```/,/^ *```/d; s/`[^`]*`//g' "$1" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | grep -vE '^(https?|mailto):' || :
}
anchors() { # FILE: its headings as GitHub names them; the second of one name has -1
    sed '/^ *```/,/^ *```/d' "$1" | sed -n 's/^##* //p' | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g' |
        awk '{ n = seen[$0]++; print n ? $0 "-" n : $0 }'
}
check() { # ROOT: prints what is wrong
    (
        cd "$1"
        for page in $(pages .); do
            for link in $(links "$page"); do
                path=${link%%#*}
                target=$(realpath -m --relative-to=. "$(dirname "$page")/$path")
                [ -n "$path" ] || target=$page
                if [ ! -e "$target" ]; then
                    echo "$page: $link leads nowhere"
                elif [ "$link" != "$path" ] && ! anchors "$target" | grep -qxF -e "${link#*#}"; then
                    echo "$page: $link: no such heading"
                fi
                echo "$page $target" >&3
            done
        done
        awk '{ to[$1] = to[$1] " " $2 }
            END {
                queue[n = 1] = "README.md"
                for (i = 1; i <= n; i++) {
                    if (seen[queue[i]]++) continue
                    print queue[i]
                    count = split(to[queue[i]], targets)
                    for (j = 1; j <= count; j++) queue[++n] = targets[j]
                }
            }' "$scratch/edges" | sort >"$scratch/reached"
        find docs -name '*.md' -o -name '*.png' | sort | comm -23 - "$scratch/reached" | sed 's/$/: no page leads here/'
    ) 3>"$scratch/edges"
}

mkdir -p "$scratch/planted/docs/pictures"
printf '# A\n[b](docs/b.md#b-b) [no](docs/no.md)\n```\n[code](none)\n```\n' >"$scratch/planted/README.md"
printf '# B b\n[a](../README.md#z) ![c](pictures/c.png)\n' >"$scratch/planted/docs/b.md"
touch "$scratch/planted/docs/pictures/c.png" "$scratch/planted/docs/alone.md"
planted=$(check "$scratch/planted")
expected='README.md: docs/no.md leads nowhere
docs/b.md: ../README.md#z: no such heading
docs/alone.md: no page leads here'
if [ "$planted" != "$expected" ]; then
    printf 'the check itself is wrong; on the planted pages it said:\n%s\n' "$planted"
    exit 1
fi

found=$(check "$SOURCE")
[ -z "$found" ] || {
    echo "$found"
    exit 1
}
