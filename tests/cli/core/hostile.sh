# Every command in bad company: little memory, closed standard streams, a parser behind --json, and files of every kind
# that are made to harm. Whatever happens is an exit status of heed's own and printable lines; nothing hangs, and under a
# sanitizer nothing is found. A command that is not in the table below fails the test.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
ASAN_OPTIONS=${ASAN_OPTIONS:-}:exitcode=99
UBSAN_OPTIONS=${UBSAN_OPTIONS:-}:exitcode=99
LSAN_OPTIONS=${LSAN_OPTIONS:-}:exitcode=99
export ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS

# ---- what the commands work on ----

awk 'BEGIN {
    split("one two three four", word, " ")
    for (i = 0; i < 40; i++) print word[1 + i % 4] " " word[1 + int(i / 4) % 4] "\t" word[1 + i % 4]
}' >corpus.tsv
cut -f 1 corpus.tsv | head -n 5 >lines
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 20; i++) print i "," i % 3 "," 2 * i }' >points.csv
printf '1,2\n3,4\n' >rows
small="--quiet --epochs 1 --set d_model=8 --set encoder_layers=1 --set decoder_layers=1 --set encoder_ffn_dim=8
    --set decoder_ffn_dim=8 --set encoder_attention_heads=2 --set decoder_attention_heads=2 --tokens word --vocab 0"
expect 0 train translate --data corpus.tsv $small --out tr
expect 0 train regress --data points.csv --epochs 1 --quiet --model mlp --out mlp --log run.log
tiny="--quiet --set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8 --vocab 60"
expect 0 train classify --model bert --data corpus.tsv $tiny --steps 2 --out classes
expect 0 train mlm --model bert --data lines --max-length 8 --valid 0 $tiny --steps 1 --batch 1 --out words
tr ' ' '\n' <lines | sed 's/.*/&\tX/; s/one\t.*/one\tY\n/' >tagged
expect 0 train tag --model bert --data tagged $tiny --steps 1 --batch 1 --valid 0 --out tags
for task in qa choose; do
    expect 0 new bert $task --task $task -s vocab_size=60 -s hidden_size=8 -s num_hidden_layers=1 -s num_attention_heads=2 -s intermediate_size=8
    cp classes/tokenizer.json $task
done
printf 'one\ttwo one three\ntwo\tfour one\n' >questions
printf 'one\ttwo\tthree\ntwo\tfour\tone two\n' >choices
expect 0 train classify --init classes --data corpus.tsv --lora 2 --steps 1 --quiet --out adapter
expect 0 train lm --data corpus.tsv --tokens word --context 8 --steps 1 --batch 2 --quiet --set n_embd=8 --set n_layer=1 --set n_head=2 --out lm
expect 0 train text2text --data corpus.tsv --tokens word --vocab 150 --steps 1 --batch 4 --quiet --decode 0 --set d_model=8 --set num_layers=1 \
    --set d_ff=8 --set num_heads=2 --set d_kv=4 --out t5
expect 0 train ngram --data corpus.tsv --order 2 --quiet --out counted
echo '{"train":[[[60,55,50,40],[60,55,50,41]],[[62,57,50,40]]]}' >notes.json
expect 0 train music --data notes.json --quiet --steps 1 --batch 1 --valid 0 --set hidden_size=4 --set embedding_size=4 --out music
expect 0 train words --data corpus.tsv --width 4 --min-count 1 --epochs 1 --quiet --out vectors
awk 'BEGIN { print "date,y"; for (i = 1; i < 29; i++) printf "2024-02-%02d,%d\n", i, i % 5 }' >days.csv
expect 0 train forecast --data days.csv --model linear --context 4 --horizon 2 --epochs 1 --batch 4 --quiet --out days
expect 0 new yolos finder -s image_size=16,16 -s patch_size=4 -s hidden_size=8 -s num_hidden_layers=1 -s num_attention_heads=2 -s intermediate_size=8 \
    -s num_detection_tokens=3
echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}}' >finder/preprocessor_config.json
expect 0 new vit vit -s image_size=16 -s patch_size=4 -s hidden_size=8 -s num_hidden_layers=2 -s num_attention_heads=2 -s intermediate_size=8
cp "$SOURCE/tests/fuzz/corpus/jpeg/jpeg.0" photo.jpg
echo photo.jpg >photos
echo '[{"image_id": 0, "category_id": 1, "bbox": [0, 0, 4, 4], "score": 0.5}]' >found.json
printf 'photo.jpg,0,0,4,4,LABEL_0\nphoto.jpg,1,1,4,4,LABEL_1\n' >boxes.csv
printf 'x\ty\none one\ttwo\ntwo one\tthree\nthree one\tfour\n' >shots.tsv
expect 0 new vae coder -s image_size=8 -s hidden_sizes=4 -s latent_size=2
expect 0 new gat graph --task nodes -s in_channels=2 -s out_channels=2 -s hidden_channels=4 -s heads=2
printf 'id,x,y,label\na,1,0,0\nb,0,1,1\nc,1,1,0\nd,0,2,1\n' >nodes.csv
printf 'a,b\nb,c\nd,d\n' >edges.csv
f1='\000\000\200\077'
x='{"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}'
printf "\\$(printf %03o ${#x})\\000\\000\\000\\000\\000\\000\\000%s$f1$f1$f1" "$x" >xy
mkdir photos-of && cp photo.jpg photos-of
expect 0 train diffusion --data photos-of --size 4 --set block_out_channels=4,8 --set layers_per_block=1 --steps 1 --batch 1 --quiet --out noise
mkdir flow
echo '{"_class_name": "FlowMatchEulerDiscreteScheduler"}' >flow/scheduler_config.json
x='{"sample":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"model_output.0":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}}'
printf "\\$(printf %03o ${#x})\\000\\000\\000\\000\\000\\000\\000%s$f1$f1$f1$f1" "$x" >outputs

