# A room includes only itself and rooms before it (docs/architecture.md); so do the public headers. Lessons include only
# each other and public headers. First the check is shown a tree that breaks the rules, and must say so.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

check() { # ROOT: prints each #include that breaks the rule
    (cd "$1" && find include src -name '*.[ch]' -o -name '*.def') | sort | (cd "$1" && xargs awk '
        BEGIN {
            n = split("base io kernel tensor attention nn text image data model train task plot lessons cli", rooms, " ")
            for (i = 1; i <= n; i++) order[rooms[i]] = i
            order["ops"] = order["tensor"]   # heed/ops.h is of the tensor room
            order["dataset"] = order["data"]
            order["augment"] = order["image"]
            order["picture_set"] = order["data"]
            order["picture_training"] = order["task"]
            order["ngram"] = order["hmm"] = order["chat"] = order["text"]
            order["loop"] = order["train"]   # and heed/loop.h of the train room
            order["similar"] = order["vision"] = order["task"]
            order["words"] = order["handwriting"] = order["task"]
            order["writing"] = order["data"]
            order["forecast"] = order["task"]
            order["history"] = order["data"]
            order["words"] = order["music"] = order["task"]
            order["attend"] = order["generate"] = order["translate"] = order["model"]
        }
        function room_of(path, parts) {  # src/ROOM/..., include/heed/ROOM.h
            split(path, parts, "/")
            if (parts[1] == "src") return parts[2]
            sub(/\.h$/, "", parts[3])
            return parts[3]
        }
        FNR == 1 { room = room_of(FILENAME) }
        /^[ \t]*#[ \t]*include[ \t]*["<]/ {
            if (FILENAME == "include/heed/heed.h") next
            name = $0
            sub(/^[^"<]*["<]/, "", name)
            sub(/[">].*$/, "", name)
            local = $0 ~ /include[ \t]*"/
            split(name, parts, "/")
            target = parts[1]
            if (target == "heed") { target = parts[2]; sub(/\.h$/, "", target) }
            if (!(room in order)) why = "room " room " is not in the order of rooms"
            else if (!local && !(parts[1] == "heed")) next
            else if (!(target in order)) why = "not of the form \"ROOM/file.h\" or \"heed/ROOM.h\""
            else if (order[target] > order[room]) why = room " comes before " target
            else if (room == "lessons" && target != room && parts[1] != "heed") why = "lessons include public headers only"
            else next
            print FILENAME ":" FNR ": " name ": " why
        }')
}

mkdir -p "$scratch/include/heed" "$scratch/src/base" "$scratch/src/tensor" "$scratch/src/lessons"
echo '#include "heed/tensor.h"' >"$scratch/include/heed/io.h"
printf '#include <stdio.h>\n#include "tensor/engine.h"\n' >"$scratch/src/base/ctx.c"
printf '#include "base/ctx.h"\n#  include "engine.h"\n#include "heed/base.h"\n' >"$scratch/src/tensor/engine.c"
printf '#include "lessons/lesson.h"\n#include "heed/plot.h"\n#include "io/json.h"\n' >"$scratch/src/lessons/page.c"
planted=$(check "$scratch")
expected='include/heed/io.h:1: heed/tensor.h: io comes before tensor
src/base/ctx.c:2: tensor/engine.h: base comes before tensor
src/lessons/page.c:3: io/json.h: lessons include public headers only
src/tensor/engine.c:2: engine.h: not of the form "ROOM/file.h" or "heed/ROOM.h"'
if [ "$planted" != "$expected" ]; then
    printf 'the check itself is wrong; on the planted tree it said:\n%s\n' "$planted"
    exit 1
fi

found=$(check "$SOURCE")
[ -z "$found" ] || {
    echo "$found"
    exit 1
}

# Formulas are in no header, nor in a list that headers include: changing one compiles the kernels, not the whole tree.
formulas=$(cd "$SOURCE" && grep -rl 'include "kernel/elementwise.def"' include src --include='*.h' --include='*.def') || :
[ -z "$formulas" ] || {
    echo "$formulas: should include kernel/functions.def"
    exit 1
}
