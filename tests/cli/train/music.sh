# heed train music, and heed eval and generate of what it makes; n-grams of the same notes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# a cadence over and over, in several keys
awk 'BEGIN {
    split("72 67 64 48 72 69 65 53 71 67 62 55 72 67 64 48", x, " ")
    printf "{"
    split("train valid test", part, " ")
    for (p = 1; p <= 3; p++) {
        printf "%s\"%s\":[", (p > 1 ? "," : ""), part[p]
        for (i = 0; i < (p == 1 ? 12 : 3); i++) {
            printf "%s[", (i ? "," : "")
            for (t = 0; t < 32; t++) {
                k = int(t / 4) % 4
                printf "%s[", (t ? "," : "")
                for (v = 1; v <= 4; v++) printf "%s%d", (v > 1 ? "," : ""), x[4 * k + v] + i % 3
                printf "]"
            }
            printf "]"
        }
        printf "]"
    }
    print "}"
}' >cadence.json
small="--set hidden_size=32 --set embedding_size=16 --set num_layers=1 --set dropout=0"
steps=400
learns || steps=3
expect 0 train music --data cadence.json $small --context 64 --transpose 2 --steps $steps --batch 8 --lr 0.01 --clip 1 --seed "$(seed 1)" --out bach --log log --json
says '"valid_nats_per_note"'
says '"test_perplexity"'
grep -q 'valid_nats_per_note.*valid_perplexity' log || fail "the log should hold both metrics"
grep -q LSTMForCausalLM bach/config.json || fail "the head should be that of next tokens"
grep -q '"S72_"' bach/tokenizer.json || fail "voices should be words"
expect 0 eval bach --data cadence.json
says '^[0-9.]+ nats per note, perplexity [0-9.]+, loss [0-9.]+ \(3 examples\)$'
cp out once
expect 0 eval bach --data cadence.json --threads 2 --seed 4
cmp out once || fail "chorales should be measured in one way"
if learns; then at_most "nats per note" "$(cut -d ' ' -f 1 once)" 0.5; fi
expect 0 eval bach --data cadence.json --part train --json
says '"examples": 12'

# composing: MIDI, a picture, JSON; the same for the same seed
expect 0 generate bach --midi one.mid --png one.png --json --steps 40 --seed 3
says '^\{"steps":[0-9]+,"ended":(true|false),"log_probability":-'
says '"notes":\[\{"voice":"Soprano","pitch":'
cp out one.json
[ "$(head -c 4 one.mid)" = MThd ] || fail "one.mid should be a MIDI file"
[ "$(head -c 4 one.png | tail -c 3)" = PNG ] || fail "one.png should be a PNG"
grep -aq Soprano one.mid || fail "tracks should have names"
expect 0 generate bach --midi two.mid --steps 40 --seed 3 --threads 2
says '^[0-9]+ steps, [0-9]+ notes(, cut at the maximum length)?, [0-9.]+ nats per note$'
cmp one.mid two.mid || fail "the same seed should compose the same"
expect 0 generate bach --steps 8 --temperature 0.5 --top-k 5 --top-p 0.9 --quiet
# what was composed is read again: as MIDI, and the JSON too
expect 0 generate bach --prompt-midi one.mid --prompt-steps 4 --midi more.mid --steps 12 --json
expect 0 generate bach --prompt-midi one.json --prompt-steps 4 --steps 12 --json
says '^\{"steps":([5-9]|1[0-2]),'
expect 0 generate bach --soprano one.mid --midi harmony.mid --json
grep -o '"steps":[0-9]*,"ended"' one.json >a
grep -o '"steps":[0-9]*,"ended"' out >b
cmp a b || fail "a soprano should keep its length"
expect 0 eval bach --data one.mid
mkdir -p midi/train midi/test
cp one.mid two.mid midi/train
cp more.mid midi/test
expect 0 train music --data midi $small --steps 1 --batch 1 --valid 0.5 --out of-midi --quiet --json
says '"test_nats_per_note"'

# other families, and from there on
expect 0 train music --data cadence.json --model gpt2 --context 32 --set n_embd=16 --set n_layer=1 --set n_head=2 --steps 2 --batch 4 --out gpt --quiet
expect 0 eval gpt --data cadence.json
expect 0 generate gpt --midi gpt.mid --quiet
expect 0 train music --data cadence.json --model gru $small --steps 2 --out gru --quiet
expect 0 train music --data cadence.json --init bach --steps 1 --out more --quiet
cmp bach/tokenizer.json more/tokenizer.json || fail "the tokenizer should be that of --init"

