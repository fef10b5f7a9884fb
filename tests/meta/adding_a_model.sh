# What docs/adding-a-model.md shows can be compiled as it stands, without a warning, and its line of the list of smallest
# models has the fields of that list. First the check is shown a page that is out of date.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=$SOURCE/docs/adding-a-model.md

compiles() { # PAGE: the file that it shows
    awk '/^<!-- src\/model\/[a-z]*\/[a-z]*\.c -->$/ { getline; inside = 1; next } inside && /^```$/ { exit } inside' "$1" >"$scratch/family.c"
    [ -s "$scratch/family.c" ] || return 1
    "$CC" -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I "$SOURCE/include" -I "$SOURCE/src" "$scratch/family.c" 2>"$scratch/said"
}
fits() { # PAGE: a line of `smallest`, in the place of the others
    awk '/^```c$/ { getline line; if (line ~ /^    \{"/) print line }' "$1" >"$scratch/line"
    [ "$(wc -l <"$scratch/line")" = 1 ] || return 1
    {
        echo '#include <stddef.h>'
        sed -n '/^static const struct {$/,/^} smallest\[\] = {$/p' "$SOURCE/tests/model/test_model.c"
        cat "$scratch/line"
        printf '};\nint main(void) { return smallest[0].settings[0] == NULL; }\n'
    } >"$scratch/list.c"
    "$CC" -std=gnu17 -Wall -Wextra -Werror -fsyntax-only "$scratch/list.c" 2>"$scratch/said"
}
sed 's/MAX_LAYERS/MOST_LAYERS/; s/"num_layers=2"}, NULL},$/"num_layers=2"}, 4, NULL},/' "$page" >"$scratch/planted.md"
if compiles "$scratch/planted.md" || fits "$scratch/planted.md"; then
    echo "the check itself is wrong: it takes what is out of date"
    exit 1
fi
for check in compiles fits; do
    $check "$page" || {
        echo "$page: what it shows is out of date:"
        cat "$scratch/said"
        exit 1
    }
done
