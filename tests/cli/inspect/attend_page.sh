# The page that heed attend writes, in headless Chromium: what it shows, by pointer, by keyboard, on a narrow screen.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
browser=
for name in chromium chromium-browser google-chrome; do
    if [ -z "$browser" ] && command -v $name >/dev/null; then browser=$name; fi
done
if [ -z "$browser" ] || ! command -v python3 >/dev/null; then
    echo "skipped: the page is tested with Chromium and python3, which are not both installed"
    exit 77
fi

cat >text <<'END_OF_TEXT'
the animal didn't cross the street because it was too tired
das Tier lief nicht über die Straße weil es zu müde war
END_OF_TEXT
"$HEED" tokens --train bpe --vocab 60 --add-eos --out m text -q
"$HEED" new transformer m --force -q --seed 3 -s vocab_size=60 -s d_model=32 -s encoder_layers=2 -s decoder_layers=3 \
    -s encoder_attention_heads=4 -s decoder_attention_heads=4 -s encoder_ffn_dim=32 -s decoder_ffn_dim=32 \
    -s init_std=0.3 -s max_position_embeddings=600
"$HEED" attend m "the animal was tired" --target "das Tier war müde" --html short.html --json >short.json
words=$(yes the animal was too tired | tr '\n' ' ' | head -c 20000)
long() { # N: a text of N tokens, without the end token
    for word in $words; do printf '%s ' "$word"; done | "$HEED" tokens m | tr ' ' '\n' | head -n "$1" | tr '\n' ' ' |
        "$HEED" tokens m --decode
}
"$HEED" attend m "$(long 511)" --target "$(long 511)" --html long.html --quiet
awk 'BEGIN { for (i = 0; i < 40; i++) print "a film of " substr("goodness badness redness sadness", 8 * (i % 4) + 1, 7) }' >films.txt
"$HEED" train mlm --data films.txt --out films --vocab 34 --steps 1 --quiet --set hidden_size=16 --set num_hidden_layers=2 \
    --set num_attention_heads=2 --set intermediate_size=8 >out
"$HEED" attend films "a badness" --pair "of films" --html pair.html --quiet
"$HEED" attend films "a badness" --pair "of films" --json --words >pair.json
"$HEED" train lm --data films.txt --tokens char --context 16 --out letters --steps 1 --quiet --set n_embd=16 --set n_layer=1 \
    --set n_head=2 >out
"$HEED" attend letters "a badness" --html letters.html --quiet
status=0
python3 "$SOURCE/tests/cli/inspect/attend_page.py" $browser short.html long.html short.json pair.html pair.json letters.html >out 2>err || status=$?
[ $status = 0 ] || fail "the page fails"
cat out
