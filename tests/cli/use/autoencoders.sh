# heed train autoencode, eval, sample, reconstruct, walk and embed of autoencoders: files and forms, the same bits, what is
# learnt of drawn digits, and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
is_png() { [ "$(head -c 4 "$1" | tail -c 3)" = PNG ] || fail "$1 should be a PNG"; }
dark=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAOElEQVR42n2OMQ4AIBDCqvFZfT4PczgTB3OywEADCAIIKkpp0mgdFyCp7I8YVfbh+o26EXIR8iM2ytkJamQ8xVAAAAAASUVORK5CYII=
light=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAPUlEQVR42oWMwQ0AIAwCT+NYndg5mIU5fGiaflQeJASOZhsQArZFAHQuGmdGkAgfQmW/76UX0aadIUpxJRbkmA3DbFK37wAAAABJRU5ErkJggg==
mkdir loose parts parts/train parts/test
for i in 0 1 2 3 4 5; do
    echo $dark | base64 -d >loose/a$i.png
    echo $light | base64 -d >loose/b$i.png
done
cp loose/*.png parts/train
cp loose/a0.png loose/b0.png parts/test
small="--set hidden_sizes=6 --valid 0.25 --quiet"

# pictures without classes: in a folder, in folders of parts, in an archive; the same bits whatever the threads, and resumed
# shellcheck disable=SC2086
expect 0 train autoencode --data loose $small --steps 6 --batch 4 --schedule constant --out one --threads 1 --log log
grep -q '"reconstruction":.*"kl":' log || fail "the log should have the parts of the loss"
grep -q '"valid_elbo":.*"valid_reconstruction":.*"valid_kl":' log || fail "the log should have the metrics"
# shellcheck disable=SC2086
expect 0 train autoencode --data loose $small --steps 6 --batch 4 --schedule constant --out two --threads 2
cmp -s one/model.safetensors two/model.safetensors || fail "the same bits for any number of threads"
# shellcheck disable=SC2086
expect 0 train autoencode --data loose $small --steps 2 --batch 4 --schedule constant --out three
# shellcheck disable=SC2086
expect 0 train autoencode --data loose $small --steps 6 --batch 4 --schedule constant --out three --resume
cmp -s one/model.safetensors three/model.safetensors || fail "the same bits of a run that was resumed"
grep -q '"do_normalize": false' one/preprocessor_config.json || fail "pixels stay from 0 to 1"
tar -czf flat.tar.gz -C loose .
for data in parts flat.tar.gz; do
    # shellcheck disable=SC2086
    expect 0 train autoencode --data $data $small --valid 0 --steps 2 --batch 4 --out $data.model
done
# shellcheck disable=SC2086
expect 0 train autoencode --data loose $small --binarize dynamic --steps 2 --batch 4 --out binary
grep -q '"likelihood": "bernoulli"' binary/config.json || fail "pixels of 0 and 1 have a Bernoulli likelihood"
grep -q '"binarize": "dynamic"' binary/config.json || fail "the directory says how pictures were binarised"
# shellcheck disable=SC2086
expect 0 train autoencode --model autoencoder --data loose $small --noise 0.3 --mask 0.2 --steps 2 --batch 4 --out plain
grep -q '"noise": 0.3' plain/config.json || fail "the directory says what noise there was"

# measures; log p(x) is never far below the bound, and above it with many samples
expect 0 eval one --data loose
says '^ELBO -[0-9.]+ nats, reconstruction error [0-9.]+, KL [0-9.e-]+ nats, loss [0-9.]+ \(12 pictures\)$'
expect 0 eval one --data loose --samples 50 --json --png codes.png
holds "the estimate is above the bound" "$(result log_likelihood) + 1 > $(result elbo)"
is_png codes.png
cp out first
expect 0 eval one --data loose --samples 50 --json --threads 1
cmp -s out first || fail "the estimate should not depend on threads"
expect 0 eval plain --data loose
says '^reconstruction error [0-9.]+, loss'

# new pictures: the same for a seed
expect 0 sample one --count 5 --seed 3 --png new.png --npy new.npy
[ ! -s out ] || fail "nothing on standard output"
is_png new.png
head -c 200 new.npy | grep -q "(5, 3, 8, 8)" || fail "the shape of the array"
expect 0 sample one --count 5 --seed 3 --npy again.npy --threads 1 --quiet
silent
cmp -s new.npy again.npy || fail "the same seed should give the same pictures"
expect 0 sample one --count 5 --seed 4 --npy other.npy
! cmp -s new.npy other.npy || fail "another seed should give others"
expect 0 sample one --near loose/a0.png --scale 0.1 --count 3 --png near.png
expect 0 sample one --grid --count 3 --axes 3,1 --npy grid.npy
head -c 200 grid.npy | grep -q "(9, 3, 8, 8)" || fail "a grid has as many rows as columns"
expect 0 sample plain --data loose --count 2 --png - --quiet
is_png out

# pictures and what became of them
expect 0 reconstruct one loose/a0.png loose/b0.png --png both.png --npy both.npy
[ "$(cut -f 1 out | tr '\n' ' ')" = "loose/a0.png loose/b0.png " ] || fail "a line for each picture"
is_png both.png
head -c 200 both.npy | grep -q "(2, 3, 8, 8)" || fail "the shape of the array"
ls loose/*.png | "$HEED" reconstruct plain --json --noise 0.2 --png noisy.png --columns 5 --quiet >out
says '^\{"picture":"loose/a0.png","squared_error":[0-9.e-]*,"code":\[[-0-9.e]*,[-0-9.e]*,[-0-9.e]*\]\}$'
[ "$(wc -l <out)" = 12 ] || fail "a line for each path of standard input"
expect 0 walk one loose/a0.png loose/b0.png loose/a1.png --steps 4 --path spherical --png way.png --npy way.npy
head -c 200 way.npy | grep -q "(8, 3, 8, 8)" || fail "two ways of four steps"
expect 0 embed one loose/a0.png
[ "$(wc -w <out)" = 3 ] || fail "the code of a picture"
"$HEED" reconstruct one loose/a0.png --json --png x.png --quiet | grep -q "\"code\":\[$(sed 's/\(-*[0-9.]\{5\}\).*/\1/' out)" ||
    fail "embed should give the code"

