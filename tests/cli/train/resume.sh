# Runs that are killed, interrupted or out of disk, and resumed, end with the same bytes as one that was never stopped.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN {
    print "a,b,c,kind"
    s = 7
    for (i = 0; i < 300; i++) {
        for (k = 0; k < 3; k++) { s = (s * 16807) % 2147483647; u[k] = s / 2147483647 }
        printf "%.5f,%.5f,%.5f,%d\n", u[0], u[1], u[2], (u[0] > u[1]) + (u[1] > u[2])
    }
}' >data.csv
set -- train classify --data data.csv --steps 4000 --batch 20 --set hidden_sizes=64,32 --set dropout=0.1 --average 0.99 \
    --evaluate-every 50 --save-every 10 --log-every 1 --quiet

whole() { "$HEED" "$@" --out whole --threads 1 --log whole.jsonl >out 2>err || fail "the whole run failed"; }
steps_once() { # FILE: every step of the log has one line
    [ "$(sed 's/^{"step":\([0-9]*\),.*/\1/' "$1" | sort -n | uniq | wc -l)" = 4000 ] && [ "$(wc -l <"$1")" = 4000 ]
}
whole "$@"
steps_once whole.jsonl || fail "the log should have each step once"
expect 0 "$@" --out two --threads 2
cmp whole/model.safetensors two/model.safetensors || fail "2 threads gave another model than 1"

# kill -9, again and again, at whatever moment it comes
for threads in 1 2; do
    kills=0
    for wait in 0.02 0.11 0.05 0.23 0.08 0.31 0.17 0.4; do
        "$HEED" "$@" --out killed --threads $threads --log killed.jsonl --resume >out 2>err &
        pid=$!
        sleep $wait
        if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
        wait $pid 2>/dev/null || true
    done
    [ $kills -ge 2 ] || fail "the run was over before it could be killed"
    expect 0 "$@" --out killed --threads $threads --log killed.jsonl --resume
    cmp whole/model.safetensors killed/model.safetensors || fail "a killed run ended with another model ($threads threads)"
    steps_once killed.jsonl || fail "the log of the killed run should have each step once"
    rm -rf killed killed.jsonl
done

# Ctrl-C and SIGTERM save and say how to go on
for signal in INT TERM; do
    rm -rf 'inter rupted'
    status=0
    "$HEED" "$@" --out 'inter rupted' --steps 1000000000 --schedule constant >out 2>err &
    pid=$!
    until [ -e 'inter rupted/checkpoint.safetensors' ]; do sleep 0.05; done
    sleep 0.2
    kill -$signal $pid
    wait $pid || status=$?
    [ $signal = INT ] && expected=130 || expected=143
    [ $status = $expected ] || fail "status $status after SIG$signal, expected $expected"
    grep -qE "^heed: stopped at step [0-9]+; continue with: [^ ]*heed train classify .* --out 'inter rupted' .* --resume$" err ||
        fail "it should say how to go on"
    [ "$(wc -l <err)" = 1 ] || fail "one line is enough"
    ! grep -q 'stopped at step 0;' err || fail "it should have done something"
done

# out of disk: a sentence, and what was there is there still
status=0
cp -R whole full
rm full/model.safetensors
cp whole.jsonl full.jsonl
(trap '' XFSZ && ulimit -f 8 && exec "$HEED" "$@" --out full --force >out 2>err) || status=$?
[ $status = 1 ] || fail "status $status with a full disk, expected 1"
grep -q '^heed: full/.*: ' err || fail "the file should be named"
cmp whole/checkpoint.safetensors full/checkpoint.safetensors || fail "a full disk cost a checkpoint"
[ -z "$(find full -name '.heed-*')" ] || fail "half a file was left"
