# What a family or a task does is in its record: no code of src/ compares a text with the name of one, but the functions
# that find them, which take the name from the list. A line of `allowed` is a file and the name that it compares with;
# one that has become needless is a failure too, so that the lists only get shorter. First the check is shown a file that
# does.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The same words with another meaning.
other='
src/classical/ngram/ngram_arpa.c ngram
src/cli/inspect/plot.c words
src/cli/inspect/plot_read.c words
src/task/forcing_fields.c linear
src/task/series/series_fields.c linear
src/text/chat.c mistral
src/text/chat.c phi3
src/text/tokenizer/legacy.c pegasus
src/text/tokenizer/legacy.c t5
src/text/tokenizer/legacy_model.c albert
src/text/tokenizer/legacy_model.c camembert
src/text/tokenizer/legacy_model.c mbart
src/text/tokenizer/legacy_model.c pegasus
src/text/tokenizer/legacy_model.c t5
src/text/tokenizer/legacy_write.c albert
src/text/tokenizer/legacy_write.c pegasus
src/text/tokenizer/legacy_write.c roberta
'
# Families and tasks: to become fields of their records.
allowed='
'
"$HEED" list --json | awk '
    /^ *"(name|model_type)": / && /^    "/ { gsub(/[",]/, ""); print $2 }
    /^    "tasks": \[$/ { inside = 1; next }
    inside && /\]/ { inside = 0 }
    inside { gsub(/[", ]/, ""); print }' >"$scratch/all"
"$HEED" train --help | sed -n '/^TASK is one of/,/^$/s/^  \([a-z0-9]*\)  .*/\1/p' >>"$scratch/all"
sort -u "$scratch/all" >"$scratch/names"
for name in bert vit mlp heed-mlp xlm-roberta classify qa forecast ngram; do
    grep -qx -- "$name" "$scratch/names" || { echo "the check itself is wrong: it does not know the name $name" && exit 1; }
done

comparisons() { # FILE...: each place, FILE:LINE NAME, also where the call goes over two lines
    awk '
        FNR == NR { name[$0]; next }
        FNR == 1 { before = "" }
        {
            text = before $0
            at = 0
            while (match(substr(text, at + 1), /(str(n|case|ncase)?cmp|[a-z_]+_is|is_[a-z_]+|[a-z_]*(same|equal)[a-z_]*)\(([^()"]|\([^()"]*\))*"[^"]*"/)) {
                word = substr(text, at + RSTART, RLENGTH)
                at += RSTART + RLENGTH - 1
                gsub(/^[^"]*"|"$/, "", word)
                if (at > length(before) && word in name) print FILENAME ":" FNR " " word
            }
            before = $0 " "
        }' "$scratch/names" "$@"
}
cat >"$scratch/planted.c" <<'END'
bool a = strcmp(heed_model_family(m)->name, "bert") == 0 || name_is(task, "qa");
bool b = strncmp(r->task->page.name,
                 "classify", 8) == 0;
bool c = strcmp(key->name, "hidden_size") == 0 || heed_family_find("bert");
END
if [ "$(comparisons "$scratch/planted.c" | sed 's/.*://' | tr '\n' ',')" != '1 bert,1 qa,3 classify,' ]; then
    echo "the check itself is wrong; in the planted file it found: $(comparisons "$scratch/planted.c")"
    exit 1
fi

cd "$SOURCE"
comparisons $(find src -name '*.[ch]' | sort) >"$scratch/places"
printf '%s\n' $other $allowed | paste -d ' ' - - | sort -u >"$scratch/allowed"
sed 's/:[0-9]* / /' "$scratch/places" | sort -u >"$scratch/found"
status=0
comm -13 "$scratch/allowed" "$scratch/found" >"$scratch/more"
if [ -s "$scratch/more" ]; then
    echo "compared with the name of a family or a task, which is for its record to say:"
    while read -r file name; do grep "^$file:[0-9]* $name\$" "$scratch/places"; done <"$scratch/more"
    status=1
fi
comm -23 "$scratch/allowed" "$scratch/found" >"$scratch/less"
if [ -s "$scratch/less" ]; then
    echo "no longer compared, so that these lines of tests/meta/names.sh can go:"
    cat "$scratch/less"
    status=1
fi
exit $status