# NAME|STANDARD INPUT|ARGUMENTS: OUT is a directory for what is written
cat >commands <<END
list||list
new||new mlp OUT/new -s input_size=2 -s output_size=1
info||info tr
forward||forward mlp --in xy --out OUT/y --grad --attentions
schedule||schedule flow --steps 1 --in outputs --out OUT/samples
train||train regress --data points.csv --model mlp --epochs 2 --out OUT/regress --log OUT/regress.jsonl --keep 1
train||train translate --data corpus.tsv $(echo $small) --out OUT/translate
sweep||sweep regress --data points.csv --model linear --epochs 1 --grid lr=0.1,0.01 --out OUT/sweep
eval||eval mlp --data points.csv
eval||eval tr --data corpus.tsv --beam 2
predict|rows|predict mlp
forecast|days.csv|forecast days --png OUT/f.png
eval||eval days --data days.csv --png OUT/e.png
classify|lines|classify classes
train||train detect --model yolos --data shapes --count 2 --valid 0 --steps 1 --batch 1 --shortest-edge 16 --set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8 --set num_detection_tokens=4 --quiet --out OUT/finder
attend||attend finder photo.jpg --threshold 0 --png OUT/o.png --html OUT/o.html
attend||attend finder photo.jpg --threshold 0
eval||eval --data boxes.csv --detections found.json
train||train diffusion --data photos-of --size 4 --set block_out_channels=4,8 --set layers_per_block=1 --steps 1 --batch 1 --quiet --out OUT/noise
sample||sample noise --count 2 --steps 2 --png OUT/n.png --npy OUT/n.npy --strip OUT/s.png
eval||eval noise --data photos-of
detect|photos|detect finder --threshold 0
detect||detect finder photo.jpg --threshold 0 --png OUT/d.png
eval||eval finder --data boxes.csv --png OUT/b.png
embed|lines|embed classes --out OUT/v.npy
embed|lines|embed classes
classify|photos|classify vit
classify||classify vit photo.jpg --top 2
embed|photos|embed vit --out OUT/v.npy
embed||embed vit photo.jpg
attend||attend vit photo.jpg --rollout --html OUT/p.html --svg OUT/p.svg --png OUT/p.png --npy OUT/p.npy
attend||attend vit photo.jpg --patch 1,1 --png OUT/q.png
sample||sample coder --count 2 --png OUT/n.png --npy OUT/n.npy
reconstruct||reconstruct coder photo.jpg --png OUT/r.png --npy OUT/r.npy
reconstruct|photos|reconstruct coder --noise 0.1 --png OUT/r.png
walk||walk coder photo.jpg photo.jpg --steps 3 --png OUT/w.png --npy OUT/w.npy
embed||embed coder photo.jpg
train||train autoencode --data same-shapes --set hidden_sizes=4 --set image_size=8 --steps 1 --batch 8 --valid 0 --quiet --out OUT/coder
train||train nodes --nodes nodes.csv --edges edges.csv --epochs 2 --valid 0 --quiet --out OUT/graph
train||train graphs --data copies --steps 1 --set hidden_channels=4 --quiet --out OUT/graphs
eval||eval graph --nodes nodes.csv --edges edges.csv --png OUT/g.png
predict||predict graph --nodes nodes.csv --edges edges.csv
attend||attend graph --nodes nodes.csv --edges edges.csv --png OUT/h.png --html OUT/h.html --npy OUT/h.npy
attend||attend graph --nodes nodes.csv --edges edges.csv
fill|lines|fill words one_[MASK]
tag|lines|tag tags
answer|questions|answer qa
choose|choices|choose choose
eval||eval classes --data corpus.tsv
train||train classify --model bert --data corpus.tsv $(echo $tiny) --steps 2 --out OUT/classes
translate|lines|translate tr --beam 2 --max-length 4
generate|lines|generate tr --max-tokens 4
generate||generate music --steps 8 --midi OUT/m.mid --svg OUT/m.svg
train||train music --data notes.json --steps 1 --batch 1 --valid 0 --set hidden_size=4 --quiet --out OUT/music
eval||eval music --data notes.json
attend||attend tr one_two --html OUT/a.html --svg OUT/a.svg --png OUT/a.png --npy OUT/a.npy
tokens|lines|tokens tr
tokens|lines|tokens --train bpe --vocab 30 --out OUT/tokens
bleu||bleu lines lines
rouge||rouge lines lines
average||average tr tr --out OUT/mean
merge||merge classes adapter --out OUT/merged
similar|lines|similar classes --texts corpus.tsv --index OUT/index
summarize|lines|summarize t5 --max-length 4
score|lines|score lm
score|lines|score counted
shots||shots lm --table shots.tsv --k 0 --template {x}{y} --png OUT/s.png
complete|lines|complete counted
words||words vectors one --png OUT/w.png
plot||plot run.log --png OUT/p.png --svg OUT/p.svg --pdf OUT/p.pdf --lr
plot||plot run.log
compare-attention||compare-attention --lengths 16,32 --kinds exact,fnet --width 8 --heads 2 --seconds 0
lesson||lesson worked-example --out OUT/lesson
demo||demo --steps 1 --out OUT/demo
END
"$HEED" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' >there
cut -d '|' -f 1 commands | sort -u >tried
sort there | comm -23 - tried >missing
[ ! -s missing ] || fail "these commands are to be added to the table of this test: $(cat missing)"

control=$(printf '\001-\011\013-\037\177')
sane() { # WHAT: after a command, its status in $status and its messages in err
    case $status in
    0 | 1 | 2) ;;
    *) fail "$1: status $status" ;;
    esac
    if LC_ALL=C grep -q "[$control]" err; then fail "$1: control characters in the messages"; fi
    [ $status = 0 ] || grep -q '^heed: ' err || fail "$1: it fails without a sentence"
}
try() { # STANDARD-INPUT ARGUMENTS...: output in out, messages in err; what takes longer than 30 seconds hangs
    input=${1:-/dev/null}
    shift
    status=0
    timeout 30 "$HEED" "$@" <"$input" >out 2>err || status=$?
    sane "heed $*"
}
each() { # FUNCTION: called with NAME STANDARD-INPUT ARGUMENTS... for every line of the table
    while IFS='|' read -r name input arguments <&3; do
        "$1" "$name" "$input" $(echo "$arguments" | sed 's/one_two/one/')
    done 3<commands
}
with() { # DIR ARGUMENTS...: the arguments with DIR in the place of OUT, in $arguments
    into=$1
    shift
    arguments=$(echo "$@" | sed "s|OUT|$into|g")
}

