# Models of pictures: trained on folders, archives and drawn digits, measured, fine-tuned and distilled.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# four PNGs of 8 x 8 pixels: two dark, two light
dark0=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAOElEQVR42n2OMQ4AIBDCqvFZfT4PczgTB3OywEADCAIIKkpp0mgdFyCp7I8YVfbh+o26EXIR8iM2ytkJamQ8xVAAAAAASUVORK5CYII=
dark1=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAANklEQVR42n2NsQ0AMAjDTO/y+RzWgSKxlCyJIkcJFDATSKHt8FE0JPAyrIsyJ+3+Uaizy/XjAjijCbHanCfbAAAAAElFTkSuQmCC
light0=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAPUlEQVR42oWMwQ0AIAwCT+NYndg5mIU5fGiaflQeJASOZhsQArZFAHQuGmdGkAgfQmW/76UX0aadIUpxJRbkmA3DbFK37wAAAABJRU5ErkJggg==
light1=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAM0lEQVR42mN89mwVAxwcgRMMTAw4AAvDERu44iNQQRv8OhAaGGxsEBzcOpDNhbKO4LUDALuDC4xtEzASAAAAAElFTkSuQmCC
for part in train test; do
    mkdir -p data/$part/dark data/$part/light
    for i in 0 1 2 3 4 5; do
        eval "printf %s \"\$dark$((i % 2))\"" | base64 -d >data/$part/dark/$i.png
        eval "printf %s \"\$light$((i % 2))\"" | base64 -d >data/$part/light/$i.png
    done
done
tar -czf data.tar.gz -C data train test

tiny="--set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8 --valid 0"
all="--crop-padding 1 --padding-kind reflect --flip 0.5 --rand-augment 2 --jitter 0.2 --hue 0.1 --erase 0.5 --cutout 2 --mixup 0.8 --cutmix 1 --mix 0.9 --repeats 2 --label-smoothing 0.1 --average 0.9"

# the same bits for any number of threads, from a folder and from an archive, in one run and in two
expect 0 train classify --model vit --data data $tiny $all --steps 6 --batch 5 --schedule constant --out one --threads 1 --log one.jsonl --sheet sheet.png
[ "$(head -c 4 sheet.png | tail -c 3)" = PNG ] || fail 'a sheet of the first batch'
grep -q 'pictures: 3 x 8 x 8, mean 0' err || fail 'sizes and normalisation are said'
grep -q '"test_accuracy"' one.jsonl || fail 'the test set is measured'
expect 0 train classify --model vit --data data.tar.gz $tiny $all --steps 6 --batch 5 --schedule constant --out two --threads 2
cmp one/model.safetensors two/model.safetensors || fail 'the same bits for 1 and 2 threads, of a folder and an archive'
expect 0 train classify --model vit --data data $tiny $all --steps 3 --batch 5 --schedule constant --out three --threads 2
expect 0 train classify --model vit --data data $tiny $all --steps 6 --batch 5 --schedule constant --out three --resume
cmp one/model.safetensors three/model.safetensors || fail 'the same bits of a run that was resumed'
wrong 1 '.*mixup was 0.8, is 0.5' train classify --quiet --model vit --data data $tiny $all --mixup 0.5 --steps 9 --batch 5 --schedule constant --out three --resume
expect 0 train classify --model vit --data data $tiny --steps 3 --batch 6 --crop-area 0.4 --out area --threads 1
expect 0 train classify --model vit --data data $tiny --steps 3 --batch 6 --crop-area 0.4 --out area2 --threads 2
cmp area/model.safetensors area2/model.safetensors || fail 'the same bits with random resized crops'
expect 0 train classify --model vit --data data $tiny --steps 2 --batch 6 --micro-batch 4 --mixup 1 --memory 200M --out micro
wrong 1 'train classify: needs [0-9]*K of memory, --memory allows 100K' train classify --model vit --data data $tiny --steps 2 --batch 6 --memory 100K --out small

# it learns what is dark, and eval says so
expect 0 train classify --model vit --data data $tiny --epochs 60 --batch 6 --lr 0.01 --seed "$(seed 1)" --out learnt --json
at_least accuracy "$(result test_accuracy)" 0.9
expect 0 eval learnt --data data.tar.gz --png confusion.png
says '^accuracy 100.00 %'
says '^dark  *1.0000'
[ -s confusion.png ] || fail 'the confusion matrix as a picture'
grep -q '"0": "dark"' learnt/config.json || fail 'classes have their names'
grep -q '"image_mean"' learnt/preprocessor_config.json || fail 'how pictures are normalised is written'
expect 0 eval learnt --data data --part train --json
says '"accuracy": 1'

