# Every task of heed train for a step, with the N-th request for memory refused: one sentence and status 1, or what the
# request was for was not needed and all is there. REFUSE_ALL=1 takes every N; by default some, spread evenly.
. "$SOURCE/tests/cli/expect.inc"
[ -n "${REFUSE:-}" ] && [ -e "$REFUSE" ] || { echo "skipped: no library that refuses memory in this build"; exit 77; }
cd "$scratch"

. "$SOURCE/tests/cli/train/tiny_tasks.inc"

run() { # N ARGUMENTS...: heed train with these, the N-th request refused
    at=$1
    shift
    rm -rf model
    status=0
    REFUSE_AT=$at REFUSE_COUNT=count LD_PRELOAD=$REFUSE "$HEED" train "$@" --out model --threads 1 >out 2>err </dev/null || status=$?
}
while read -r _ task rest; do
    # shellcheck disable=SC2086 # the lists are words
    set -- $task $rest $(steps_of "$task" 1)
    run 0 "$@"
    [ $status = 0 ] || { cp out err "$scratch" 2>/dev/null || :; fail "it should train: heed train $*"; }
    n=$(cat count) step=1
    [ -n "${REFUSE_ALL:-}" ] || step=$((n / ${REFUSE_RUNS:-7} + 1))
    at=1
    while [ $at -le "$n" ]; do
        run $at "$@" --quiet
        case $status in
        0) [ -s model/config.json ] || [ -s model/unet/config.json ] || fail "request $at of $n refused: nothing written, status 0: heed train $*" ;;
        1) [ "$(grep -c '^heed: ' err)" = 1 ] && [ ! -s out ] || fail "request $at of $n refused: not one sentence: heed train $*" ;;
        *) fail "request $at of $n refused: status $status: heed train $*" ;;
        esac
        at=$((at + step))
    done
done <tasks
