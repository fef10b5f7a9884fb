#!/bin/sh
# same_as.sh OLD NEW: do two builds of the command do the same, to the byte? OLD and NEW are heed binaries. Compared are:
# every task of heed train for two steps, from scratch, by --init, with --lora, --recompute and --micro-batch; a
# checkpoint of OLD resumed by NEW; what eval, info, attend, generate, classify and the others print of these models;
# list, every --help, the manual pages, completions and the page of models. heed_version and times may differ.
# Without arguments, as a test, heed is compared with itself: what it prints must not depend on the moment.
set -eu
SOURCE=${SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
old=${1:-$HEED} new=${2:-${1:-$HEED}}
old=$(realpath "$old") new=$(realpath "$new")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/old" "$scratch/new"
different=0 compared=0

# What may differ: the version, and times.
settled() { # FILE
    sed -E 's/"heed_version": *"[^"]*"/"heed_version": ""/; s/"(seconds|[a-z_]*per_second)": *[0-9.e+-]+/"\1": 0/g' "$1" |
        sed "s|$scratch/[a-z]*/||g"
}
# A checkpoint's header notes the seconds of training, is padded for them, and begins with its size.
settled_checkpoint() { tail -c +9 "$1" | LC_ALL=C sed -E '1s/\\"seconds\\":[0-9.e+-]+//; 1s/\}\} +/}}/'; } # FILE
both() { # ARGUMENTS...: OLD and NEW with these, each in its directory; what they print is compared
    for side in old new; do
        binary=$old
        [ $side = old ] || binary=$new
        (
            cd "$scratch/$side"
            status=0
            "$binary" "$@" >.out 2>.err </dev/null || status=$?
            echo "status $status" >>.out
        )
    done
    compared=$((compared + 1))
    for file in .out .err; do
        settled "$scratch/old/$file" >"$scratch/a" && settled "$scratch/new/$file" >"$scratch/b"
        if ! cmp -s "$scratch/a" "$scratch/b"; then
            different=$((different + 1))
            echo "different: heed $*"
            diff "$scratch/a" "$scratch/b" | head -n 10
        fi
    done
}
same_files() { # DIR: every file below it in both trees
    for side in old new; do (cd "$scratch/$side" && find "$1" -type f | sort) >"$scratch/files.$side"; done
    cmp -s "$scratch/files.old" "$scratch/files.new" || { different=$((different + 1)) && echo "different: the files of $1"; }
    while read -r file; do
        case $file in
        *.json | *.jsonl | *.txt) how=settled ;;
        *checkpoint.safetensors) how=settled_checkpoint ;;
        *) how=cat ;;
        esac
        $how "$scratch/old/$file" >"$scratch/a" && $how "$scratch/new/$file" >"$scratch/b"
        cmp -s "$scratch/a" "$scratch/b" || { different=$((different + 1)) && echo "different: $file"; }
    done <"$scratch/files.old"
}
trained() { # DIR ARGUMENTS...: heed train with these, its log and its directory
    dir=$1
    shift
    case $1 in ngram) ;; *) set -- "$@" --log "$dir.jsonl" ;; esac # it has no steps to log
    both train "$@" --out "$dir" --quiet --threads 1
    grep -q 'status 0' "$scratch/old/.out" || { echo "failed: heed train $*" && cat "$scratch/old/.err" && different=$((different + 1)); }
    same_files "$dir"
    if [ -e "$scratch/old/$dir.jsonl" ]; then same_files "$dir.jsonl"; fi
}

cd "$scratch/new" && . "$SOURCE/tests/cli/train/tiny_tasks.inc"
cd "$scratch/old" && . "$SOURCE/tests/cli/train/tiny_tasks.inc"

# ---- training ----

