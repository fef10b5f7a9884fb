# Attention among convolutions: LeViT in both layouts and non-local networks, trained in one run and in two; shapes that
# lie far apart; and what each place looks at.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# the same bits for any number of threads, and of a run that was resumed
levit="--set depths=1,1 --set hidden_sizes=16,24 --set num_attention_heads=2,2 --set key_dim=4,4 --set image_size=32"
for model in "nonlocal --set depths=1,1 --set hidden_sizes=8,12 --set embedding_size=6 --set blocks=0,1 --set sub_sample=true" "levit $levit" \
    "timm-levit --set embed_dim=16,24 --set depth=1,1 --set num_heads=2,2 --set key_dim=4 --set drop_path_rate=0.1"; do
    set -- train classify --model $model --data same-shapes --batch 6 --valid 0 --schedule constant
    expect 0 "$@" --steps 4 --out one --threads 1 --force
    expect 0 "$@" --steps 4 --out two --threads 2 --force
    cmp one/model.safetensors two/model.safetensors || fail "$model: the same bits for 1 and 2 threads"
    [ "$QUICK" != 1 ] || continue # a sanitizer has seen it
    rm -rf three
    expect 0 "$@" --steps 2 --out three --threads 2
    expect 0 "$@" --steps 4 --out three --resume
    cmp one/model.safetensors three/model.safetensors || fail "$model: the same bits of a run that was resumed"
    expect 0 attend one "$SOURCE/tests/golden/task/picture-vit/wide.png" --png map.png --html map.html
    [ -s map.png ] && [ -s map.html ] || fail "$model: what is looked at"
done

# of LeViT between its stages a query is a place of the smaller grid; rollout goes on to the first one
expect 0 new timm-levit maps --set embed_dim=16,24 --set depth=1,1 --set num_heads=2,2 --set key_dim=4 --set img_size=64
picture=$SOURCE/tests/golden/task/picture-vit/wide.png
expect 0 attend maps "$picture" --site "stage 0 to 1" --patch 1,1 --json
says '"query":"patch 1,1"'
expect 0 attend maps "$picture" --site "stage 1" --patch 1,1 --rollout --json
says '"site":"stage 0"'
wrong 2 "attend: --patch 2,0: should be ROW,COLUMN of 2 x 2 patches, counted from 0" attend maps "$picture" --site "stage 0 to 1" --patch 2,0

# keys that are pooled hand nothing on; without blocks there is nothing to see
expect 0 new nonlocal pooled --set sub_sample=true
expect 0 attend pooled "$picture" --patch 7,7
expect 2 attend pooled "$picture" --rollout
grep -q "whose keys are pooled" err || fail "rollout through pooled keys"
expect 0 new nonlocal local --set blocks=
expect 2 attend local "$picture"
grep -q "has no attention" err || fail "a local network"

learns || exit 0
expect 0 train classify --model nonlocal --data same-shapes --set embedding_size=8 --set hidden_sizes=16,32 --set depths=1,1 --set blocks=1 \
    --lr 0.003 --batch 64 --steps 400 --valid 0 --seed "$(seed 1)" --out far --json
at_least "two distant shapes" "$(result test_accuracy)" 0.9
