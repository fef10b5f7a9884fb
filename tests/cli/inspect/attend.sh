# heed attend: weights equal to those of heed forward, every form that they come in, and mistakes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

cat >text <<'END_OF_TEXT'
the animal didn't cross the street because it was too tired
das Tier lief nicht über die Straße weil es zu müde war
END_OF_TEXT
"$HEED" tokens --train bpe --vocab 70 --add-eos --out m text -q
model() { # DIR SETTINGS...: a model beside the tokenizer of DIR
    dir=$1
    shift
    "$HEED" new transformer "$dir" --force -q --seed 5 -s d_model=16 -s encoder_layers=2 -s decoder_layers=3 \
        -s encoder_attention_heads=2 -s decoder_attention_heads=4 -s encoder_ffn_dim=16 -s decoder_ffn_dim=16 \
        -s init_std=0.4 -s max_position_embeddings=48 "$@"
}
model m -s vocab_size=70
source="the animal was tired"
target="das Tier war müde"

# npy: (layers, heads, queries, keys), the very numbers of heed forward
tensors() { # FILE HEADER BYTES: a safetensors file; the header's length must be below 256
    printf "\\$(printf %03o ${#2})\\000\\000\\000\\000\\000\\000\\000" >"$1"
    printf '%s' "$2" >>"$1"
    printf "$3" >>"$1"
}
bytes_of() { # IDS...: as i64
    for id in "$@"; do printf '\\%03o\\000\\000\\000\\000\\000\\000\\000' "$id"; done
}
sources=$(echo "$source" | "$HEED" tokens m)
targets=$(echo "$target" | "$HEED" tokens m | sed 's/ [0-9]*$//')
set -- $sources
S=$#
set -- 0 $targets
T=$#
tensors in "{\"input_ids\":{\"dtype\":\"I64\",\"shape\":[1,$S],\"data_offsets\":[0,$((8 * S))]},\"decoder_input_ids\":{\"dtype\":\"I64\",\"shape\":[1,$T],\"data_offsets\":[$((8 * S)),$((8 * S + 8 * T))]}}" \
    "$(bytes_of $sources)$(bytes_of 0 $targets)"
expect 0 forward m --in in --out out.st --attentions
header=$(($(od -A n -t u8 -N 8 out.st) + 8))
bytes_of_output() { # NAME
    place=$(head -c "$header" out.st | tail -c +9 | sed -n "s/.*\"$1\":{[^}]*\"data_offsets\":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/p")
    [ -n "$place" ] || fail "no $1"
    set -- $place
    tail -c +$((header + $1 + 1)) out.st | head -c $(($2 - $1))
}
equals_forward() { # SITE LAYERS SHAPE
    expect 0 attend m "$source" --target "$target" --site "$1" --npy "$1.npy" --quiet
    silent
    [ ! -s out ] || fail "--quiet should write files only"
    for layer in $2; do bytes_of_output "$1_attentions.$layer"; done >wanted
    head -c 128 "$1.npy" | grep -aq "'descr': '<f4'.*'shape': ($3)" || fail "$1: the shape should be ($3)"
    tail -c +129 "$1.npy" | cmp - wanted || fail "$1: the numbers of heed forward"
}
equals_forward encoder "0 1" "2, 2, $S, $S"
equals_forward decoder "0 1 2" "3, 4, $T, $T"
equals_forward cross "0 1 2" "3, 4, $T, $S"
expect 0 attend m "$source" --target "$target" --npy last.npy --quiet --threads 2
cmp last.npy cross.npy || fail "the last site by default, the same bits for any number of threads"
printf '%s\n' "$source" | "$HEED" attend m - --target "$target" --npy stdin.npy --quiet || fail "standard input"
cmp stdin.npy cross.npy || fail "standard input is the text"
printf '%s' "$target" | "$HEED" attend m "$source" --target - --npy stdin.npy --quiet || fail "the target as standard input"
cmp stdin.npy cross.npy || fail "standard input is the target"

