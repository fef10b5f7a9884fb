# heed similar: the nearest lines of a file, its vectors kept beside it, and made anew when they must be.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

tiny="--set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=24 --set max_position_embeddings=12
    --vocab 60 --steps 2 --quiet"
awk 'BEGIN { for (i = 0; i < 40; i++) printf "the %s film is %s\n", substr("red old new sad", 4 * (i % 4) + 1, 3), i % 3 ? "good" : "bad" }' >films.txt
expect 0 train mlm --data films.txt --out model $tiny
expect 0 train mlm --data films.txt --out other $tiny --seed 7
printf 'a red film\n\nthe sad film is good\n  \nthe old film\na\tb\n' >texts

# what is in the file is found, itself first; blank lines never
expect 0 similar model --texts texts 'the sad film is good' 'a red film' --top 2
says '^1\.0000	3	the sad film is good$'
says '^1\.0000	1	a red film$'
[ "$(wc -l <out)" = 6 ] && [ "$(grep -c '^$' out)" = 2 ] || fail "two lines for each query, and an empty one"
grep -q '^texts.vectors.safetensors: 4 vectors computed: there was none$' err || fail "the vectors should be said to be made"
expect 0 similar model --texts texts 'the old film' --top 9 --json --seed 5
grep -q computed err && fail "vectors are computed once"
says '^\{"query":"the old film","found":\[\{"line":5,"score":(1|0\.99999[0-9]*|1\.00000[0-9]*),"text":"the old film"\},\{"line":'
[ "$(grep -o '"line"' out | wc -l)" = 4 ] || fail "no more than there are"
feed 'a red film\nthe old film\n' similar model --texts texts -k 1
[ "$status" = 0 ] && [ "$(cut -f 2 out | tr '\n' ' ')" = '1 5 ' ] || fail "a line in, a line out"
answers_at_once 'a red film\n' similar model --texts texts
feed 'a red film\n' similar model --texts texts --threads 2 --json
mv out two
feed 'a red film\n' similar model --texts texts --threads 1 --json
cmp out two || fail "threads change the answer"

# the scores are the cosines of heed embed's vectors
expect 0 embed model 'a red film' 'the old film' --quiet
cosine=$(awk '{ for (i = 1; i <= NF; i++) v[NR, i] = $i } END { for (i = 1; i <= NF; i++) { d += v[1, i] * v[2, i]; a += v[1, i] ^ 2; b += v[2, i] ^ 2 }
    printf "%.4f", d / sqrt(a * b) }' out)
expect 0 similar model --texts texts 'a red film'
says "^$cosine	5	the old film\$"

# made anew when texts, model or pooling change; gz, and another place
printf 'a new line\n' >>texts
expect 0 similar model --texts texts 'a red film'
grep -q '^texts.vectors.safetensors: 5 vectors computed: the texts have changed$' err || fail "which is said"
expect 0 similar other --texts texts 'a red film'
grep -q ': 5 vectors computed: it was made with another model$' err || fail "another model has other vectors"
expect 0 similar other --texts texts 'a red film' --pooling max
grep -q ': 5 vectors computed: it was made with another model$' err || fail "and so has another pooling"
gzip -k texts
expect 0 similar other --texts texts.gz 'a new line' --index there.st -k 1
says '^1\.0000	7	a new line$'
[ -s there.st ] && [ ! -e texts.gz.vectors.safetensors ] || fail "the vectors should be where they were asked for"
expect 0 similar other --texts texts 'a new line' --index there.st -k 1
grep -q computed err && fail "the texts are the same"

# long lines are counted
seq -s ' film ' 40 >long
expect 0 similar model --texts long 'the film' --top 1
grep -q "^heed: long: 1 line is longer than the model's 12 tokens, truncated\$" err || fail "long lines are counted"
expect 0 similar model --texts long "$(cat long)" --top 1
grep -q "^heed: 1 text is longer than the model's 12 tokens, truncated\$" err || fail "and long queries"

