#!/bin/sh
# test.sh [-a] STAGE...: these stages of the tests (tools/stage.sh), in order, up to the first that fails. A stage that
# passed is run again only when a file that it is made from has changed since; with -a the first is always run. At the
# end the slowest tests are named, and the last line sums up: an unchanged stage counts as it passed.
set -eu
cd "$(dirname "$0")/.."
make=${MAKE:-make}
always=
if [ "$1" = -a ]; then always=$2 && shift; fi
status=0
counts= logs=
for stage in "$@"; do
    counts="$counts build/stages/$stage.counts" logs="$logs build/stages/$stage.log"
    if [ "$stage" = "$always" ]; then
        sh tools/stage.sh "$stage" || status=1
    elif [ -e "build/stages/$stage.counts" ] && $make -q --no-print-directory "build/stages/$stage.passed"; then
        echo "$stage: unchanged since it passed"
    else
        $make --no-print-directory "build/stages/$stage.passed" || status=1
    fi
    [ "$status" = 0 ] || break
done
echo "slowest tests:"
# shellcheck disable=SC2086 # the lists are words
awk '/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .* sec *$/ {
    stage = FILENAME
    gsub(/.*\/|\.log$/, "", stage)
    sub(/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /, "")
    printf "%8.1f s  %s (%s)\n", $(NF - 1), $1, stage
}' $logs 2>/dev/null | sort -rn | head -n 10
# shellcheck disable=SC2086
cat $counts | awk '{ p += $1; f += $2; s += $3 } END { print p " passed, " f " failed, " s " skipped" }'
exit "$status"
