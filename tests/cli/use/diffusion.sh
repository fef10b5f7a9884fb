# heed train diffusion, eval, info and sample of diffusion models: the layout of diffusers, the same bits, classes and
# guidance, what is learnt of drawn digits, and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
is_png() { [ "$(head -c 4 "$1" | tail -c 3)" = PNG ] || fail "$1 should be a PNG"; }
weights=unet/diffusion_pytorch_model.safetensors
dark=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAOElEQVR42n2OMQ4AIBDCqvFZfT4PczgTB3OywEADCAIIKkpp0mgdFyCp7I8YVfbh+o26EXIR8iM2ytkJamQ8xVAAAAAASUVORK5CYII=
light=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAPUlEQVR42oWMwQ0AIAwCT+NYndg5mIU5fGiaflQeJASOZhsQArZFAHQuGmdGkAgfQmW/76UX0aadIUpxJRbkmA3DbFK37wAAAABJRU5ErkJggg==
mkdir -p kinds/dark kinds/light
for i in 0 1 2 3 4 5; do
    echo $dark | base64 -d >kinds/dark/$i.png
    echo $light | base64 -d >kinds/light/$i.png
done
small="--data kinds --set block_out_channels=4,8 --set layers_per_block=1 --valid 0.25 --average 0.5 --quiet --batch 4 --schedule constant"

# a pipeline; the same bits whatever the threads, in parts, and resumed
# shellcheck disable=SC2086
{
    expect 0 train diffusion $small --flip 0.5 --steps 6 --out one --threads 1 --log log
    grep -q '"valid_loss":.*"valid_noise_mse":' log || fail "the log should have loss and metric of the validation"
    expect 0 train diffusion $small --flip 0.5 --steps 6 --out two --threads 2
    cmp -s one/$weights two/$weights || fail "the same bits for any number of threads"
    expect 0 train diffusion $small --flip 0.5 --steps 2 --out three
    expect 0 train diffusion $small --flip 0.5 --steps 6 --out three --resume
    cmp -s one/$weights three/$weights || fail "the same bits of a run that was resumed"
    wrong 1 '.*prediction' train diffusion $small --flip 0.5 --steps 8 --out three --resume --prediction epsilon
    wrong 1 '.*holds a model already' train diffusion $small --steps 1 --out one
    expect 0 train diffusion $small --prediction epsilon --beta-schedule linear --size 4 --steps 2 --micro-batch 2 --memory 60M --out noise
}
grep -q '"_class_name": "DDIMPipeline"' one/model_index.json || fail "a pipeline of diffusers"
grep -q '"prediction_type": "v_prediction"' one/scheduler/scheduler_config.json || fail "the velocity is learnt by default"
grep -q '"beta_schedule": "linear"' noise/scheduler/scheduler_config.json || fail "the schedule that was asked for"
grep -q '"sample_size": 4' noise/unet/config.json || fail "the size that was asked for"
expect 0 info one
says '^family +unet2d'
expect 0 eval one --data kinds
says '^noise MSE [0-9.]+, loss [0-9.]+ \(12 pictures\)$'
cp out first
expect 0 eval one --data kinds --threads 1 --batch 5
cmp -s out first || fail "the loss should depend neither on threads nor on batches"
# with --init the scheduler is that of the pipeline, and the network may be a part of one
expect 0 train diffusion --data kinds --init noise --steps 2 --batch 4 --quiet --out further
cmp -s noise/scheduler/scheduler_config.json further/scheduler/scheduler_config.json || fail "--init should keep the scheduler"
expect 0 train diffusion --data kinds --init noise/unet --steps 2 --batch 4 --quiet --out anew

# new pictures: the same for a seed, in any company
expect 0 sample one --count 5 --steps 4 --seed 3 --png new.png --npy new.npy --strip way.png
[ ! -s out ] || fail "nothing on standard output"
is_png new.png
is_png way.png
head -c 200 new.npy | grep -q "(5, 3, 8, 8)" || fail "the shape of the array"
expect 0 sample one --count 5 --steps 4 --seed 3 --npy again.npy --threads 1 --quiet
silent
cmp -s new.npy again.npy || fail "the same seed should give the same pictures"
expect 0 sample one --count 2 --steps 4 --seed 3 --npy two.npy
tail -c 1536 two.npy >few
tail -c 3840 new.npy | head -c 1536 | cmp -s - few || fail "a picture should not depend on the others"
expect 0 sample one --count 5 --steps 4 --seed 4 --npy other.npy
! cmp -s new.npy other.npy || fail "another seed should give others"
for scheduler in ddpm dpmsolver++ euler; do
    expect 0 sample one --count 5 --steps 4 --seed 3 --scheduler $scheduler --npy $scheduler.npy
    ! cmp -s new.npy $scheduler.npy || fail "$scheduler should take another way"