# the terminal: the mean of the last layer of cross attention, or what was asked for
expect 0 attend m "$source" --target "$target"
silent
says "^$source$"
says "^$target$"
says "^cross attention, layer 2, mean of 4 heads$"
says "^ *<pad> → [^ ]* "
says "^Largest weights: <pad> → [^:]*: .* 0\.[0-9][0-9]"
[ "$(grep -o '→' out | wc -l)" = "$((2 * T))" ] || fail "every row says what is predicted, in the map and below it"
expect 0 attend m "$source" --target "$target" --site encoder --layer 0 --head 1
says "^encoder attention, layer 0, head 1$"
[ "$(sed -n '/^Largest weights:/,$p' out | grep -o ': [^ ]* [01]\.[0-9][0-9]' | wc -l)" = "$S" ] || fail "every token of the source"
if grep -q '→' out; then fail "an encoder predicts nothing"; fi
expect 0 attend m "$source" --target "$target" --site decoder --layer 0
grep -q '^Largest weights: <pad> → [^:]*: <pad> 1.00' out || fail "the decoder's first row sees itself alone"

# JSON: what is fed, what comes next, and the weights asked for; rows sum to 1
expect 0 attend m "$source" --target "$target" --json --layer 1
says "\"text\": ?\"$source\", ?\"target\": ?\"$target\", ?\"site\": ?\"cross\", ?\"queries\": ?\[\"<pad>\""
says '"layers": ?\[1\], ?"heads": ?\[0, ?1, ?2, ?3\], "weights": \[\[\[\['
says '"next": ?\[.*"</s>"\]'
[ "$(tr -cd '[' <out | wc -c)" = $((5 + 2 + 4 + 4 * T)) ] || fail "4 heads of $T rows"
sed 's/.*"weights": //; s/[^0-9.,e-]*\[\[*/\n/g' out | sed 's/[]}]//g; s/,$//' | grep '[0-9]' | awk -F, '
    { sum = 0; for (i = 1; i <= NF; i++) sum += $i; n++; if (sum < 0.9999 || sum > 1.0001) bad = 1 }
    END { exit bad || n != 4 * '$T' }' || fail "rows of weights should sum to 1"
expect 0 attend m "$source" --target "$target" --json --layer 1 --head 3
says '"layers": ?\[1\], ?"heads": ?\[3\], "weights": \[\[\[\['
[ "$(tr -cd '[' <out | wc -c)" = $((5 + 3 + T)) ] || fail "one head of $T rows"

# without a target the model's own translation is shown, the same every time
expect 0 attend m "$source" --json --layer 0 --head 0
says '"target": ?"'
cp out own
expect 0 attend m "$source" --json --layer 0 --head 0 --threads 2
cmp out own || fail "the same translation and weights"

