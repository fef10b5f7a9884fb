# heed train embed: vectors of pairs that belong together become alike, and the directory is sentence-transformers' too.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN {
    n = split("bear fox owl cat hen cow dog pig bee ant", who, " ")
    split("honey berries mice fish corn grass bones apples nectar sugar", what, " ")
    split("old young big small red grey", kind, " ")
    for (i = 0; i < n; i++) for (j = 1; j <= 6; j++)
        printf "Here is the %s %s.\tPlease bring %s for somebody %s.\n", kind[j], who[i + 1], what[i + 1], kind[j]
}' >pairs.tsv
small="--set hidden_size=32 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=64 --vocab 150"
steps=150
learns || steps=3
expect 0 train embed --data pairs.tsv --valid-data pairs.tsv --out fresh $small --steps $steps --lr 0.003 --seed "$(seed 1)" --json --set hidden_dropout_prob=0
says '"valid_accuracy"'
if learns; then at_least accuracy "$(result valid_accuracy)" 0.9; fi
for file in modules.json 1_Pooling/config.json sentence_bert_config.json tokenizer.json; do
    [ -s fresh/$file ] || fail "fresh/$file should have been written"
done
grep -q '"word_embedding_dimension": 32' fresh/1_Pooling/config.json || fail "the width of a vector"
expect 0 eval fresh --data pairs.tsv
says '^accuracy [0-9.]+ %, loss [0-9.e-]+ \(60 examples\)$'

expect 0 train embed --data pairs.tsv --init fresh --out more --steps 2 --quiet --temperature 0.1
feed 'Here is the old bear.\n' embed more
[ "$status" = 0 ] && [ "$(wc -w <out)" = 32 ] || fail "a vector of 32 numbers"
awk '{ for (i = 1; i <= NF; i++) s += $i * $i } END { exit !(s > 0.9999 && s < 1.0001) }' out || fail "it should be normalised"

# the files of newer releases of sentence-transformers, and what heed does not know of them
feed 'Here is the old bear.\n' embed fresh
cp out mean
cp -r fresh newer
echo '{"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": true}' >newer/1_Pooling/config.json
feed 'Here is the old bear.\n' embed newer
cmp -s out mean || fail "pooling_mode: mean"
echo '{"embedding_dimension": 32, "pooling_mode": ["cls"]}' >newer/1_Pooling/config.json
feed 'Here is the old bear.\n' embed newer
! cmp -s out mean || fail "pooling_mode: cls"
echo '{"embedding_dimension": 32, "pooling_mode": "lasttoken"}' >newer/1_Pooling/config.json
wrong 1 "newer/1_Pooling/config.json: pooling_mode: pooling by 'lasttoken' is not known; mean, cls and max are" embed newer x
echo '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}' >newer/1_Pooling/config.json
wrong 1 "newer/1_Pooling/config.json: .*several ways of pooling" embed newer x
cp fresh/1_Pooling/config.json newer/1_Pooling/
sed 's/models.Normalize/models.Dense/' fresh/modules.json >newer/modules.json
wrong 1 "newer/modules.json: .*'Dense' of sentence-transformers is not known" embed newer x

wrong 1 'more/checkpoint.safetensors: .* temperature was 0.1, is 0.2' \
    train embed --data pairs.tsv --init fresh --out more --steps 3 --quiet --temperature 0.2 --resume --schedule constant

# another model in its place leaves none of its files
expect 0 train mlm --data pairs.tsv $small --out more --steps 1 --quiet --force
[ ! -e more/modules.json ] || fail "the files of the model before should be gone"

printf 'only one text\nand another\n' >one.tsv
wrong 1 'one.tsv: one column: two texts are needed' train embed --data one.tsv --init fresh --out never
wrong 2 'train embed: --temperature: 0 is not between 0.0001 and 1000$' train embed --data pairs.tsv --init fresh --out never --temperature 0
[ ! -e never ] || fail "what was refused should leave nothing behind"