while read -r name task rest; do
    # shellcheck disable=SC2046,SC2086 # the lists are words
    trained $name $task $rest $(steps_of $task 2)
    case $task in ngram | words) continue ;; esac # they have no step to stop at
    # shellcheck disable=SC2046,SC2086
    (cd "$scratch/old" && "$old" train $task $rest $(steps_of $task 1) --schedule constant --out begun --quiet --threads 1 >/dev/null 2>&1) || :
    rm -rf "$scratch/new/begun"
    cp -r "$scratch/old/begun" "$scratch/new/begun"
    # shellcheck disable=SC2046,SC2086
    trained begun $task $rest $(steps_of $task 2) --schedule constant --resume
    rm -rf "$scratch/old/begun" "$scratch/new/begun" "$scratch/old/begun.jsonl" "$scratch/new/begun.jsonl"
done <"$scratch/old/tasks"
two="--steps 2 --batch 4"
# shellcheck disable=SC2086
{
    trained tuned classify --init mlm --data films.tsv $two
    trained adapter lm --init lm --data stories.txt --lora 2 $two
    trained adapted classify --init mlm --data films.tsv --lora 2 $two
    trained tags tag --init mlm --data tags.tsv $two --freeze '*embeddings*'
    trained more text2text --init t5 --data pairs.tsv $two --micro-batch 1
    trained less lm --init lm --data stories.txt $two --recompute --micro-batch 2
    trained cut classify --model bert --data films.tsv $bert --tokens word $two --recompute
    trained taught classify --model vit --data pictures --valid 0 $bert $two --teacher picture --mixup 0.5
    trained gru lm --model gru --data stories.txt --tokens char --context 8 --set hidden_size=8 $two
    trained bahdanau translate --model bahdanau --data pairs.tsv --from en --to de --set hidden_size=8 --tokens word $two
    trained performer classify --model performer --data films.tsv $bert --tokens word $two
}

# ---- what is done with them ----

for dir in regress table text picture tag qa choose mlm embed lm music t5 translate forecast ngram words hand adapter gru; do
    both info $dir --json
    both info $dir
done
both eval table --data table.csv --json
both eval text --data films.tsv --json
both eval tag --data tags.tsv --json
both eval qa --data squad.json --json
both eval lm --data stories.txt --json
both eval t5 --data pairs.tsv --json
both eval picture --data pictures --json
both eval translate --data pairs.tsv --json
both eval forecast --data load.csv --json
both predict regress --data table.csv
both classify text --json 'the bear film is good'
both classify picture --json pictures/test/dark/0.png
both classify adapted 'the bear film is good' --json
both tag tag 'bear honey' --json
both choose choose 'bear	honey	fish' --json
both fill mlm 'The bear eats [MASK].' --json
both embed embed 'the bear eats'
both generate lm --prompt 'The ' --max-tokens 6 --temperature 0 --json
both generate adapter --prompt 'The ' --max-tokens 6 --seed 3 --json
both generate gru --prompt 'The ' --max-tokens 6 --beam 2 --json
both summarize t5 'the bear eats' --json
both translate translate 'the bear eats'
both translate bahdanau 'the bear eats' --json
both forecast forecast --data load.csv --json
both score lm 'The bear eats honey.' --json
both words words bear
both tokens lm 'The bear' --json
both attend text 'the bear film is good' --json
both attend translate 'the bear eats' --npy - --layer 0
both attend picture pictures/test/dark/0.png --json
both attend text 'the bear film' --html page.html --png map.png --svg map.svg
same_files page.html
same_files map.svg

# ---- what it says of itself ----

both list
both list --json
both --help
for command in $("$old" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do both "$command" --help; done
for task in $(awk '{ print $2 }' "$scratch/old/tasks" | sort -u); do both train "$task" --help; done
for family in $("$old" list | sed -n 's/^ *\([a-z0-9_-]*\)  .*/\1/p'); do both list "$family"; done
for kind in man bash zsh models; do both docs $kind; done
both lesson
both lesson --json

echo "$compared commands compared, $different differences"
[ "$different" = 0 ]
