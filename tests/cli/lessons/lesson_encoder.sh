# The lessons on masked words, fine-tuning and the class token, in runs too short to learn: what they say and write.
# lesson_encoder_full.sh has the real ones.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

kinds() { for kind in png svg csv; do grep -q "\.$kind\$" files || fail "some $kind should be written"; done; }
lessons="masked-words fine-tuning class-token"

expect 0 lesson
for name in $lessons; do says "^$name  *[^ ]"; done

for name in $lessons; do
    wrong 2 "lesson $name: takes no data" lesson $name --data text
    wrong 1 'none(/[a-z_.]+)?: No such file or directory$' lesson $name --model none
    wrong 2 "lesson $name: --steps is for pre-training" lesson $name --model none --steps 40
done
wrong 2 "lesson transformer: takes no --model" lesson transformer --model none
wrong 2 "lesson: --steps: 29 is not between 30 and 20000" lesson fine-tuning --steps 29

# A model that cannot fill gaps.
expect 0 new mlp mlp --set input_size=2 --set output_size=1
expect 1 lesson masked-words --model mlp
[ "$(wc -l <err)" = 1 ] || fail "a model of vectors should be refused in one line"

for name in $lessons; do
    [ $name != fine-tuning ] || learns || continue # dozens of runs
    expect 0 lesson $name --steps 31 --out "few/$name"
    silent
    listed "few/$name"
    [ $name != masked-words ] || says "not learnt yet what that word asks"
    kinds
    says "BERT"
    tr '\n' ' ' <out | grep -q " 31 steps" || fail "the number of steps should be said"
done

# Five words for each of three gaps, likeliest first; attention from the gap sums to 1 in each layer.
awk -F, 'NR > 1 { p = $NF; if (p < 0 || p > 1 || (NR % 5 != 2 && p > last)) exit bad = 1; last = p }
    END { exit bad || NR != 16 }' few/masked-words/masked-words.csv || fail "words should be given, likeliest first"
for gap in 0 1 2; do
    awk -F, 'NR > 1 { a += $2; b += $3 } END { exit !((a - 1) ^ 2 < 1e-8 && (b - 1) ^ 2 < 1e-8) }' \
        few/masked-words/masked-words-attention-$gap.csv || fail "attention from gap $gap should sum to 1"
done
awk -F, 'NR > 1 { n++; if (!($2 > 0 && $2 < 12)) exit bad = 1 } END { exit bad || n != 30 || !($1 > 30 && $1 < 31) }' \
    few/masked-words/masked-words-loss.csv || fail "a thirtieth of the steps should be a point"

# Sizes double; the mean lies in its band.
! learns || awk -F, 'NR > 1 { if ($1 != 4 * 2 ^ (NR - 1)) exit bad = 1
        for (k = 2; k <= 5; k += 3) if (!($(k + 1) <= $k && $k <= $(k + 2) && $(k + 1) >= 0 && $(k + 2) <= 100)) exit bad = 1 }
    END { exit bad || NR != 8 || $1 != 512 }' few/fine-tuning/fine-tuning.csv || fail "fine-tuning.csv is not sane"

# The principal components are seen from the mean, are not correlated, and the first varies most.
awk -F, 'NR > 1 { n++; for (k = 0; k < 2; k++) { x = $(NF - 3 + 2 * k); y = $(NF - 2 + 2 * k)
        sx[k] += x; sy[k] += y; xx[k] += x * x; yy[k] += y * y; xy[k] += x * y } }
    END { if (n != 300) exit 1
        for (k = 0; k < 2; k++) if (!(sx[k] ^ 2 < 1e-6 * xx[k] && sy[k] ^ 2 < 1e-6 * xx[k] && xx[k] >= yy[k] &&
            xy[k] ^ 2 <= 1e-6 * xx[k] * yy[k])) exit 1 }' few/class-token/class-token.csv ||
    fail "class-token.csv does not hold principal components"
for class in eat read "turn on"; do
    grep -q ",to $class," few/class-token/class-token.csv || fail "no sentence is of something to $class"
done

# A model of one's own, which has hardly been trained.
awk 'BEGIN { for (i = 0; i < 40; i++)
    print "The old man sees the dog. A girl walked to the river.\nYesterday the cat slept because it was tired.\n" }' >text
expect 0 train mlm --data text --out own --vocab 60 --steps 3 --batch 4 --quiet --set hidden_size=16 \
    --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=16
for name in $lessons; do
    [ $name != fine-tuning ] || learns || continue
    expect 0 lesson $name --model own --out "own-$name"
    listed "own-$name"
    says "The model is own"
done