# stopped and resumed it ends with the same bits; other chorales are refused
run="$small --context 32 --batch 4 --schedule constant --quiet"
expect 0 train music --data cadence.json --out whole $run --steps 6
expect 0 train music --data cadence.json --out parts $run --steps 3
expect 0 train music --data cadence.json --out parts $run --steps 6 --resume --threads 2
cmp whole/model.safetensors parts/model.safetensors || fail "a resumed run should end with the same bits"
sed 's/72/73/' cadence.json >other.json
wrong 1 'parts/checkpoint.safetensors: a checkpoint of another configuration: chorales was 1536 notes \([0-9a-f]+\), is 1536 notes \([0-9a-f]+\)' train music --data other.json --out parts $run --steps 9 --resume

# n-grams of the same events
expect 0 train ngram --music --data cadence.json --transpose 2 --order 5 --out counts --json
says '"nats_per_note"'
expect 0 eval counts --data cadence.json
says '^[0-9.]+ nats per note, perplexity'
says '387 tokens' # 3 chorales of 4 x 32 notes, and their ends

# bad input
bad() { # SENTENCE JSON
    echo "$2" >bad.json
    wrong 1 "bad.json: $1" train music --data bad.json --out never
}
bad 'train\[0\]\[1\]\[2\]: 300 is no pitch: expected a MIDI number, 0 to 127, or -1 for a rest' '{"train":[[[60,55,50,40],[60,55,300,40]]]}'
bad '.*-7 is no pitch' '[[[60,-7,50,40]]]'
bad '.*5 pitches at a time: there are four voices' '[[[60,59,58,57,56]]]'
bad 'there are no chorales' '{"train":[]}'
bad 'train\[1\]: a chorale without a step' '{"train":[[[60,55,50,40]],[]]}'
bad "line 2, column 0: ']' expected near end of file$" '{"train":[[['
printf 'MThd\000\000' >cut.mid
wrong 1 "cut.mid: not a MIDI file: 'MThd' at offset 0 is missing" train music --data cut.mid --out never
wrong 1 'missing.json: No such file or directory$' train music --data missing.json --out never
wrong 2 'train: bert cannot be trained to music' train music --data cadence.json --model bert --out never
wrong 2 'train: --transpose is not for lm, but for music' train lm --data cadence.json --transpose 2 --out never
wrong 2 'train: --transpose goes with --music' train ngram --data cadence.json --transpose 2 --out never
[ ! -e never ] || fail "what was refused should leave nothing behind"
expect 1 generate bach --midi no/such/file.mid --steps 8
grep -q '^heed: no/such/file.mid: ' err || fail "a path that cannot be written should be named"
wrong 2 'generate: --png x.jpg: the name must end in .png' generate bach --png x.jpg
wrong 2 'generate: options of music take no text' generate bach --midi x.mid hello
wrong 2 'generate: --prompt-steps goes with --prompt-midi' generate bach --prompt-steps 4
wrong 1 'generate: --prompt-steps: 4000, but one.mid has [0-9]+ steps' generate bach --prompt-midi one.mid --prompt-steps 4000
echo '[[[100,55,50,40]]]' >high.json
wrong 1 "high.json: step 1: the soprano sings 100, outside of the model's range" generate bach --soprano high.json
wrong 1 "high.json: chorale 1, step 1: the Soprano sings 100, outside of the model's range, [0-9]+ to [0-9]+" eval bach --data high.json
wrong 1 'counts: an n-gram model composes no music' generate counts --midi x.mid
[ ! -e x.mid ] || fail "what failed should leave nothing behind"
echo 'one two three one two three' >text.txt
expect 0 train lm --data text.txt --tokens word --context 2 --steps 1 --batch 1 --valid 0 --set n_embd=8 --set n_layer=1 --set n_head=2 --out lm --quiet
wrong 1 "lm: its tokens are not those of music: 'heed train music' makes such models" generate lm --midi x.mid
expect 0 train music --help
says 'heed train music --data Jsb16thSeparated.json'
