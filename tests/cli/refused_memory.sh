# Every task of heed train for a step, with the N-th request for memory refused: one sentence and status 1, or what the
# request was for was not needed and all is there. REFUSE_ALL=1 takes every N; by default some, spread evenly.
. "$SOURCE/tests/cli/expect.inc"
[ -n "${REFUSE:-}" ] && [ -e "$REFUSE" ] || { echo "skipped: no library that refuses memory in this build"; exit 77; }
cd "$scratch"

awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " "); split("honey berries mice fish corn grass", what, " ")
    print "x,y,kind" >"table.csv"
    print "sentence\tlabel" >"films.tsv"
    print "date,load" >"load.csv"
    for (i = 0; i < 24; i++) {
        k = i % 6 + 1
        printf "The %s eats %s.\n\n", who[k], what[k] >"stories.txt"
        printf "%g,%g,%s\n", i / 7, i * i / 3, i % 2 ? "odd" : "even" >"table.csv"
        printf "the %s film is %s\t%s\n", who[k], i % 2 ? "good" : "bad", i % 2 ? "pos" : "neg" >"films.tsv"
        printf "the %s eats\t%s\n", who[k], what[k] >"pairs.tsv"
        printf "%s\tO\n%s\tB-X\n\n", who[k], what[k] >"tags.tsv"
        printf "%s\t%s\t%s\t%d\n", who[k], what[k], what[k % 6 + 1], 1 >"choices.tsv"
        printf "{\"strokes\": [[[0,0],[3,%d],[6,4]],[[7,1],[9,2]]]}\n", k >"lines.jsonl"
        printf "2024-01-%02d,%g\n", i + 1, i % 5 >"load.csv"
        context = who[k] " eats " what[k]
        printf "%s{\"context\":\"%s\",\"qas\":[{\"id\":\"%d\",\"question\":\"who\",\"answers\":[{\"text\":\"%s\",\"answer_start\":0}]}]}",
            i ? "," : "{\"version\":\"1.1\",\"data\":[{\"title\":\"t\",\"paragraphs\":[", context, i, who[k] >"squad.json"
    }
    print "]}]}" >"squad.json"
    printf "{\"train\":[[[72,67,64,48],[72,67,64,48]],[[71,67,62,55],[72,67,64,48]]],\"valid\":[[[72,67,64,48]]],\"test\":[[[72,67,64,48]]]}" >"notes.json"
}'
dark=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAOElEQVR42n2OMQ4AIBDCqvFZfT4PczgTB3OywEADCAIIKkpp0mgdFyCp7I8YVfbh+o26EXIR8iM2ytkJamQ8xVAAAAAASUVORK5CYII=
light=iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAPUlEQVR42oWMwQ0AIAwCT+NYndg5mIU5fGiaflQeJASOZhsQArZFAHQuGmdGkAgfQmW/76UX0aadIUpxJRbkmA3DbFK37wAAAABJRU5ErkJggg==
for part in train test; do
    mkdir -p pictures/$part/dark pictures/$part/light
    for i in 0 1 2; do
        echo $dark | base64 -d >pictures/$part/dark/$i.png
        echo $light | base64 -d >pictures/$part/light/$i.png
    done
done
bert='--set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8'
marian='--set d_model=8 --set encoder_layers=1 --set decoder_layers=1 --set encoder_ffn_dim=8 --set decoder_ffn_dim=8
    --set encoder_attention_heads=2 --set decoder_attention_heads=2'
cat >commands <<END
regress --data table.csv --target y --set hidden_sizes=4
classify --data table.csv --target kind --set hidden_sizes=4
classify --model bert --data films.tsv $(echo $bert) --tokens word
classify --model vit --data pictures --valid 0 $(echo $bert)
tag --data tags.tsv $(echo $bert) --tokens word
qa --data squad.json $(echo $bert) --tokens word
choose --data choices.tsv $(echo $bert) --tokens word
mlm --data stories.txt $(echo $bert) --vocab 60
embed --data pairs.tsv $(echo $bert) --vocab 60
lm --data stories.txt --tokens char --context 8 --set n_embd=8 --set n_layer=1 --set n_head=2
music --data notes.json --set hidden_size=8 --set embedding_size=4 --set num_layers=1
text2text --data pairs.tsv --set d_model=8 --set num_layers=1 --set num_heads=2 --set d_kv=4 --set d_ff=8 --vocab 160
translate --data pairs.tsv --from en --to de $(echo $marian) --tokens word
forecast --data load.csv --context 4 --horizon 2 --set hidden_size=4
ngram --data stories.txt --order 2
words --data stories.txt --width 4 --min-count 1
handwriting --data lines.jsonl --set hidden_size=4 --set num_layers=1 --set num_mixtures=2
END

run() { # N ARGUMENTS...: heed train with these, the N-th request refused
    at=$1
    shift
    rm -rf model
    status=0
    REFUSE_AT=$at REFUSE_COUNT=count LD_PRELOAD=$REFUSE "$HEED" train "$@" --out model --threads 1 >out 2>err </dev/null || status=$?
}
while read -r task rest; do
    case $task in ngram) steps= ;; words) steps="--epochs 1" ;; *) steps="--steps 1 --batch 2" ;; esac
    # shellcheck disable=SC2086 # the lists are words
    set -- $task $rest $steps
    run 0 "$@"
    [ $status = 0 ] || { cp out err "$scratch" 2>/dev/null || :; fail "it should train: heed train $*"; }
    n=$(cat count) step=1
    [ -n "${REFUSE_ALL:-}" ] || step=$((n / ${REFUSE_RUNS:-7} + 1))
    at=1
    while [ $at -le "$n" ]; do
        run $at "$@" --quiet
        case $status in
        0) [ -s model/config.json ] || fail "request $at of $n refused: nothing written, status 0: heed train $*" ;;
        1) [ "$(grep -c '^heed: ' err)" = 1 ] && [ ! -s out ] || fail "request $at of $n refused: not one sentence: heed train $*" ;;
        *) fail "request $at of $n refused: status $status: heed train $*" ;;
        esac
        at=$((at + step))
    done
done <commands