# pictures and the page; what was written is said, unless --quiet
expect 0 attend m "$source" --target "$target" --png a.png --html a.html --npy a.npy
[ "$(cat err)" = "a.png: cross attention, 12 maps
a.npy: cross attention, (3, 4, $T, $S) float32
a.html: all sites, layers and heads; open it in a browser" ] || fail "what was written"
says "^cross attention, layer 2"
expect 0 attend m "$source" --target "$target" --layer 1 --head 2 --png a.png
[ "$(cat err)" = "a.png: cross attention, layer 1, head 2" ] || fail "which head was drawn"
expect 0 attend m "$source" --target "$target" --png a.png --svg a.svg --pdf a.pdf --html a.html --npy a.npy --quiet
silent
[ "$(head -c 4 a.png | tail -c 3)" = PNG ] && [ "$(head -c 4 a.pdf)" = %PDF ] && grep -q '<svg' a.svg || fail "pictures"
expect 0 attend m "$source" --target "$target" --layer 1 --head 2 --svg one.svg --quiet
if cmp -s one.svg a.svg; then fail "one head is another picture"; fi
expect 0 attend m "$source" --target "$target" --layer 1 --svg layer.svg --quiet
if cmp -s layer.svg a.svg; then fail "one layer is another picture"; fi
grep -q "<title>Attention of m: $source</title>" a.html || fail "the page's title should name the model and the text"
grep -q '^<!DOCTYPE html>' a.html && grep -q '</html>$' a.html || fail "a whole page"
grep -q '"start":{"site":2,"layer":2,"head":-1}' a.html || fail "the page opens with what the terminal shows"
for id in w0-0 w0-1 w1-2 w2-0 w2-2; do grep -q "id=\"$id\">[A-Za-z0-9+/]*=*</script>" a.html || fail "weights $id"; done
if grep -qE '(src|href)="?(https?:)?//|@import|url\(|fetch\(|XMLHttpRequest' a.html; then fail "the page should load nothing"; fi
grep -q 'A sample' a.html && fail "the page's own sample should be gone"
expect 0 attend m "$source" --target "$target" --site encoder --layer 1 --head 1 --html b.html --quiet
grep -q '"start":{"site":0,"layer":1,"head":1}' b.html || fail "the page opens with what was asked for"
expect 0 attend m "a</script><b> \"q\" & 'x'" --target "</script>" --html c.html --quiet
[ "$(grep -o '</script>' c.html | wc -l)" = "$(grep -o '<script' c.html | wc -l)" ] || fail "a token ends a script"

# - is standard output, which gets that result alone
for kind in png svg pdf npy html; do
    "$HEED" attend m "$source" --target "$target" --$kind - >standard.$kind 2>said || fail "--$kind - failed"
    grep -q '^standard output: ' said || fail "--$kind - was not reported"
    "$HEED" attend m "$source" --target "$target" --$kind named.$kind --quiet
    cmp -s standard.$kind named.$kind || fail "--$kind - is not what a file gets"
done

# tokens and texts that hold control characters do not reach a terminal
wicked=$(printf 'a\033[31mb\177c\302\233d')
echo "$wicked" | "$HEED" tokens --train char --out wicked -q
model wicked -s vocab_size=20
expect 0 attend wicked "$wicked" --target "$wicked"
if LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]\|\302[\200-\237]')" out; then fail "control characters in the output"; fi
says '^a\\x1B\[31mb\\x7Fc\\u009Bd$'
says '\\x1B → \[: '

# a vocabulary of its own for the target
cp -r m two
printf 'das Tier war müde und alt\n' | "$HEED" tokens --train word --add-eos --out other -q
cp other/tokenizer.json two/target_tokenizer.json
model two -s vocab_size=70 -s decoder_vocab_size=10 -s share_encoder_decoder_embeddings=false
expect 0 attend two "$source" --target "$target" --json --head 0 --layer 0
says '"queries": ?\["<pad>", ?"das", ?"Tier", ?"war", ?"müde"\]'
says '"next": ?\["das", ?"Tier", ?"war", ?"müde", ?"</s>"\]'

# an encoder or a decoder alone has one attention; a pair of texts is read as one
cp -r m b
"$HEED" new bert b --force -q --seed 5 -s vocab_size=70 -s hidden_size=16 -s num_hidden_layers=3 -s num_attention_heads=2 \
    -s intermediate_size=16 -s max_position_embeddings=48 -s initializer_range=0.4