# ---- little memory ----

budgets="1 200K 600K 1M 1500K 2500K 6M"
[ "${QUICK:-0}" != 1 ] || budgets="1 600K 1500K 6M" # a sanitizer takes its time

little() {
    input=$2 command=$1
    shift 2
    [ $command != demo ] || return 0 # its training is that of train
    for bytes in $budgets; do
        rm -rf few && mkdir few
        with few "$@"
        try "$input" $arguments --memory $bytes
        [ -z "$(find few -name '.heed-*')" ] || fail "heed $arguments --memory $bytes: half a file was left"
    done
}
each little
for bytes in 2911000 2800000 2500000; do
    head -n 5 lines | awk '{ for (i = 0; i < 200; i++) print }' >many
    try many translate tr --beam 1 --max-length 3 --threads 1 --memory $bytes
done
try '' forward mlp --in xy --out y --grad --memory 100M
[ $status = 0 ] || fail "100 MB should be enough"

# ---- closed streams: what is written is what is written with open ones ----

closed() {
    input=$2 command=$1
    shift 2
    [ $command$QUICK != demo1 ] || return 0
    rm -rf open none && mkdir open none
    with open "$@"
    try "$input" $arguments
    [ $status = 0 ] || fail "heed $arguments: status $status"
    with none "$@"
    status=0
    "$HEED" $arguments <"${input:-/dev/null}" 2>err >&- || status=$?
    sane "heed $arguments >&-"
    same
    [ $command != demo ] && [ $QUICK != 1 ] || return 0 # demo takes seconds; a sanitizer has seen what writes to a closed stream
    rm -rf none && mkdir none
    status=0
    "$HEED" $arguments <"${input:-/dev/null}" >out 2>&- || status=$?
    [ $status = 0 ] || fail "heed $arguments 2>&-: status $status"
    same
    rm -rf none && mkdir none
    status=0
    "$HEED" $arguments <&- >out 2>err || status=$?
    sane "heed $arguments <&-"
}
same() { # but for files that hold times
    find open none \( -name checkpoint.safetensors -o -name '*.jsonl' -o -name 'run-*.json' -o -name sweep.csv \) -exec rm {} +
    diff -r open none >differences || fail "$arguments: with a closed stream it writes something else: $(cat differences)"
}
QUICK=${QUICK:-0}
each closed

# ---- --json: a parser must take it ----

# heed's own reader is strict: what is put into a config.json must be JSON
is_json() { # FILE: one document, or one a line
    rm -rf parsed && cp -r mlp parsed
    for separator in ' ' ,; do
        { sed '$d' mlp/config.json && echo ', "x": [' && sed "\$!s/\$/$separator/" "$1" && echo ']}'; } >parsed/config.json
        "$HEED" info parsed >/dev/null 2>parsed/err && return 0
    done
    return 1
}
echo '[1, nan]' >bad
! is_json bad || fail "the check itself is wrong: nan is not JSON"
asked=0
json() {
    input=$2
    command=$1
    shift 2
    if [ $command = demo ] || ! "$HEED" $command --help | grep -q -e ' --json'; then return 0; fi
    rm -rf told && mkdir told
    with told "$@"
    try "$input" $arguments --json
    [ $status = 0 ] || fail "heed $arguments --json: status $status"
    is_json out || fail "heed $arguments --json: not JSON: $(cat out parsed/err)"
    asked=$((asked + 1))
}
each json
[ $asked -ge 10 ] || fail "only $asked commands were asked for JSON"

# ---- hostile files ----

