# A room includes only itself and rooms before it (docs/architecture.md); so do the public headers. A sub-room that the
# order does not name stands where its room does. A public header belongs to the room of its name, or to the last sub-room
# of its name, or else to the one room that has a file of its name. Lessons include only each other and public headers. First
# the check is shown a tree that breaks the rules, and must say so.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

order='base io kernel tensor attention nn text/unicode text/strings text image data
    model/core model/parts model/encoders model/decoders model/encdec model/vision model/detection model/diffusion
    model/efficient model/recurrent model/vectors diffusion decode inspect train classical task plot lessons cli/core cli'

check() { # ROOT: prints each #include that breaks the rule
    (cd "$1" && {
        find src -type d
        find include src -name '*.[ch]' -o -name '*.def'
    }) | sort >"$scratch/tree"
    (cd "$1" && grep -v '^src[^.]*$' "$scratch/tree" | xargs awk -v order="$order" -v tree="$scratch/tree" '
        BEGIN {
            n = split(order, rooms)
            for (i = 1; i <= n; i++) {
                place[rooms[i]] = i
                split(rooms[i], parts, "/")
                if (!(parts[1] in first)) first[parts[1]] = i
            }
            while ((getline path <tree) > 0) {
                if (path !~ /^src\//) continue
                sub(/^src\//, "", path)
                name = path
                sub(/.*\//, "", name)
                if (path ~ /^(cli|lessons)\//) continue # public headers are of the library
                if (name !~ /\./) {
                    if (path == name || where(path) > where(room_named[name]) && room_named[name] != name) room_named[name] = path
                } else {
                    sub(/\.[a-z]*$/, "", name)
                    path = dir(path)
                    if (index(files_named[name] " ", " " path " ") == 0) files_named[name] = files_named[name] " " path
                }
            }
        }
        function of_header(name, room) { # heed/NAME.h
            sub(/\.h$/, "", name)
            if (name in room_named) return room_named[name]
            room = files_named[name]
            sub(/^ /, "", room)
            return room
        }
        function where(room, public) { # its place in the order; 0: none. What a room makes public its first sub-room knows.
            if (public && room in first) return first[room]
            while (!(room in place) && sub(/\/[^\/]*$/, "", room)) {}
            return room in place ? place[room] : 0
        }
        function dir(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }
        FNR == 1 {
            room = FILENAME ~ /^include/ ? of_header(substr(FILENAME, length("include/heed/") + 1)) : dir(substr(FILENAME, 5))
            own = where(room, FILENAME ~ /^include/)
            if (FILENAME != "include/heed/heed.h" && !own)
                print FILENAME ": " (room ? "room " room " is not in the order of rooms" : "no room has this name")
        }
        /^[ \t]*#[ \t]*include[ \t]*["<]/ {
            if (FILENAME == "include/heed/heed.h") next
            name = $0
            sub(/^[^"<]*["<]/, "", name)
            sub(/[">].*$/, "", name)
            public = name ~ /^heed\//
            if ($0 !~ /include[ \t]*"/ && !public) next
            target = public ? of_header(substr(name, 6)) : dir(name)
            there = where(target, public)
            if (!there) why = "not of the form \"ROOM/file.h\" or \"heed/NAME.h\""
            else if (there > own) why = room " comes before " target
            else if (room == "lessons" && target != room && !public) why = "lessons include public headers only"
            else next
            print FILENAME ":" FNR ": " name ": " why
        }')
}

mkdir -p "$scratch/include/heed" "$scratch/src/base" "$scratch/src/io" "$scratch/src/plot" "$scratch/src/lessons" \
    "$scratch/src/tensor/ops" "$scratch/src/model/core" "$scratch/src/model/vision" "$scratch/src/kitchen"
echo '#include "heed/ops.h"' >"$scratch/include/heed/io.h"
echo '#include "heed/augment.h"' >"$scratch/include/heed/ops.h"
printf '#include <stdio.h>\n#include "tensor/engine.h"\n' >"$scratch/src/base/ctx.c"
printf '#include "base/ctx.h"\n#  include "engine.h"\n#include "heed/io.h"\n' >"$scratch/src/tensor/engine.c"
printf '#include "tensor/ops/ops.h"\n#include "model/vision/vit.h"\n' >"$scratch/src/model/core/model.c"
printf '#include "model/core/model.h"\n#include "heed/ops.h"\n' >"$scratch/src/model/vision/vit.c"
printf '#include "lessons/lesson.h"\n#include "heed/io.h"\n#include "io/json.h"\n' >"$scratch/src/lessons/page.c"
echo "#include <stdio.h>" >"$scratch/src/kitchen/sink.c"
planted=$(check "$scratch")
expected='include/heed/io.h:1: heed/ops.h: io comes before tensor/ops
include/heed/ops.h:1: heed/augment.h: not of the form "ROOM/file.h" or "heed/NAME.h"
src/base/ctx.c:2: tensor/engine.h: base comes before tensor
src/kitchen/sink.c: room kitchen is not in the order of rooms
src/lessons/page.c:3: io/json.h: lessons include public headers only
src/model/core/model.c:2: model/vision/vit.h: model/core comes before model/vision
src/tensor/engine.c:2: engine.h: not of the form "ROOM/file.h" or "heed/NAME.h"'
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