# bad queries
feed 'a red film\n\377\nthe old film\n' similar model --texts texts -k 1
[ "$status" = 1 ] && [ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 2p out)" ] || fail "a bad line is answered by an empty one"
feed '\377\n' similar model --texts texts --json
grep -q '^{"line":1,"error":"byte 1 is not UTF-8' out || fail "the error of a bad line"

# what is wrong
: >empty
wrong 1 'none: No such file or directory' similar model --texts none x --quiet
wrong 1 'empty: there are no texts' similar model --texts empty x --quiet
printf 'good\n\377\n' >binary
wrong 1 'binary: line 2: byte 1 is not UTF-8' similar model --texts binary x --quiet
wrong 2 'similar: --texts FILE is needed' similar model x
wrong 2 'similar: --texts: a file is needed; standard input is for queries' similar model --texts - x
head -c 200 texts.vectors.safetensors >cut.st
wrong 1 'the file of vectors: cut.st: vectors: data_offsets \[0,320\] do not lie within the 24 bytes of data$' similar model --texts texts --index cut.st x --quiet
[ "$(wc -c <cut.st)" = 200 ] || fail "what is no index should stay as it is"
cp model/model.safetensors weights.st
wrong 1 'weights.st: no vectors of texts; it is not overwritten' similar model --texts texts --index weights.st x --quiet
cmp weights.st model/model.safetensors || fail "other files are not overwritten"
wrong 1 'no/where: No such file' similar model --texts texts --index no/where x --quiet
ls | grep -q '\.tmp\|~$' && fail "nothing half-written should be left"

# ---- pictures ----

seeds=$SOURCE/tests/fuzz/corpus
mkdir -p photos/in photos/.hidden
cp "$seeds/jpeg/jpeg.0" photos/in/a.jpg
cp "$seeds/png/png.2.8.interlaced" photos/b.PNG
cp "$seeds/png/png.3.4" photos/c.png
cp "$seeds/jpeg/jpeg.turned6" photos/in/d.jpeg
cp "$seeds/png/png.3.4" photos/.hidden/e.png
echo 'no picture' >photos/notes.txt
expect 0 new vit vit --seed 4 --quiet -s image_size=16 -s patch_size=4 -s hidden_size=12 -s num_hidden_layers=2 -s num_attention_heads=2 \
    -s intermediate_size=8 -s initializer_range=0.3 -s num_labels=3

# of a folder in the order of the paths, of a list in its own; what is hidden and what is no picture is left out
expect 0 similar vit --pictures photos/ photos/in/a.jpg photos/c.png --top 2
says '^1\.0000	3	photos/in/a\.jpg$'
says '^1\.0000	2	photos/c\.png$'
[ "$(wc -l <out)" = 6 ] && [ "$(grep -c '^$' out)" = 2 ] || fail "two pictures for each query, and an empty line"
grep -q '^photos.vectors.safetensors: 4 vectors computed: there was none$' err || fail "the vectors should be said to be made"
(cd photos && "$HEED" similar ../vit --pictures . in/a.jpg >/dev/null 2>../err) || fail "a folder without a name of its own"
grep -q '^./pictures.vectors.safetensors: 4 vectors computed: there was none$' err || fail "has its vectors in it"
rm photos/pictures.vectors.safetensors
expect 0 similar vit --pictures photos photos/in/d.jpeg --top 9 --json
grep -q computed err && fail "vectors are computed once"
says '^\{"query":"photos/in/d.jpeg","found":\[\{"line":4,"score":(1\.0|0\.99999[0-9]*|1\.00000[0-9]*),"picture":"photos/in/d.jpeg"\},\{"line":'
[ "$(grep -o '"line"' out | wc -l)" = 4 ] || fail "no more than there are"
printf 'photos/in/d.jpeg\n\nphotos/b.PNG\nphotos/c.png\n' >list
feed 'photos/c.png\nphotos/in/d.jpeg\n' similar vit --pictures list -k 1 --quiet
[ "$status" = 0 ] && [ "$(cut -f 2,3 out | tr '\t\n' '  ')" = '4 photos/c.png 1 photos/in/d.jpeg ' ] || fail "a path in, a path out"
rm questions answers
answers_at_once 'photos/c.png\n' similar vit --pictures photos --quiet
expect 0 embed vit photos/b.PNG photos/c.png --quiet
cosine=$(awk '{ for (i = 1; i <= NF; i++) v[NR, i] = $i } END { for (i = 1; i <= NF; i++) { d += v[1, i] * v[2, i]; a += v[1, i] ^ 2; b += v[2, i] ^ 2 }
    printf "%.4f", d / sqrt(a * b) }' out)