expect 0 attend b "$source" --pair "$target" --npy b.npy --html b.html
says '^attention, layer 2, mean of 2 heads$'
[ "$(cat err)" = "b.npy: attention, (3, 2, $((S + T)), $((S + T))) float32
b.html: all sites, layers and heads; open it in a browser" ] || fail "what was written"
grep -q "<title>Attention of b: $source</title>" b.html || fail "the page of an encoder"
expect 0 attend b "$source" --json --layer 1
says "\"text\": ?\"$source\", ?\"site\": ?\"attention\", ?\"queries\""
wrong 2 "attend: --layer 3: attention has 3 layers, counted from 0" attend b "$source" --layer 3
wrong 2 "attend: --site cross: the model has attention" attend b "$source" --site cross
wrong 2 "attend: --target: a model of family bert has no target" attend b "$source" --target "$target"
"$HEED" new gpt2 b --force -q --seed 5 -s vocab_size=70 -s n_embd=16 -s n_layer=2 -s n_head=2 -s n_positions=48
expect 0 attend b "$source" --layer 0 --head 1
says '^attention, layer 0, head 1$'
says '^Largest weights: [^ ]*: [^ ]* 1.00'

# a model of vectors: rows are queries, and its points the keys
"$HEED" new kernel-pooling k -q --seed 5 -s points=4 -s width=0.1
expect 0 attend k "0.5; 0.9" --json
says '^\{"site": ?"attention", ?"queries": ?\["0.5", ?"0.9"\], ?"keys": ?\[("0\.[0-9]+",? ?){4}\]'
cp out rows
printf '0.5\n0.9\n' | "$HEED" attend k - --json >out || fail "rows from standard input"
cmp out rows || fail "rows from standard input"
expect 0 attend k 0.5 --png k.png --quiet
silent
expect 0 attend k 0.5
says '^attention, layer 0, head 0$'

# mistakes
wrong 2 "attend: expected: DIR TEXT" attend m
wrong 1 "nosuch/config.json: No such file" attend nosuch "$source"
mkdir empty
"$HEED" new transformer empty --force -q -s vocab_size=70 -s d_model=16 -s encoder_layers=1 -s decoder_layers=1 \
    -s encoder_attention_heads=2 -s decoder_attention_heads=2 -s encoder_ffn_dim=16 -s decoder_ffn_dim=16
wrong 1 "empty: no tokenizer.json" attend empty "$source"
"$HEED" new mlp mlp -q -s input_size=2 -s output_size=1
wrong 1 "attend: a model of family mlp has no attention" attend mlp 1,2
wrong 1 "attend: row 1: 'the animal was tired' is not a number" attend mlp "$source"
wrong 2 "attend: --pair: a model of family mlp reads no text" attend mlp 1,2 --pair x
wrong 2 "attend: --pair: a model of family transformer reads one text" attend m "$source" --pair x
wrong 2 "attend: --layer 3: cross attention has 3 layers, counted from 0" attend m "$source" --target "$target" --layer 3
wrong 2 "attend: --layer 2: encoder attention has 2 layers, counted from 0" attend m "$source" --target "$target" --site encoder --layer 2
wrong 2 "attend: --head 4: cross attention has 4 heads, counted from 0" attend m "$source" --target "$target" --head 4
wrong 2 "attend: --site middle: the model has encoder, decoder and cross" attend m "$source" --target "$target" --site middle
wrong 1 "attend: the text is empty" attend m ""
wrong 1 "attend: the text is empty" attend m "  "
wrong 1 "attend: the target is empty" attend m "$source" --target ""
echo ab | "$HEED" tokens --train word --out none -q
model none -s vocab_size=10
space=$(printf '\302\240') # a no-break space, which parts words and is none itself
wrong 1 "attend: the text has no tokens" attend none "$space" --target ab --json
wrong 1 "attend: the target has no tokens" attend none ab --target "$space" --json
wrong 1 "attend: the text is not UTF-8 at byte 3" attend m "$(printf 'ab\377c')"
wrong 1 "attend: the target is not UTF-8 at byte 1" attend m "$source" --target "$(printf '\300\200')"
many=$(yes tired | head -n 60 | tr '\n' ' ')
wrong 1 ".*[0-9]+ tokens: the model has positions for 48" attend m "$many"
wrong 1 ".*[0-9]+ tokens: the model has positions for 48" attend m "$source" --target "$many"
wrong 1 "nosuch/a.html: No such file" attend m "$source" --target "$target" --html nosuch/a.html
wrong 1 "nosuch/a.npy: No such file" attend m "$source" --target "$target" --npy nosuch/a.npy
wrong 1 "nosuch/a.png: No such file" attend m "$source" --target "$target" --png nosuch/a.png
wrong 2 "attend: --png a.gif: the name must end in .png" attend m "$source" --png a.gif
wrong 2 "attend: --svg a.png: the name must end in .svg" attend m "$source" --svg a.png
wrong 2 "attend: --html -: standard output can take one result" attend m "$source" --html - --png -
wrong 2 "attend: --npy -: standard output can take one result" attend m "$source" --npy - --json
wrong 2 "attend: standard input can be the text or the target, not both" attend m - --target -
printf 'a\nb\n' >lines
status=0
"$HEED" attend m - <lines >out 2>err || status=$?
[ $status = 1 ] || fail "two lines"
error_is "standard input: 2 lines, one sentence is needed"
status=0
"$HEED" attend m - </dev/null >out 2>err || status=$?
[ $status = 1 ] || fail "no line"
error_is "standard input: 0 lines, one sentence is needed"
cp -r m small
model small -s vocab_size=20
wrong 1 "attend: the tokenizer gives '.*' the id [0-9]+, the model has 20 tokens" attend small "$source" --target "$target"
# little memory: a sentence, never a crash (cairo has some where it finishes an SVG or PDF)
if ! grep -q '^HEED_SANITIZE:STRING=.' "$BUILD/CMakeCache.txt"; then
    echo "<fontconfig><dir>/usr/share/fonts</dir><cachedir>$scratch/fonts</cachedir></fontconfig>" >fonts.conf
    export FONTCONFIG_FILE="$scratch/fonts.conf" # the user's cache of fonts stays out of it
    least=16000 # what loading the program takes
    until (ulimit -v $least && "$HEED" --version) >/dev/null 2>&1; do least=$((least + 500)); done
    for kind in png svg pdf; do
        for more in 0 500 1000 1500 2000 2500 3000 3500 4000 6000 10000; do
            limit=$((least + more))
            status=0
            (
                ulimit -v $limit
                "$HEED" attend m "$source" --target "$target" --layer 0 --head 0 --$kind little.$kind -q --threads 1 >out 2>err
            ) || status=$?
            [ $status -le 1 ] || fail "--$kind within $limit kB of address space: status $status"
            [ $status = 0 ] || grep -q "^heed: .*emory" err || fail "--$kind within $limit kB: memory should be missed"
        done
    done
fi
[ -z "$(find . -name '.heed-*')" ] || fail "something half-written is left"

# words instead of tokens: rows still sum to 1, a word has the sum of its tokens' weights
awk 'BEGIN { for (i = 0; i < 40; i++) print "a film of " substr("goodness badness redness sadness", 8 * (i % 4) + 1, 7) }' >films.txt
expect 0 train mlm --data films.txt --out films --vocab 34 --steps 1 --quiet --set hidden_size=16 --set num_hidden_layers=2 \
    --set num_attention_heads=2 --set intermediate_size=8
expect 0 attend films 'a badness' --pair 'of films' --json --layer 0 --head 0
says '"##'
expect 0 attend films 'a badness' --pair 'of films' --json --layer 0 --head 0 --words
says '"keys": ?\["\[CLS\]", ?"a", ?"badness", ?"\[SEP\]", ?"of", ?"films", ?"\[SEP\]"\]'
sed 's/.*"weights": \[\[\[//; s/\]\]\]\]*}$//; s/\],\[/\n/g; s/\[//g' out | tr ',' ' ' |
    awk 'NF { s = 0; for (i = 1; i <= NF; i++) s += $i; if (NF != 7 || s < 0.9999 || s > 1.0001) exit 1; n++ } END { exit n != 7 }' ||
    fail "the weights of a word sum to 1"
expect 0 attend films 'a badness' --words
says '^\[CLS\] looks at: '
