# heed sweep: every combination once, a table and a picture, stopped and continued, what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN { print "a,b,kind"; for (i = 0; i < 80; i++) printf "%d,%d,%s\n", i % 7, i % 5, (i % 7 > i % 5) ? "up" : "down" }' >data.csv
set -- sweep classify --data data.csv --steps 20 --grid lr=0.1,0.01,0.001 --grid 'hidden_sizes=4;4,3' --out grid

expect 0 "$@" --jobs 2
[ "$(wc -l <out)" = 7 ] || fail "a line per run and a heading"
says '^lr +hidden_sizes +valid_accuracy +loss +seconds +directory$'
[ "$(sed 1d out | awk '{ print $3 }')" = "$(sed 1d out | awk '{ print $3 }' | sort -rg)" ] || fail "the best should come first"
[ "$(grep -c 'valid_accuracy' err)" = 6 ] || fail "each run should be reported"
[ "$(head -c 4 grid/sweep.png | tail -c 3)" = PNG ] || fail "the picture"
[ "$(wc -l <grid/sweep.csv)" = 7 ] || fail "the table as a file"
grep -A 1 hidden_sizes grid/run-0001/config.json | grep -q 4 || fail "a config key of the first run"
grep -A 2 hidden_sizes grid/run-0002/config.json | grep -q 3 || fail "a config key of the second run"

# a run of the grid is the run that heed train makes
expect 0 train classify --data data.csv --steps 20 --lr 0.01 --set hidden_sizes=4 --out alone --quiet
cmp alone/model.safetensors grid/run-0003/model.safetensors || fail "a run of the sweep differs from heed train"

# what has finished is not repeated
wrong 1 'grid: holds a sweep already; --resume continues it' "$@"
rm grid/run-0005.json
expect 0 "$@" --resume --json
[ "$(grep -c '^run ' err)" = 1 ] || fail "only the missing run"
[ "$(grep -c '"valid_accuracy": ' out)" = 6 ] || fail "six results as JSON"
expect 0 "$@" --resume --png -
[ "$(head -c 4 out | tail -c 3)" = PNG ] || fail "the picture on standard output"
wrong 2 'sweep classify: --png -: standard output can take one result' "$@" --resume --png - --json
wrong 2 'sweep classify: --png x.jpg: the name must end in .png' "$@" --resume --png x.jpg
wrong 1 'grid: a sweep with other options: \{"task":"classify","options":' sweep classify --data data.csv --steps 21 --grid lr=0.1 --out grid --resume

# stopped and continued: runs under way save themselves
"$HEED" sweep classify --data data.csv --steps 100000000 --schedule constant --grid lr=0.1,0.01 --out stopped --quiet >out 2>err &
pid=$!
until [ -e stopped/run-0001/checkpoint.safetensors ]; do sleep 0.05; done
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 143 ] || fail "status $status after SIGTERM"
[ -e stopped/run-0001/checkpoint.safetensors ] && [ ! -e stopped/run-0001.json ] || fail "the run should be resumable"

# a run that fails does not stop the others
expect 1 sweep classify --data data.csv --steps 5 --grid batch=10,100000 --out some
grep -q 'run 2/2  batch=100000  train: --batch: 100000 is larger than the data' err || fail "why it failed"
says '^10 .*some/run-0001$'
says '^100000 +failed '
wrong 2 "sweep: --grid KEY=A,B is needed" sweep classify --data data.csv --out none
wrong 2 "sweep: --grid: 'lr' is not of the form KEY=A,B" sweep classify --data data.csv --grid lr --out none
wrong 2 'sweep: --grid: lr: an empty value' sweep classify --data data.csv --grid lr=1,,2 --out none
wrong 2 'sweep: --grid: lr is given twice' sweep classify --data data.csv --grid lr=1 --grid lr=2 --out none
for given in '--lr 0.001,0.01' --lr=0.001,0.01; do
    wrong 2 'sweep: --lr takes one value; --grid lr=0.001,0.01 tries several' sweep classify --data data.csv $given --out none
done
wrong 2 'sweep: --optimizer takes one value; --grid optimizer=sgd,adam tries several' \
    sweep classify --data data.csv --optimizer sgd,adam --out none
wrong 2 'sweep: expected a task' sweep dance
wrong 2 'sweep: 200 runs are many; --yes goes on without asking' \
    sweep classify --data data.csv --grid "steps=$(seq -s, 1 200)" --out none
wrong 2 'sweep: more than 100000 runs' sweep classify --data data.csv --out none \
    --grid "steps=$(seq -s, 1 200)" --grid "seed=$(seq -s, 1 200)" --grid "batch=$(seq -s, 1 200)"
[ ! -e none ] || fail "what was refused should leave nothing behind"