# accuracy against frequencies: dark and light differ by their mean alone, and all frequencies are the picture
expect 0 eval learnt --data data --frequencies --radii 0,2,6.5 --png curves.png
says '^ *0    100.00 %     50.00 %$'
says '^ *6.5    100.00 %     50.00 %$'
[ -s curves.png ] || fail 'curves as a picture'
expect 0 eval learnt --data data --frequencies --against area --against learnt --svg both.svg --json --threads 2
says '"against": \['
says '"model": "area"'
says '"radius": 4.0'
[ "$(grep -c '"low_pass"' out)" = 15 ] || fail 'five radii of three models'
grep -q learnt both.svg || grep -q '<svg' both.svg || fail 'all models in a picture'
expect 0 train classify --data digits --steps 1 --batch 8 --out digits-mlp
wrong 1 'digits-mlp: --frequencies is for models that classify pictures' eval digits-mlp --data digits --frequencies
wrong 1 "eval: --radii: '2,1' is not a list of 1 to 64 rising numbers from 0, such as 2,4,8" eval learnt --data data --frequencies --radii 2,1
wrong 1 "eval: --radii: '' is not a list.*" eval learnt --data data --frequencies --radii ''
wrong 2 'eval: --radii goes with --frequencies' eval learnt --data data --radii 2
wrong 2 'eval: --against goes with --frequencies' eval learnt --data data --against area
wrong 2 'eval: --against: at most 5 models are compared' eval learnt --data data --frequencies --against a --against b --against c --against d --against e

# a directory that does not say how pictures are prepared: what is assumed is said
mkdir -p silent
cp learnt/config.json learnt/model.safetensors silent
expect 0 eval silent --data data
grep -q 'silent: no preprocessor_config.json: pictures are resized to 8 x 8' err || fail 'what is assumed'
expect 0 train classify --init silent --data data --steps 1 --batch 4 --out from-silent
grep -q 'pictures: 3 x 8 x 8, mean 0.5 0.5 0.5' err || fail 'with --init too'

# timm's layout keeps the same in config.json
expect 0 train classify --model timm-vit --data data --set embed_dim=8 --set depth=1 --set num_heads=2 --steps 2 --batch 4 --out timm
grep -q '"label_names"' timm/config.json || fail 'names of classes'
grep -q '"crop_mode": "squash"' timm/config.json || fail 'pretrained_cfg'
expect 0 eval timm --data data
for model in swin timm-swin mixer; do
    expect 0 train classify --model $model --data data --set embed_dim=8 --steps 1 --batch 4 --valid 0 --out $model
done

# fine-tuned at another resolution, with another number of classes
expect 0 train classify --init learnt --data data --set image_size=16 --steps 1 --batch 4 --out larger
grep -q "interpolated: 'vit.embeddings.position_embeddings'" err || fail 'positions are interpolated'
grep -q 'drawn fresh' err && fail 'the head stays'
grep -q '"height": 16' larger/preprocessor_config.json || fail 'pictures are of the new size'
mkdir -p more
cp -r data/train data/test more
cp -r more/train/dark more/train/grey
expect 0 train classify --init learnt --data more --steps 1 --batch 4 --out three-classes
grep -q "drawn fresh: 'classifier.weight'" err || fail 'another number of classes, another head'

# distillation: through the token, of transformers and timm, and on the logits
expect 0 train classify --model deit --data data $tiny --teacher learnt --steps 2 --batch 4 --out taught
grep -q DeiTForImageClassificationWithTeacher taught/config.json || fail 'a model with a distillation token'
expect 0 eval taught --data data
expect 0 train classify --model timm-vit --set architecture=deit_tiny_distilled_patch16_224 --set patch_size=4 --set embed_dim=8 --set depth=1 --set num_heads=2 --data data --teacher larger --distillation soft --steps 2 --batch 4 --out taught-timm
expect 0 train classify --model vit --data data $tiny --teacher learnt --distillation soft --distillation-alpha 0.7 --temperature 2 --steps 2 --batch 4 --out taught-vit
wrong 1 'learnt: a teacher of 2 classes, but the data have 3' train classify --model vit --data more $tiny --teacher learnt --out wrong
wrong 2 'train: --temperature needs a --teacher' train classify --model vit --data data --temperature 2 --out wrong
wrong 2 'train: --crop-area and --crop-padding: one kind of crop at a time$' train classify --model vit --data data --crop-area 0.5 --crop-padding 2 --out wrong
wrong 2 'train: --mixup is for models of pictures, which mlp is not' train classify --data digits --mixup 1 --out wrong
wrong 2 'train: --target is for tables' train classify --model vit --data data --target x --out wrong

