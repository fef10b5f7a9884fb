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
wrong 2 "train: unknown option --micro, did you mean --micro-batch" train classify --micro 3
wrong 2 "train: unknown option --sched, did you mean --schedule" train classify --sched step
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
wrong 1 "new: memory: .* budget of 1024 bytes" $model $set_sizes --memory 1K

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
wrong 2 "new: --recipe: bad: " $model --recipe bad
wrong 2 "new: --recipe: nosuch: No such file" $model --recipe nosuch

# the docs know every command and every option
"$HEED" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >commands
for page in man bash zsh; do
    expect 0 docs $page
    silent
    cp out $page
done
while read -r command; do
    grep -q "^.SS heed $command" man || fail "$command is not in the manual"
    grep -q "^    $command)" bash || fail "bash does not complete $command"
    grep -q "^    $command)" zsh || fail "zsh does not complete $command"
    "$HEED" "$command" --help | sed -n 's/^  [- ][a-z ][, ] --\([a-z0-9-]*\).*/\1/p' >options
    [ -z "$(sort options | uniq -d)" ] || fail "an option of $command has two meanings"
    [ -z "$("$HEED" "$command" --help | sed -n 's/^  \(-[a-z]\), --.*/\1/p' | sort | uniq -d)" ] ||
        fail "a letter of $command has two meanings"
    while read -r option; do
        grep -qF -- "\\-\\-$(echo "$option" | sed 's/-/\\-/g')\\fR" man || fail "--$option of $command is not in the manual"
        sed -n "/^    $command)/,/;;\$/p" bash | grep -q -- " --$option[ ']" || fail "bash does not complete --$option of $command"
        sed -n "/^    $command)/,/^        ;;/p" zsh | grep -q -- "--$option[=[]" || fail "zsh does not complete --$option of $command"
    done <options
done <commands
wrong 2 "docs: 'fish' is not one of: man, bash, zsh, models" docs fish
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww man >/dev/null 2>"$scratch/err"
    silent
fi
if command -v zsh >/dev/null; then zsh -n zsh; fi
if command -v bash >/dev/null; then
    complete() { # WORDS...: what bash offers for the last of them
        bash -c '. ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _heed; echo "${COMPREPLY[*]}"' bash "$@"
    }
    [ "$(complete heed forw)" = forward ] || fail "bash: a command"
    [ "$(complete heed new ml)" = mlp ] || fail "bash: a family"
    [ "$(complete heed info --ba)" = --batch ] || fail "bash: an option"
    [ "$(complete heed forward --in x)" = "" ] || fail "bash: a path is left to the shell"
    [ "$(complete heed train translate --more x)" = "" ] || fail "bash: a path that may be given again is left to the shell"
    if sed -n '/^    train)/,/;;$/p' bash | grep -q -- '--more)'; then fail "bash: --more should complete paths"; fi
    grep -q "'\*--more=\[.*\]:PATH:_files'" zsh || fail "zsh: a path that may be given again"
    [ "$(complete heed help inf)" = info ] || fail "bash: help"
    [ "$(complete heed train cl)" = classify ] || fail "bash: a task"
    [ "$(complete heed lesson nad)" = nadaraya-watson ] || fail "bash: a lesson"
    [ "$(complete heed train regress -m ml)" = mlp ] || fail "bash: the value of a letter"
    [ "$(complete heed train regress --optimizer = s)" = sgd ] || fail "bash: a value after '='"
    [ "$(complete heed train regress --optimizer =)" = "adamw adam sgd" ] || fail "bash: all values after '='"
fi

# control characters and bytes that are not UTF-8 do not reach the terminal as they are
for page in --help "list" "list mlp" "info --help" "train --help"; do
    status=0
    "$HEED" $page >out 2>err || status=$?
    if LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" out; then fail "control characters in heed $page"; fi
done
