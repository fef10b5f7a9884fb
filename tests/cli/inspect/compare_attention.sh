# heed compare-attention: tables, JSON, a picture; what is left out is said, and what is wrong refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

set -- compare-attention --kinds exact,fnet --width 16 --heads 2 --seconds 0
expect 0 "$@" --lengths 16,32,64 --png costs.png --svg costs.svg --csv costs.csv --quiet
silent
[ "$(grep -c '^exact ' out)" = 4 ] && [ "$(grep -c '^fnet ' out)" = 4 ] || fail "time and memory of both, forward and in training"
says '^forward, ms$'
says '^training step, MB$'
says ' 16 +32 +64 +exponent  below exact from$'
[ "$(head -c 4 costs.png | tail -c 3)" = PNG ] || fail "the picture"
grep -q '<svg' costs.svg || fail "and as SVG"
[ "$(head -1 costs.csv)" = kind,pass,length,seconds,bytes ] && [ "$(wc -l <costs.csv)" = 13 ] || fail "a line for each point"

# memory is a plan, the same each time, and grows with the length: exact attention's by its own, not by the square
expect 0 "$@" --lengths 64,128,256 --csv again.csv --json
grep -q '"bytes_exponent": ' out || fail "exponents as JSON"
bytes() { awk -F, -v k="$1" -v p="$2" -v n="$3" '$1 == k && $2 == p && $3 == n { print $5 }' "$4"; }
for kind in exact fnet; do
    for pass in forward step; do
        [ "$(bytes $kind $pass 64 costs.csv)" = "$(bytes $kind $pass 64 again.csv)" ] || fail "the same plan"
        [ "$(bytes $kind $pass 64 again.csv)" -lt "$(bytes $kind $pass 256 again.csv)" ] || fail "more for more tokens"
    done
    [ "$(bytes $kind forward 256 again.csv)" -lt "$(bytes $kind step 256 again.csv)" ] || fail "training takes more"
done

# more than is allowed is left out
expect 0 "$@" --lengths 16,16384 --memory 9M
grep -q '^fnet, training step at 16384: left out: needs .* MB, more than --memory allows$' err || fail "what needs too much"
expect 0 "$@" --lengths 16,16384 --max-seconds 0.001 --kinds exact
grep -q '^exact, forward at [0-9]*: left out: longer than --max-seconds$' err || fail "what takes too long"
says '^exact .* - '

wrong 2 "compare-attention: --kinds: there is no kind 'magic'" compare-attention --kinds magic
wrong 2 "compare-attention: --lengths: '64' is not a rising length" compare-attention --lengths 128,64
wrong 2 "compare-attention: --lengths: 'x' is not a rising length" compare-attention --lengths x
wrong 2 'compare-attention: --heads: 3 does not divide the width, 16' compare-attention --width 16 --heads 3
wrong 2 'compare-attention: --png costs.jpg: the name must end in .png' compare-attention --png costs.jpg
wrong 1 'nowhere/costs.csv: No such file or directory' compare-attention --csv nowhere/costs.csv # before all is measured
