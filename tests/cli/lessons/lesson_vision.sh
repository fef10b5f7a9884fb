# The lessons on pictures: which patches can talk, against the geometry of windows; the others in runs too short to learn,
# what they say and write.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

lessons="patches augmentation shifted-windows class-token-map non-local"

expect 0 lesson
for name in $lessons; do says "^$name  *[^ ]"; done
for name in $lessons; do wrong 2 "lesson $name: takes no data" lesson $name --data x; done

# Windows of 4 x 4 in a grid of 16 x 16, shifted by 2: what the patch (6, 6) has heard of is a square.
expect 0 lesson shifted-windows --json --out windows
silent
for layers in 1 2 3 4; do
    [ "$(result still_$layers)" = 16.0 ] || fail "without shifts nothing leaves the window"
done
[ "$(result shifted_1) $(result shifted_2) $(result shifted_3) $(result shifted_4)" = "16.0 64.0 144.0 256.0" ] || fail "shifted windows"
awk -F, 'function in_square(low, high) { return $1 >= low && $1 <= high && $2 >= low && $2 <= high }
    NR > 1 && ($3 != in_square(4, 7) || $5 != in_square(4, 7) || $6 != in_square(4, 7) || $7 != in_square(4, 11) || $8 != in_square(0, 11)) { exit bad = 1 }
    END { exit bad || NR != 257 }' windows/shifted-windows-reach.csv || fail "what is heard should be squares of whole windows"
expect 0 lesson shifted-windows
fits
for name in shifted-windows shifted-windows-reach; do [ -s windows/$name.png ] || fail "$name.png should be written"; done

# A block by its formula and self-attention; softmax or not; k convolutions of 3 x 3 reach (2 k + 1) x (2 k + 1) places.
expect 0 lesson non-local --json --out blocks
silent
holds "a block is self-attention" "$(result difference) < 2e-6"
holds "softmax adds up to 1" "($(result sum_gaussian) - 1) ^ 2 < 1e-10 && ($(result sum_embedded_gaussian) - 1) ^ 2 < 1e-10"
[ "$(result reach_1) $(result reach_2) $(result reach_4) $(result reach_7) $(result reach_block)" = "9.0 25.0 81.0 225.0 225.0" ] || fail "how far places are heard"
expect 0 lesson non-local
fits
for name in non-local non-local-reach; do [ -s blocks/$name.png ] && [ -s blocks/$name.csv ] || fail "$name should be written"; done

for name in patches augmentation class-token-map; do
    [ $name != patches ] || learns || continue # the others have shown a sanitizer the same ViT
    expect 0 lesson $name --steps 30 --json --out "few/$name"
    silent
    cp out "$name.json"
    for kind in png svg csv; do ls few/$name/*.$kind >files || fail "some $kind should be written"; done
done
! learns || awk -F, 'NR > 1 && $1 == $3 && $2 == $4 && ($5 < 0.999999 || $5 > 1.000001) { exit bad = 1 } END { exit bad || NR != 49 * 49 + 1 }' \
    few/patches/patches-positions.csv || fail "a position should be like itself"
awk -F, 'NR > 1 { for (i = 4; i <= 7; i++) sum[$1, i] += $i }
    END { for (k in sum) { n++; if ((sum[k] - 1) ^ 2 > 1e-8) exit 1 } exit n != 16 }' few/class-token-map/class-token-map.csv ||
    fail "the attention of each map should sum to 1"
awk -F, 'END { exit NR != 5 }' few/augmentation/augmentation.csv || fail "four sizes"

[ "$QUICK" != 1 ] || exit 0 # a sanitizer has seen it
sed '/"files"/,$d' augmentation.json >once
expect 0 lesson augmentation --steps 30 --json --threads 1
sed '/"files"/,$d' out >alone
cmp once alone || fail "the same bits for any number of threads"
