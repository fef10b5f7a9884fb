# heed classify, embed and attend on pictures: answers in every form, files that are no pictures, models that read none.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
seeds=$SOURCE/tests/fuzz/corpus
cp "$seeds/jpeg/jpeg.0" a.jpg
cp "$seeds/png/png.2.8.interlaced" b.png
cp "$seeds/png/png.3.4" c.png
cp "$seeds/jpeg/jpeg.turned6" turned.jpg
says_error() { # PATTERN
    grep -q -- "$1" err || fail "the message should hold: $1"
}
model() { # FAMILY DIR SETTINGS...
    family=$1 dir=$2
    shift 2
    expect 0 new "$family" "$dir" --seed 4 --quiet "$@"
}
vit="-s patch_size=4 -s hidden_size=12 -s num_hidden_layers=3 -s num_attention_heads=2 -s intermediate_size=8 -s initializer_range=0.3"
model vit vit -s image_size=16 $vit -s num_labels=3
model vit flat -s image_size=16 $vit -s num_labels=3 -s initializer_range=0.02
model deit deit -s image_size=16 $vit -s num_labels=3
model vit grey -s image_size=16 $vit -s num_channels=1 -s num_labels=2
model swin swin -s image_size=24 -s patch_size=2 -s embed_dim=6 -s depths=2,2 -s num_heads=2,3 -s window_size=4 -s initializer_range=0.3
model mixer mixer -s architecture=mixer_s16_224 -s img_size=16 -s patch_size=4 -s embed_dim=8 -s num_blocks=1 -s num_classes=2
model timm-vit registers -s architecture=vit_tiny_patch16_224 -s img_size=16 -s patch_size=4 -s embed_dim=12 -s depth=2 -s num_heads=2 \
    -s reg_tokens=2 -s global_pool=avg -s num_classes=2
model cait late -s img_size=16 -s patch_size=4 -s embed_dim=12 -s depth=2 -s num_heads=2 -s init_values=0.5 -s num_classes=2
cat >processor <<'END'
{"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}, "image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4]}
END

# without preprocessor_config.json it is said what is done; with it, nothing
expect 0 classify vit a.jpg
[ "$(cat err)" = "heed: vit: no preprocessor_config.json: pictures are resized to 16 x 16, with mean and deviation 0.5" ] || fail "what is assumed"
cp out assumed
cp processor vit/preprocessor_config.json
expect 0 classify vit a.jpg
silent
if cmp -s out assumed; then fail "the processor should be followed"; fi

# path TAB label TAB probability; --top; the same one by one, from standard input, for any number of threads
expect 0 classify vit a.jpg b.png c.png turned.jpg
silent
cp out all
[ "$(wc -l <out)" = 4 ] && [ "$(head -n 1 out | awk -F '\t' '{ print NF, $1 }')" = "3 a.jpg" ] || fail "a line for each picture"
for f in a.jpg b.png c.png turned.jpg; do "$HEED" classify vit $f; done >single
cmp all single || fail "one by one the same"
printf 'a.jpg\nb.png\nc.png\nturned.jpg\n' | "$HEED" classify vit --threads 2 >listed
cmp all listed || fail "paths of standard input"
expect 0 classify vit a.jpg --top 5
awk -F '\t' '{ sum = $3 + $5 + $7; exit !(NF == 7 && $3 >= $5 && $5 >= $7 && sum > 0.9997 && sum < 1.0003) }' out || fail "all classes, falling"
expect 0 classify vit a.jpg --json --top 2
says '^{"picture":"a.jpg","label":"[012]","score":0[.0-9]*,"top":\[{"label".*\],"scores":{"0":[0-9.e-]*,"1":[0-9.e-]*,"2":[0-9.e-]*}}$'
answers_at_once 'a.jpg\n' classify vit
expect 0 classify grey b.png c.png # colour becomes grey
expect 0 classify mixer a.jpg
expect 0 classify registers a.jpg
model timm-vit bare -s architecture=vit_tiny_patch16_224 -s img_size=16 -s patch_size=4 -s embed_dim=12 -s depth=1 -s num_heads=2 -s num_classes=0
expect 1 classify bare a.jpg
says_error "bare: the model has no classes; 'heed embed' gives its features"
model deit taught --task distil -s image_size=16 $vit -s num_labels=3
expect 0 classify taught a.jpg --quiet # the mean of both heads

