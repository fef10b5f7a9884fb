# heed demo: what it shows, writes and refuses, in a run too short to learn much; demo_full.sh has the real one.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

steps=4
learns || steps=1
expect 0 demo --steps $steps --quiet --out made/below
silent
says '^1\. A grammar of ours writes [0-9]+ English sentences'
says '^2\. A Transformer with 2 \+ 2 layers of 4 heads'
says '^3\. Sentences that it has never seen: BLEU [0-9.]+ \(greedy decoding\) on 40 of them'
says 'right in [0-9]+ of 40 sentences'
says '^4\. Where "it" looks'
[ "$(head -c 4 made/below/it.png | tail -c 3)" = PNG ] || fail "the picture should be a PNG"
for page in it-tired it-wide; do
    grep -q '</html>' "made/below/$page.html" || fail "there should be a whole page $page.html"
done
if grep -q "$(printf '\033')" out; then fail "no escapes should go into a file"; fi

# what it leaves is a model to work with, and a corpus to train on
cp out first
feed 'A bird flies through the window.\n' translate made/below/model
[ "$status" = 0 ] && [ "$(wc -l <out)" = 1 ] || fail "its model should translate"
expect 0 attend made/below/model 'A bird flies.' --quiet --npy a.npy
[ -s a.npy ] || fail "its model should be looked into"
[ "$(wc -l <made/below/corpus/train.en)" = "$(wc -l <made/below/corpus/train.de)" ] || fail "a corpus of two languages"
if grep -qxF "The animal didn't cross the street because it was too tired." made/below/corpus/train.en; then
    fail "the sentences that are shown should not be trained on"
fi

# what is there is not lost by a slip
cp -r made/below/model kept
wrong 1 'made/below: holds model/model.safetensors already; --force overwrites it' demo --steps 4 --out made/below
wrong 1 'made/below/model: holds model.safetensors already; --force overwrites it' demo --steps 4 --out made/below/model
rm -r made/below/model
wrong 1 'made/below: holds corpus/train.en already; --force overwrites it' demo --steps 4 --out made/below
if learns; then
    expect 0 demo --steps 4 --out made/below --force
    grep -q '^step 4/4  loss ' err || fail "progress should be plain lines where there is no terminal"
    sed 's/([0-9]* s of training)//' out >second
    sed 's/([0-9]* s of training)//' first | cmp - second || fail "the same seed should give the same run"
else
    mv kept made/below/model
    cp first out
fi

# what to type next can be typed
sed -n 's/^  \(.*heed translate .*\)/\1/p' out >next
[ "$(wc -l <next)" = 1 ] && [ "$(sh ./next | wc -l)" = 1 ] || fail "the first command should run: $(cat next)"

: >file
wrong 2 "demo: 'x' is one word too many; expected: options only" demo x
wrong 2 'demo: --steps' demo --steps 0
wrong 1 'demo: needs at least [0-9]+K of memory, --memory allows 1K$' demo --memory 1K --out none
wrong 1 'file.*: Not a directory' demo --out file/below