nasty='\001\033[31m\nred\342\200\256\302\233'
make() { # KIND FILE
    rm -rf "$2"
    case $1 in
    empty) : >"$2" ;;
    half) head -c $(($(wc -c <"$2.good") / 2)) "$2.good" >"$2" ;;
    noise) head -c 2000 "$HEED" >"$2" ;;
    folder) mkdir "$2" ;;
    pipe) mkfifo "$2" ;;
    endless) ln -s /dev/zero "$2" ;;
    deep) awk 'BEGIN { for (i = 0; i < 50000; i++) printf "["; print "" }' >"$2" ;;
    wide) awk 'BEGIN { printf "["; for (i = 0; i < 700000; i++) printf "[],"; print "0]" }' >"$2" ;;
    steering) printf "{\"model_type\": \"\\\\u001b[31m\\\\n\", \"version\": \"$nasty\", \"model\": {\"type\": \"\\\\u001b[2J\"}}" >"$2" ;;
    esac
}
kinds='empty half noise folder pipe endless deep wide steering'
spoiled() { # FILE ARGUMENTS...: a command that reads this file, with the file spoiled in every way
    file=$1
    shift
    for kind in $kinds; do
        cp "$file" "$file.good"
        make $kind "$file"
        try lines "$@"
        [ $status = 1 ] || fail "heed $*: status $status with $file as $kind"
        [ "$(wc -l <err)" = 1 ] || fail "heed $*: one line should say what is wrong with $file as $kind"
        rm -rf "$file" && mv "$file.good" "$file"
    done
}
cp -r tr bad-tr
cp -r mlp bad-mlp
printf '{"num_beams": 2}' >bad-tr/generation_config.json
spoiled bad-tr/config.json info bad-tr
spoiled bad-tr/model.safetensors translate bad-tr
spoiled bad-tr/tokenizer.json tokens bad-tr
rm bad-tr/checkpoint.safetensors
spoiled bad-mlp/checkpoint.safetensors train regress --data points.csv --epochs 1 --quiet --model mlp --out bad-mlp --resume
spoiled xy forward mlp --in xy --out y
cp photo.jpg spoilt.jpg
spoiled spoilt.jpg attend vit spoilt.jpg --quiet
kinds='empty half noise folder pipe endless deep wide' # any object will do
spoiled bad-tr/generation_config.json translate bad-tr

# names of tensors and inputs, and values of a config, that would steer a terminal
for name in '\\u001b[2J\\n' "$(awk 'BEGIN { for (i = 0; i < 400; i++) printf "n" }')"; do
    header="{\"$(printf "$name")\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
    size=${#header}
    printf "\\$(printf %03o $((size % 256)))\\$(printf %03o $((size / 256)))\\000\\000\\000\\000\\000\\000%s$f1" "$header" >strange
    cp strange bad-mlp/model.safetensors
    try '' info bad-mlp
    [ $status = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "a strange name of a tensor should be one sentence"
    try '' forward mlp --in strange --out y
    [ $status = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "a strange name of an input should be one sentence"
done

# data
printf 'a,b,y\n1,2,3\n1,"2,3\n' >bad.csv
printf 'a,b,y\n1,\033[31m,3\n' >steering.csv
head -c 3000 "$HEED" >noise.csv
printf 'one\t\377\n' >bytes.tsv
printf 'one two three\n' >narrow.tsv
for file in bad.csv steering.csv noise.csv; do
    for command in 'train regress --model mlp --quiet --out never' 'eval mlp' 'predict mlp'; do
        try '' $command --data $file
        [ $file = steering.csv ] || [ $status = 1 ] || fail "heed $command --data $file: status $status"
        if LC_ALL=C grep -q "[$control]" out; then fail "heed $command --data $file: control characters"; fi
        rm -rf never
    done
done
for file in bytes.tsv narrow.tsv; do
    for command in "train translate $small --out never" 'eval tr'; do
        try '' $command --data $file
        [ $status = 1 ] || fail "heed $command --data $file: status $status"
    done
done
[ ! -e never ] || fail "nothing should have been made"
