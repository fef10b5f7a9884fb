# Options, as every command reads them: forms, strict numbers, bounds, recipes, the docs made from the tables.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
model="new linear m --force --quiet"
set_sizes="--set input_size=2 --set output_size=1"

# forms
for form in "--seed 7" "--seed=7"; do
    expect 0 $model $set_sizes $form
    silent
    cp m/model.safetensors "seed$(echo "$form" | tr -dc a-z=)"
done
cmp seedseed seedseed= || fail "--seed 7 and --seed=7 should be the same"
expect 0 $model $set_sizes --seed 8
if cmp -s m/model.safetensors seedseed; then fail "another seed should give other weights"; fi
expect 0 $model -sinput_size=2 -s output_size=1 -q
expect 0 new linear --force $set_sizes -- m
expect 0 info -v -- m
wrong 2 "new: unknown option -z, " $model -z
wrong 2 "new: unknown option -qf, " new -qf
wrong 2 "new: --quiet takes no value" $model --quiet=yes
wrong 2 "new: --seed needs a value: N" $model --seed
wrong 2 "new: unknown option --sed, did you mean --se(t|ed)" $model --sed 3
wrong 2 "new: unknown option --thread, did you mean --threads" $model --thread=3
wrong 2 "new: unknown option --frobnicate, 'heed new --help' lists them" $model --frobnicate
wrong 2 "train classify: unknown option --micro, did you mean --micro-batch" train classify --micro 3
wrong 2 "train classify: unknown option --sched, did you mean --schedule" train classify --sched step
for command in new forward demo; do # whose result is no data
    wrong 2 "$command: unknown option --json, " $command --json
done
wrong 2 "new: expected: FAMILY DIR" new
wrong 2 "new: 'too' is one word too many; expected: FAMILY DIR" new linear m too

# numbers
for number in 12x 1e3 1.0 "" " 3" 0x10 nan inf 99999999999999999999; do
    wrong 2 "new: --seed: '$number' is not a whole number" $model $set_sizes --seed "$number"
done
wrong 2 "new: --seed: -1 is not between 0 and" $model $set_sizes --seed -1
wrong 2 "new: --threads: 1025 is not between 0 and 1024" $model $set_sizes --threads=1025
for bytes in 12x 1.5G -1 "" G 1GG 99999999999T; do
    wrong 2 "new: --memory: '$bytes' is not a number of bytes" $model $set_sizes --memory "$bytes"
done
for bytes in 100000000 100M 1g 1GiB 100MB; do expect 0 $model $set_sizes --memory $bytes; done
wrong 1 "new: needs at least [0-9]+K of memory, --memory allows 1K$" $model $set_sizes --memory 1K

# recipes: one option a line; the command line overrides them, and lists add up
cat >recipe <<'R'
# a comment
set input_size=5
--set = output_size=3   # another
  seed=3
quiet
R
expect 0 new linear m --force --recipe recipe
silent
expect 0 info m -v
says '^linear.weight +\(3, 5\) +15$'
cp m/model.safetensors three
expect 0 new linear m --force --recipe recipe --seed 3
cmp m/model.safetensors three || fail "the recipe's seed should be the same as the option's"
expect 0 new linear m --force --recipe recipe --seed 4 --set output_size=4
if cmp -s m/model.safetensors three; then fail "the command line should override the recipe"; fi
expect 0 info m -v
says '^linear.weight +\(4, 5\) +20$'
"$HEED" new linear m --force --recipe - <recipe || fail "a recipe from standard input"
printf 'set input_size=5\nseed 1x\n' >bad
wrong 2 "new: bad: line 2: --seed: '1x' is not a whole number" $model --recipe bad
printf '\n\nsede 1\n' >bad
wrong 2 "new: bad: line 3: unknown option --sede, did you mean --seed" $model --recipe bad
printf 'quiet no\n' >bad
wrong 2 "new: bad: line 1: --quiet takes no value" $model --recipe bad
printf 'seed\n' >bad
wrong 2 "new: bad: line 1: --seed needs a value: N" $model --recipe bad
printf 'recipe bad\n' >bad
wrong 2 "new: bad: line 1: a recipe cannot name another" $model --recipe bad
printf 'seed 1\000\n' >bad
wrong 2 "new: --recipe: bad: Invalid or incomplete multibyte or wide character$" $model --recipe bad
wrong 2 "new: --recipe: nosuch: No such file" $model --recipe nosuch