# what cannot be: a sentence each
wrong 2 '.*latent' train autoencode --data loose --latent 0 --out bad --quiet
wrong 2 '.*beta' train autoencode --data loose --beta -1 --out bad
wrong 2 '.*beta is for variational' train autoencode --data loose --model autoencoder --beta 2 --out bad
wrong 2 '.*binarize and --noise' train autoencode --data loose --binarize static --noise 0.1 --out bad
wrong 1 '.*latent_size: 0 is not between' train autoencode --data loose --set latent_size=0 --out bad --quiet
wrong 1 '.*more convolutions than pictures of this size can be halved' train autoencode --data loose --set conv_channels=2,2,2,2 --out bad --quiet
wrong 1 '.*needs sigmoid' train autoencode --data loose --likelihood bernoulli --set output_act=linear --out bad --quiet
[ ! -e bad ] || fail "nothing should be left of what was refused"
wrong 2 '.*samples' eval one --data loose --samples 0
wrong 1 '.*samples is for variational' eval plain --data loose --samples 3
wrong 2 '.*png FILE.png or --npy FILE.npy is needed' sample one
wrong 2 '.*the name must end in .png' sample one --png x.jpg
wrong 2 '.*axes goes with --grid' sample one --axes 1,2 --png x.png
wrong 1 ".*'1,4' is not two different numbers from 1 to 3" sample one --grid --axes 1,4 --png x.png
wrong 1 '.*has no distribution of codes' sample plain --png x.png
wrong 1 '.*nowhere.png' sample one --near nowhere.png --png x.png
echo text >text.png
wrong 1 '.*neither PNG nor JPEG' walk one loose/a0.png text.png --png x.png
cp "$SOURCE"/tests/fuzz/corpus/png/png.0.16 grey.png
wrong 1 '.*both must be grey, or both in colour' walk one loose/a0.png grey.png --png x.png
# weights that are no numbers: the second half of the file is NaN
cp -r one broken
size=$(wc -c <broken/model.safetensors)
head -c $((size / 2)) one/model.safetensors >broken/model.safetensors
head -c $((size - size / 2)) /dev/zero | tr '\000' '\377' >>broken/model.safetensors
for use in 'sample broken' 'reconstruct broken loose/a0.png' 'walk broken loose/a0.png loose/b0.png'; do
    # shellcheck disable=SC2086
    wrong 1 '.*not a finite number' $use --png broken.png
done
[ ! -e broken.png ] || fail "no picture of what is no number"
wrong 1 'broken: the loss is not a finite number' eval broken --data loose
expect 0 new mlp vectors --set input_size=3 --set output_size=2 --quiet
wrong 1 '.*makes no pictures' sample vectors --png x.png

# what is learnt of drawn digits: bits that say more than the mean picture, new pictures that are no noise, and noise that
# is gone
if learns; then
    expect 0 train autoencode --binarize static --latent 8 --set hidden_sizes=100 --epochs 6 --lr 0.003 --seed "$(seed 1)" --out digits --json --threads 1
    at_least 'ELBO of drawn digits' "$(result test_elbo)" -220
    at_least 'KL divergence of drawn digits' "$(result test_kl)" 4
    expect 0 train autoencode --model autoencoder --latent 32 --set hidden_sizes=100 --noise 0.5 --epochs 6 --lr 0.003 --seed "$(seed 1)" --out clean --json --threads 1
    at_most 'squared error of digits without their noise' "$(result test_reconstruction)" 35
fi