# bad pictures: a sentence each, the rest is answered, 1 at the end
png='\211PNG\015\012\032\012\000\000\000\015IHDR'
tail='\000\000\000\021IDAT\170\332\143\140\030\005\243\140\024\014\167\000\000\003\350\000\001\316\111\114\130\000\000\000\000IEND\256\102\140\202'
printf "$png"'\000\001\206\240\000\001\206\240\010\002\000\000\000\047\060\234\237'"$tail" >huge.png
printf "$png"'\000\000\056\340\000\000\056\340\010\002\000\000\000\336\047\033\246'"$tail" >bomb.png
printf "$png"'\000\000\000\001\000\000\000\001\010\002\000\000\000\220\167\123\336\000\000\000\014IDAT\170\332\143\020\150\370\000\000\002\044\001\201\121\154\067\310\000\000\000\000IEND\256\102\140\202' >pixel.png
echo text >text.jpg
: >empty.png
mkdir folder.png
head -c 300 a.jpg >cut.jpg
expect 1 classify vit text.jpg a.jpg huge.png bomb.png cut.jpg empty.png folder.png none.png pixel.png b.png c.png turned.jpg
grep -v pixel out | cmp - all || fail "good pictures should be answered"
grep -q '^pixel.png	' out || fail "one pixel is a picture"
[ "$(wc -l <err)" = 7 ] || fail "a sentence for each bad picture"
for part in 'text.jpg: not a picture: neither PNG nor JPEG' 'huge.png: 100000 x 100000 pixels cannot' 'bomb.png: 12000 x 12000 pixels cannot' \
    'cut.jpg: the JPEG is cut short' 'empty.png: ' 'folder.png: Is a directory' 'none.png: No such file'; do
    grep -q "^heed: $part" err || fail "$part"
done
expect 1 classify vit text.jpg a.jpg --json
[ "$(wc -l <out)" = 2 ] || fail "bad pictures have an object too"
says '^{"picture":"text.jpg","error":"text.jpg: not a picture'
expect 1 classify vit text.jpg a.jpg --strict
[ ! -s out ] || fail "--strict stops there"
feed 'a.jpg\nnone.png\n' classify vit
[ $status = 1 ] && [ "$(cat out)" = "$(head -n 1 all)" ] || fail "a bad path of standard input"

# vectors
expect 0 embed vit a.jpg b.png
says '^[-0-9.e]* [-0-9.e ]*$'
[ "$(wc -l <out)" = 2 ] && [ "$(head -n 1 out | wc -w)" = 12 ] || fail "a line of 12 numbers for each"
grep -q 'no weights of a pooler' err || fail "it should say that there is no pooler"
cp out cls
expect 0 embed vit a.jpg b.png --pooling cls --quiet
cmp out cls || fail "without a pooler the class token"
expect 0 embed vit a.jpg b.png --pooling mean --quiet
if cmp -s out cls; then fail "the mean is another vector"; fi
expect 0 embed vit a.jpg --normalize --quiet
awk '{ for (i = 1; i <= NF; i++) s += $i * $i; exit !(s > 0.99999 && s < 1.00001) }' out || fail "length 1"
expect 0 embed vit a.jpg b.png c.png --out v.npy --quiet
head -c 128 v.npy | grep -aq "'shape': (3, 12)" || fail "an array of 3 rows"
expect 0 embed vit a.jpg --json --quiet
says '^{"picture":"a.jpg","vector":\[-*[0-9]'
expect 0 embed swin a.jpg --quiet
expect 1 embed swin a.jpg --pooling cls --quiet
says_error 'a model of family swin has no class token'
expect 1 embed vit a.jpg text.jpg --out w.npy --quiet
[ ! -e w.npy ] || fail "a row would be missing"

# what the words after DIR are follows from the model
echo 'one two' | "$HEED" tokens --train wordpiece --vocab 40 --out bert -q
expect 0 new bert bert --force --task classify -s vocab_size=40 -s hidden_size=8 -s num_hidden_layers=1 -s num_attention_heads=2 -s intermediate_size=8 --quiet
for command in classify embed attend; do
    expect 2 $command bert a.jpg
    says_error "$command: a.jpg is a picture, and the model of bert reads none"