# the docs know every command and every option
"$HEED" --help | sed -n '/^commands:/,/^$/s/^  \([a-z0-9-]*\) .*/\1/p' >commands
expect 0 docs commands
cmp -s out commands || fail "the commands: $(cat out)"
for page in man bash zsh; do
    expect 0 docs $page
    silent
    cp out $page
done
unique() { # WORDS...: neither an option nor a letter has two meanings in their help
    "$HEED" "$@" --help >help
    sed -n 's/^  [- ][a-z ][, ] --\([a-z0-9-]*\).*/\1/p' help >options
    [ -s options ] && [ -z "$(sort options | uniq -d)" ] || fail "an option of $* has two meanings"
    [ -z "$(sed -n 's/^  \(-[a-z]\), --.*/\1/p' help | sort | uniq -d)" ] || fail "a letter of $* has two meanings"
}
known() { # WHERE WHAT: every one of `options` is among the lines of standard input
    sort -u options >wanted
    lost=$(sort -u | comm -23 wanted - | tr '\n' ' ')
    [ -z "$lost" ] || fail "$1 lacks options of $2: $lost"
}
completed() { # WHAT: each of `options` is in the parts of the completions that were cut out
    tr ' ' '\n' <bash-part | sed -n "s/^--\([a-z0-9-]*\)'*\$/\1/p" | known bash "$1"
    grep -o -- '--[a-z0-9-]*[=[]' zsh-part | sed 's/^--//; s/.$//' | known zsh "$1"
}
while read -r command; do
    grep -qF ".BR heed\\-$(echo "$command" | sed 's/-/\\-/g') (1)" man || fail "$command is not in the manual"
    expect 0 docs man "$command"
    silent
    cp out "man-$command"
    grep -qF ".TH \"HEED-$(echo "$command" | tr a-z A-Z)\" 1" out || fail "$command should have a page of its own"
    grep -q '^.BR heed (1)$' out || fail "the page of $command should refer to heed(1)"
    grep -q "^    $command)" bash || fail "bash does not complete $command"
    grep -q "^    $command)" zsh || fail "zsh does not complete $command"
    unique "$command"
    grep -o '\\-\\-[a-z0-9\\-]*\\fR' out | sed 's/^\\-\\-//; s/\\fR$//; s/\\-/-/g' | known man "$command"
    for shell in bash zsh; do sed -n "/^    $command)/,/^    ;;\$/p" $shell >$shell-part; done
    completed "$command"
done <commands

# a task has the options of all tasks and its own, and none of another's
expect 0 train --help
says '^usage: heed train TASK \[OPTIONS\]$'
says '^TASK is one of:$'
sed -n '/^TASK is/,/^$/s/^  \([a-z0-9]*\) .*/\1/p' out >tasks
sed -n 's/^TASK(\(.*\))$/\1/p' "$SOURCE/src/task/tasks.def" >defined
cmp -s tasks defined || fail "the tasks: $(cat tasks)"
says '^      --patience N '
if grep -qE '^ .{5}--(target|from) [A-Z]' out; then fail "the options of one task should be on its own page"; fi
sed -n 's/^\\fB.*\\-\\-\([a-z0-9\\-]*\)\\fR.*/\1/p' man-train | tr -d '\\' | sort -u >train-options
while read -r task; do
    expect 0 train "$task" --help
    says "^usage: heed train $task \[OPTIONS\]$"
    case $task in ngram | words) ;; *) says '^      --patience N ' ;; esac # those have no validation loss
    says '^      --threads N '
    says "^  heed train $task .*--out "
    cp out page
    expect 0 help train "$task"
    cmp -s out page || fail "heed help train $task should be the same page"
    expect 0 train --data x "$task" -h
    cmp -s out page || fail "the task may stand behind options"
    grep -q "^.SH HEED train $task" man-train || fail "$task is not in the manual"
    unique train "$task"
    sort options | comm -23 - train-options >missing
    [ ! -s missing ] || fail "options of train $task are not in the manual: $(cat missing)"
    [ "$(sed -n '/^  [- ][a-z ][, ] --/{s/.*--\([a-z]*\).*/\1/p;q}' page)" = data ] || fail "the data should be the first option of $task"
    for shell in bash zsh; do
        sed -n "/^    train)/,/^    ;;\$/p" $shell | sed -n "/^        $task)/,/^        ;;\$/p" >$shell-part
    done
    completed "train $task"