# HAT, with all of the augmentation: the same bits for any number of threads, and of a run that was resumed while it makes
# all passes, and after that
hat="--hat --adv-lr 0.1 --adv-eps 0.15 --micro-batch 3 --set hidden_dropout_prob=0.2 --batch 5 --schedule constant"
expect 0 train classify --model vit --data data $tiny $all $hat --steps 6 --out hat --threads 1
expect 0 train classify --model vit --data data $tiny $all $hat --adv-epochs 1 --steps 2 --out hat2 --threads 2
wrong 1 '.*HAT updates was 3, is 4' train classify --quiet --model vit --data data $tiny $all $hat --steps 6 --out hat2 --resume
expect 0 train classify --model vit --data data $tiny $all $hat --adv-epochs 1 --steps 5 --out hat2 --resume
expect 0 train classify --model vit --data data $tiny $all $hat --adv-epochs 1 --steps 6 --out hat2 --resume
expect 0 train classify --model vit --data data $tiny $all $hat --adv-epochs 1 --steps 6 --out hat3 --threads 2
cmp hat3/model.safetensors hat2/model.safetensors || fail 'the same bits with HAT, resumed'
expect 0 train classify --model vit --data data $tiny $all $hat --steps 6 --out hat4 --threads 2 --memory 200M
cmp hat/model.safetensors hat4/model.safetensors || fail 'the same bits with HAT for 1 and 2 threads'
cmp hat/model.safetensors hat3/model.safetensors >cmp.out && fail 'fewer passes, other weights'
expect 0 train classify --model deit --data data $tiny --teacher learnt --hat --adv-iters 2 --adv-kl-weight 0 --steps 2 --batch 4 --out hat-taught
wrong 2 'train: --adv-eps needs --hat' train classify --model vit --data data --adv-eps 0.1 --out wrong
wrong 2 'train classify: --adv-iters: 0 is not between 1 and 100' train classify --model vit --data data --hat --adv-iters 0 --out wrong
wrong 2 'train classify: --adv-lr: -1 is not between 1e-09 and 1000' train classify --model vit --data data --hat --adv-lr=-1 --out wrong
wrong 2 'train: --hat is for models of pictures, which mlp is not' train classify --data digits --hat --out wrong

# drawn digits: one channel
expect 0 train classify --model vit --data digits $tiny --set patch_size=14 --steps 1 --batch 8 --out digits
grep -q 'pictures: 1 x 28 x 28' err || fail 'one channel'

# pictures that are no whole number of patches, which nobody asked for, are resized
mkdir -p idx
printf '\000\000\010\003\000\000\000\004\000\000\000\006\000\000\000\005%0120d' 0 >idx/train-images-idx3-ubyte
printf '\000\000\010\001\000\000\000\004\000\001\000\001' >idx/train-labels-idx1-ubyte
for part in images-idx3 labels-idx1; do cp idx/train-$part-ubyte idx/t10k-$part-ubyte; done
expect 0 train classify --model vit --data idx $tiny --steps 1 --batch 4 --out idx-vit
grep -q 'pictures: 1 x 8 x 8' err || fail 'whole patches of 4 x 4'
expect 0 train classify --model swin --data idx --set embed_dim=8 --steps 1 --batch 4 --valid 0 --out idx-swin
grep -q 'pictures: 1 x 6 x 6' err || fail 'whole patches of 2 x 2'

# wrong data
wrong 1 'train: --set num_labels=3: data has 2 classes' train classify --model vit --data data --set num_labels=3 --out wrong
wrong 1 'train: --set num_classes=1: data has 2 classes' train classify --model mixer --data data --set num_classes=1 --out wrong
wrong 1 '.*pictures of 8 x 8 are no whole number of patches of 3 x 3' train classify --model vit --data data --set patch_size=3 --out wrong
wrong 1 '.*pictures of 2 channels: pictures have 1, 3 or 4' train classify --model vit --data data --set num_channels=2 --out wrong
mkdir more/train/empty
wrong 1 'more/train/empty: the folder of a class without a picture' train classify --model vit --data more --out wrong
rmdir more/train/empty
head -c 60 data/train/dark/0.png >more/train/dark/3.png
wrong 1 'more/train/dark/3.png: the PNG is cut short, at byte 60$' train classify --model vit --data more --out wrong
wrong 1 'more/train/dark/3.png: the PNG is cut short, at byte 60$' train classify --model vit --data more $tiny --memory 80M --out wrong
printf 'no picture' >more/train/dark/3.png
wrong 1 'more/train/dark/3.png: not a picture' train classify --model vit --data more --out wrong
wrong 1 'nowhere: No such file or directory$' train classify --model vit --data nowhere --out wrong
[ ! -e wrong ] || [ -z "$(ls wrong)" ] || fail "nothing should have been written"