done
expect 1 classify nowhere a.jpg
says_error 'nowhere'
! grep -q 'reads none' err || fail 'a directory that is not there reads nothing at all'
expect 1 classify vit 'a fine film'
says_error 'a fine film: No such file'
expect 1 fill vit a.jpg

# processors that do not fit
sed 's/0.4, 0.5, 0.6/0.4/; s/0.2, 0.3, 0.4/0.2/' processor >vit/preprocessor_config.json
expect 1 classify vit a.jpg
says_error 'vit: pictures are prepared with 1 channel, and the model takes 3'
sed 's/16, "width": 16/18, "width": 16/' processor >vit/preprocessor_config.json
expect 1 classify vit a.jpg
says_error 'a.jpg: .*no whole number of patches'
echo '{' >vit/preprocessor_config.json
expect 1 classify vit a.jpg
cp processor vit/preprocessor_config.json

# ---- attend ----

expect 0 attend vit a.jpg
silent
says '^layer 2, mean of 2 heads: the class token$'
says '^Shares: class 0\.[0-9]*, patches 0\.[0-9]*$'
says '^Largest weights \(row,column\): [0-3],[0-3] 0\.[0-9]*, '
expect 0 attend deit a.jpg --quiet --npy deit.npy
head -c 128 deit.npy | grep -aq "'descr': '<f4'.*'shape': (3, 2, 18, 18)" || fail "(layers, heads, tokens, tokens)"
expect 0 attend deit a.jpg
says '^Shares: class 0\.[0-9]*, distillation 0\.[0-9]*, patches 0\.[0-9]*$'
expect 0 attend registers a.jpg --layer 0 --head 1
says '^layer 0, head 1: the class token$'
says '^Shares: class [.0-9]*, register 0 [.0-9]*, register 1 [.0-9]*, patches [.0-9]*$'
expect 0 attend vit a.jpg --patch 1,2 --layer 0 --head 1 --png p.png --svg p.svg --pdf p.pdf
[ "$(head -n 1 err)" = "p.png: layer 0, head 1: patch 1,2" ] || fail "what was drawn"
[ "$(head -c 4 p.png | tail -c 3)" = PNG ] && [ "$(head -c 4 p.pdf)" = %PDF ] && grep -q '<image' p.svg || fail "pictures"
expect 0 attend vit a.jpg --png heads.png --quiet
expect 0 attend vit a.jpg --layer 1 --png layer.png --quiet
expect 0 attend vit a.jpg --rollout --png rollout.png --quiet
expect 0 attend flat a.jpg --rollout
says '^The patches have nearly equal weights, from 0\.[0-9]* to 0\.[0-9]*\.$'
awk '/weight$/ && /0\./ { exit !($1 + 0 > 0 && $1 != $(NF - 1)) }' out || fail "the ends of the scale should differ"
expect 0 attend vit a.jpg --rollout --smooth --png smooth.png --quiet
for f in heads layer rollout smooth; do
    "$HEED" classify vit $f.png >out || fail "$f.png is a picture"
    if cmp -s $f.png p.png; then fail "$f is another picture"; fi
done
if cmp -s smooth.png rollout.png; then fail "--smooth is another picture"; fi
expect 0 attend vit a.jpg --json --layer 1
says '"query":"the class token","grid":\[4,4\],"patch":\[4,4\],"tokens":\["class"\],"layers":\[1\],"heads":\[0,1\]'
expect 0 attend vit a.jpg --json --rollout
says '"rollout":true'
sed 's/.*"token_weights"://; s/"weights"://; s/[^0-9.,e-]//g' out | tr ',' '\n' | awk '{ s += $1 } END { exit !(s > 0.9999 && s < 1.0001) }' || fail "rollout sums to 1"
expect 0 attend swin a.jpg
says '^stage 1, layer 1, mean of 3 heads: all patches, on average$'
says '^Shares: patches 1.0000$'
expect 0 attend swin a.jpg --site 'stage 0' --layer 1 --patch 0,0 --json --quiet
# a shifted window at the corner is cut in four: of 12 x 12 patches the first 2 x 2 see each other only
tr -d '\n' <out | sed 's/.*"weights":\[\[//; s/\]\]\]\].*//' | sed 's/\]\],\[\[.*//; s/\[\[*/\n/g; s/\]//g' | grep '[0-9]' | awk -F, '
    { for (i = 1; i <= 12; i++) { n++; inside = NR <= 2 && i <= 2; if (($i > 0) != inside) bad = 1 } }
    END { exit bad || n != 144 }' || fail "a window where it lies, the shift undone"