done <tasks
expect 0 train classify --help
says '^  -t, --target COLUMN '
says '^  -m, --model FAMILY .*default: mlp'
if grep -qE '^ .{5}--(from|moses|separate|masked) ' out; then fail "classify should not show options of other tasks"; fi
expect 0 train translate --help
says '^      --from LANGUAGE '
says 'default: 4096'
says '0\.98\)$'
if grep -qE '^ .{5}--(target|use) ' out; then fail "translate should not show the options of classify"; fi
wrong 2 "train: expected: TASK; 'heed train --help' lists them" train
wrong 2 "train: unknown task 'clasify', did you mean 'classify'" train clasify --data x
wrong 2 "train: unknown task 'x', one of: $(sed ':a; N; $!ba; s/\n/, /g' tasks)" train x
wrong 2 "train: the task comes first" train --data classify regress --out x

# what is used most comes first, once
expect 0 train lm --help
says '^most used:$'
sed -n '/^most used:/,/^$/s/^  [- ][a-z ][, ] --\([a-z-]*\).*/\1/p' out | tr '\n' ' ' >first
[ "$(cat first)" = "data out model init epochs batch lr test valid resume force log set " ] || fail "the first options: $(cat first)"
[ "$(grep -cE '^[a-zA-Z ]+:$' out)" = "$(grep -E '^[a-zA-Z ]+:$' out | sort -u | wc -l)" ] || fail "a heading stands twice"
if grep -A 1 -E '^[a-zA-Z ]+:$' out | grep -qE '^$'; then fail "nothing stands under a heading"; fi

wrong 2 "docs: 'fish' is not one of: man, bash, zsh, models, help, commands" docs fish
wrong 2 "docs: man: there is no command 'fish'" docs man fish
wrong 2 "docs: 'train' is one word too many: only man is by command" docs bash train
if there groff; then
    for page in man man-train man-generate; do
        groff -man -Tutf8 -ww "$page" >/dev/null 2>"$scratch/err"
        silent
    done
fi
if there zsh; then zsh -n zsh; fi
if there bash; then
    complete() { # WORDS...: what bash offers for the last of them
        bash -c '. ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _heed; echo "${COMPREPLY[*]}"' bash "$@"
    }
    [ "$(complete heed forw)" = forward ] || fail "bash: a command"
    [ "$(complete heed new ml)" = mlp ] || fail "bash: a family"
    [ "$(complete heed info --ba)" = --batch ] || fail "bash: an option"
    [ "$(complete heed forward --in x)" = "" ] || fail "bash: a path is left to the shell"
    [ "$(complete heed train translate --more x)" = "" ] || fail "bash: a path that may be given again is left to the shell"
    if grep -q -- '--more)' bash; then fail "bash: --more should complete paths"; fi
    grep -q "'\*--more=\[.*\]:PATH:_files'" zsh || fail "zsh: a path that may be given again"
    [ "$(complete heed help inf)" = info ] || fail "bash: help"
    [ "$(complete heed train cl)" = classify ] || fail "bash: a task"
    [ "$(complete heed train classify --tar)" = --target ] || fail "bash: an option of a task"
    [ "$(complete heed train translate --class)" = "" ] || fail "bash: an option of another task"
    [ "$(complete heed train translate --tokens w)" = word ] || fail "bash: the value of a task's option"
    [ "$(complete heed lesson nad)" = nadaraya-watson ] || fail "bash: a lesson"
    [ "$(complete heed train regress -m ml)" = mlp ] || fail "bash: the value of a letter"
    [ "$(complete heed train regress --optimizer = s)" = sgd ] || fail "bash: a value after '='"
    [ "$(complete heed train regress --optimizer =)" = "adamw adam sgd adafactor" ] || fail "bash: all values after '='"
fi

# control characters and bytes that are not UTF-8 do not reach the terminal as they are
for page in --help "list" "list mlp" "info --help" "train --help"; do
    status=0
    "$HEED" $page >out 2>err || status=$?
    if LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" out; then fail "control characters in heed $page"; fi
done

# the letters that many commands have mean the same in all of them
commands() { "$HEED" $1 --help | grep -E '^  [a-z]' | awk '{ print $1 }'; }
for command in $(commands); do "$HEED" $command --help 2>&1; done >pages
for task in $(commands train); do "$HEED" train $task --help 2>&1; done >>pages
grep -oE '^ +-[bmt], --[a-z-]+' pages | sort -u | tr -s ' \n' ' ' >letters
[ "$(cat letters)" = ' -b, --batch -m, --model -t, --target ' ] || fail "letters with several meanings: $(cat letters)"
