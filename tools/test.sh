#!/bin/sh
# test.sh STAGE...: the stages of `make test`, in order, up to the first that fails. The first always runs; the others
# are left to make, which knows whether anything changed since they passed. The last line sums up: an unchanged stage
# counts as it passed.
set -eu
cd "$(dirname "$0")/.."
make=${MAKE:-make}
first=$1
status=0
counts=
for stage in "$@"; do
    counts="$counts build/$stage/counts"
    if [ "$stage" = "$first" ]; then
        sh tools/stage.sh "$stage" || status=1
    elif [ -e "build/$stage/counts" ] && $make -q --no-print-directory "build/$stage/passed"; then
        echo "$stage: unchanged since it passed"
    else
        $make --no-print-directory "build/$stage/passed" || status=1
    fi
    [ "$status" = 0 ] || break
done
# shellcheck disable=SC2086 # the list is words
cat $counts | awk '{ p += $1; f += $2; s += $3 } END { print p " passed, " f " failed, " s " skipped" }'
exit "$status"