expect 0 attend swin a.jpg --site 'stage 0' --npy swin.npy --quiet
head -c 128 swin.npy | grep -aq "'shape': (2, 2, 144, 144)" || fail "windows in the grid of the stage"
expect 0 attend late a.jpg --rollout --html late.html --png late.png
says '^rollout to class, layer 1: the class token$'
says '^Shares: patches 0\.[67][0-9]*, class 0\.[23][0-9]*$'
expect 0 attend late a.jpg --site attention --patch 1,2 --quiet
expect 0 attend swin a.jpg --rollout --html s.html --png s.png --quiet
expect 0 attend vit a.jpg --html v.html
[ "$(cat err)" = "v.html: all layers, heads and patches; open it in a browser" ] || fail "what was written"
grep -q '<title>Attention of vit: a.jpg</title>' v.html && grep -q '</html>$' v.html || fail "a whole page"
if grep -qE '(src|href)="?(https?:)?//|@import|url\(|fetch\(|XMLHttpRequest' v.html; then fail "the page should load nothing"; fi
mkdir '<' && cp a.jpg '</script><b>&.jpg'
expect 0 attend vit '</script><b>&.jpg' --html h.html --quiet
if grep -q '</script><b>' h.html; then fail "the picture's name should be escaped"; fi
grep -q '"line":"\\u003c/script\\u003e\\u003cb\\u003e\\u0026.jpg"' h.html || fail "the picture's name"

wrong() { # SENTENCE ARGUMENTS...
    sentence=$1
    shift
    expect 2 attend "$@"
    says_error "$sentence"
}
wrong '--patch: the one query of class is no patch' late a.jpg --patch 1,2
wrong '--layer 3: attention has 3 layers' vit a.jpg --layer 3
wrong '--head 2: attention has 2 heads' vit a.jpg --head 2
wrong "--site x: the model has 'stage 0' and 'stage 1'" swin a.jpg --site x
for patch in 4,0 0,4 -1,0 1 1,2,3 a,b ''; do wrong "--patch $patch: should be ROW,COLUMN of 4 x 4 patches" vit a.jpg "--patch=$patch"; done
wrong '--head: rollout takes the mean of all heads' vit a.jpg --rollout --head 1
wrong '--target is for models of text, which vit is not' vit a.jpg --target x
wrong '--rollout is for models of pictures, which bert is not' bert one --rollout
wrong 'a model of family mixer has no attention' mixer a.jpg
wrong '--latent: the queries of attention are tokens of the picture' vit a.jpg --latent 0
wrong '--latent is for models of pictures, which bert is not' bert one --latent 0
expect 1 attend vit cut.jpg
says_error 'cut.jpg: the JPEG is cut short'

# a perceptron of pictures reads them as it was trained on them, and says what it does; one of tables reads none
model mlp reader -s input_size=64 -s output_size=3 -s task=classify -s image_size=8,8
expect 0 classify reader a.jpg c.png
grep -q '^heed: a.jpg: [0-9]* x [0-9]* pixels, taken as 8 x 8 grey ones' err || fail "what becomes of a picture: $(cat err)"
says '^a.jpg	[012]	0\.'
says '^c.png	[012]	0\.'
expect 0 classify reader a.jpg --json --quiet
says '"picture":"a.jpg","label":"[012]"'
model mlp table -s input_size=4 -s output_size=3 -s task=classify
expect 2 classify table a.jpg
says_error 'classify: a.jpg is a picture, and the model of table reads none'
expect 1 classify table 1,2,3,4
says_error "table: mlp is no model of text; 'heed predict' reads tables"
printf 'RIFF....WEBPVP8 ' >photo.png
expect 1 classify reader photo.png
says_error 'photo.png: a WebP picture, which heed does not read: convert it to PNG or JPEG'
expect 1 predict reader --data c.png
says_error "c.png: a PNG picture, not a table: 'heed classify DIR PICTURE' reads pictures"