expect 0 similar vit --pictures photos photos/b.PNG
says "^$cosine	2	photos/c\.png\$"

# made anew when pictures, model, processor or pooling change
made_anew() { # WHY ARGUMENTS...
    why=$1
    shift
    expect 0 similar vit --pictures photos photos/c.png "$@"
    grep -q "^photos.vectors.safetensors: [45] vectors computed: $why\$" err || fail "which is said: $why"
}
cp photos/c.png photos/f.png
made_anew 'the pictures have changed'
touch -d 2001-01-01 photos/f.png
made_anew 'the pictures have changed'
rm photos/f.png
made_anew 'the pictures have changed'
made_anew 'it was made with another model' --pooling max
made_anew 'it was made with another model'
echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}, "image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4]}' \
    >vit/preprocessor_config.json
made_anew 'it was made with another model'
expect 0 similar vit --pictures photos photos/c.png
grep -q computed err && fail "and only then"

# bad queries, bad pictures, and what does not go together
echo text >text.jpg
expect 1 similar vit --pictures photos text.jpg photos/c.png none.png -k 1 --quiet
[ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 1p out)" ] && [ -z "$(sed -n 3p out)" ] || fail "a bad picture is answered by an empty line"
grep -q '^heed: text.jpg: not a picture' err && grep -q '^heed: none.png: No such file' err || fail "and reported"
expect 1 similar vit --pictures photos text.jpg --json --quiet
says '^\{"picture":"text.jpg","error":"text.jpg: not a picture'
mkdir nothing bad
echo text >nothing/a.txt
cp text.jpg photos/c.png bad
printf 'photos/c.png\nnone.png\n' >gone
wrong 1 'nothing: there are no pictures \(.png, .jpg or .jpeg\)' similar vit --pictures nothing photos/c.png --quiet
wrong 1 'empty: there are no pictures' similar vit --pictures empty photos/c.png --quiet
wrong 1 'bad/text.jpg: not a picture' similar vit --pictures bad photos/c.png --quiet
wrong 1 'none.png: No such file' similar vit --pictures gone photos/c.png --quiet
wrong 1 'none: No such file' similar vit --pictures none photos/c.png --quiet
wrong 1 'photos/c.png: a picture; a folder of pictures or a list of their paths is needed' similar vit --pictures photos/c.png photos/c.png --quiet
wrong 1 'no/where: No such file' similar vit --pictures photos --index no/where photos/c.png --quiet
wrong 1 'weights.st: no vectors of pictures; it is not overwritten' similar vit --pictures photos --index weights.st photos/c.png --quiet
[ ! -e bad.vectors.safetensors ] && [ ! -e gone.vectors.safetensors ] || fail "nothing should be left of what failed"
wrong 2 'similar: --pictures PATH is needed' similar vit photos/c.png
wrong 2 'similar: --pictures: a file is needed' similar vit --pictures - photos/c.png
wrong 2 'similar: --texts is for models of text, which vit is not' similar vit --texts texts photos/c.png
wrong 2 'similar: --pictures is for models of pictures, which model is not' similar model --pictures photos x
wrong 2 'similar: photos/c.png is a picture, and the model of model reads none' similar model --texts texts photos/c.png
wrong 1 'absent/config.json: No such file' similar absent --pictures photos photos/c.png