done
expect 0 sample one --count 5 --steps 4 --seed 3 --eta 1 --npy eta.npy
! cmp -s new.npy eta.npy || fail "eta adds noise"

# classes, of both networks
for model in unet2d dit; do
    sizes="--set layers_per_block=1 --set block_out_channels=4,8"
    [ $model = unet2d ] || sizes="--set num_layers=1 --set num_attention_heads=2 --set attention_head_dim=8"
    # shellcheck disable=SC2086
    expect 0 train diffusion --data kinds --model $model --classes $sizes --steps 3 --batch 4 --average 0 --quiet --out by-$model
    grep -q '"0": "dark"' by-$model/model_index.json || fail "the names of the classes"
    expect 0 sample by-$model --class light --guidance 3 --count 2 --steps 3 --npy light.npy --quiet
    expect 0 sample by-$model --class dark --guidance 3 --count 2 --steps 3 --npy dark.npy --quiet
    expect 0 sample by-$model --count 2 --steps 3 --png none.png --quiet
    expect 0 eval by-$model --data kinds
    wrong 1 ".*class 'grey' is not one of the model's: dark, light" sample by-$model --class grey --png x.png
    wrong 1 '.*guidance needs a class' sample by-$model --guidance 3 --png x.png
done
[ -s by-dit/transformer/config.json ] || fail "a Transformer lies in transformer/"
expect 0 train diffusion --data kinds --model dit --set num_layers=1 --set num_attention_heads=2 --set attention_head_dim=8 --steps 1 --batch 4 --quiet --out plain
expect 0 sample plain --count 1 --steps 2 --png plain.png --quiet
# of a pipeline that becomes another, nothing is left
expect 0 train diffusion --data kinds --set block_out_channels=4,8 --set layers_per_block=1 --steps 1 --batch 4 --force --quiet --out plain
[ ! -e plain/transformer ] || fail "the network of a model before should be gone"

# what cannot be: a sentence each
wrong 2 '.*steps' sample one --steps 0 --png x.png
wrong 1 '.*1001 steps are not between 1 and 1000' sample one --steps 1001 --png x.png
wrong 2 ".*scheduler: 'heun' is not one of" sample one --scheduler heun --png x.png
wrong 2 '.*eta is for the scheduler ddim' sample one --eta 1 --scheduler euler --png x.png
wrong 2 '.*strip: the name must end in .png' sample one --strip x.jpg --png x.png
wrong 1 '.*guidance needs a model that was trained with classes' sample one --guidance 2 --png x.png
wrong 1 '.*the model knows no classes' sample one --class dark --png x.png
wrong 1 '.*grid is for autoencoders' sample one --grid --png x.png
wrong 1 '.*size: 5 is no multiple of 2' train diffusion --data kinds --set block_out_channels=4,8 --size 5 --out bad
wrong 1 '.*size: the model of --init is for pictures of 8 x 8, not 4' train diffusion --data kinds --init one --size 4 --out bad
wrong 1 '.*a table of 3 classes: it needs --classes' train diffusion --data kinds --init by-unet2d --out bad
wrong 2 '.*prediction' train diffusion --data kinds --prediction x0 --out bad
[ ! -e bad ] || fail "nothing should be left of what was refused"
cp -r one unscheduled && rm -r unscheduled/scheduler
wrong 1 '.*holds neither scheduler_config.json nor scheduler/scheduler_config.json' sample unscheduled --png x.png
cp -r one empty && rm -r empty/unet
wrong 1 '.*a pipeline with neither unet/ nor transformer/' sample empty --png x.png
wrong 1 '.*a pipeline with neither unet/ nor transformer/' info empty
wrong 1 '.*holds no model_index.json' sample one/unet --png x.png
cp -r one coded && sed -i 's/"unet": \[/"vae": ["diffusers", "AutoencoderKL"],\n  "unet": [/' coded/model_index.json
wrong 1 '.*the network works on codes' sample coded --png x.png

# what is learnt of drawn digits: far more than to tell the noise of the mean picture
if learns; then
    expect 0 train diffusion --size 8 --set block_out_channels=8,16 --set layers_per_block=1 --steps 150 --batch 32 --lr 0.005 --average 0.9 \
        --evaluate-every 150 --valid-examples 256 --seed "$(seed 1)" --out digits --json --threads 1
    at_most 'loss of the velocity of drawn digits' "$(result test_loss)" 0.36
fi
