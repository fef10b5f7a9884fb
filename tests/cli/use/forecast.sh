# heed train forecast, eval and forecast: series with gaps, many series, covariates, quantiles, pictures.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# hours with a daily wave, lower at weekends; a holiday, known ahead, takes 10 off; temp is noise
awk 'function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
function date(hours,  d, m, n) {
    split("31 29 31 30 31 30", n, " ")
    d = int(hours / 24) + 1
    for (m = 1; d > n[m]; m++) d -= n[m]
    return sprintf("2024-%02d-%02d %02d:00:00", m, d, hours % 24)
}
BEGIN {
    s = 7
    print "date,temp,holiday,load"
    for (i = 0; i < 1200; i++) {
        holiday = int(i / 24) % 9 == 4
        weekend = int(i / 24) % 7 > 4
        printf "%s,%.2f,%d,%.3f\n", date(i), 10 * u(), holiday, 50 + 12 * sin(6.2831853 * i / 24) - 6 * weekend - 10 * holiday + 2 * u()
    }
}' >load.csv
small="--data load.csv --context 48 --horizon 12 --set hidden_size=8 --batch 32"
steps="--steps 3"
if learns; then steps="--epochs 6 --lr 0.01"; fi

# ---- every kind learns, better than repeating yesterday; one thread gives the same bits ----

for kind in linear mlp gru lstm; do
    # shellcheck disable=SC2086 # options are words
    expect 0 train forecast $small $steps --model $kind --calendar hour,weekday --known holiday --seed "$(seed 1)" --out $kind --quiet
done
# shellcheck disable=SC2086
expect 0 train forecast $small $steps --model lstm --calendar hour,weekday --known holiday --seed "$(seed 1)" --threads 1 --out again
cmp -s lstm/model.safetensors again/model.safetensors || fail "one thread should give the same bits"
says '^test: MSE [0-9.]+, MAE [0-9.]+, loss'
says "^test, repeating the last 24 steps: MSE [0-9.]+, MAE [0-9.]+: the model's MAE is [0-9.]+ % (below|above)\$"
grep -q '^load.csv: 1200 rows of 1 series, 1 hour apart; 781 windows to train on, 109 to validate, 229 to test; lstm with' err ||
    fail "what there is should be said"
for kind in linear mlp gru lstm; do
    expect 0 eval $kind --data load.csv
    says '^test, 229 windows: MAE [0-9.]+, MSE [0-9.]+ in standard deviations'
    if learns; then
        says '^MAE [0-9.]+ % below that of repeating the last 24 steps$'
        at_least "$kind, MAE below that of repeating, in %" "$(said MAE)" 20
    fi
done
expect 0 eval lstm --data load.csv --part val --json --png errors.png
says '"part": "validation"'
says '"season": 24'
[ "$(head -c 4 errors.png | tail -c 3)" = PNG ] || fail "errors.png should be a PNG"
expect 0 info lstm
says forecaster

# ---- resuming ends with the same bits; a budget holds; the log ----

long="--model gru --quiet --schedule constant --log run.jsonl"
# shellcheck disable=SC2086
expect 0 train forecast $small $long --steps 20 --evaluate-every 5 --out whole
# shellcheck disable=SC2086
expect 0 train forecast $small $long --steps 10 --evaluate-every 5 --out parts
# shellcheck disable=SC2086
expect 0 train forecast $small $long --steps 20 --evaluate-every 5 --out parts --resume
cmp -s whole/model.safetensors parts/model.safetensors || fail "a resumed run should end with the same bits"
grep -q '"valid_mse"' run.jsonl || fail "the log should have the metric"
sed '100s/,[^,]*$/,99/' load.csv >other.csv
# shellcheck disable=SC2086
wrong 1 'parts/checkpoint.safetensors: a checkpoint of another configuration: model history was ' train forecast $small $long --steps 30 --data other.csv --out parts --resume
# shellcheck disable=SC2086
wrong 1 'train forecast: needs [0-9]+K of memory, --memory allows 300K; ' train forecast $small $long --steps 1 --memory 300K --out few

# ---- forecasts ----

feed '' forecast lstm
[ $status = 1 ] || fail "nothing is no past"
head -n 1100 load.csv >past.csv
wrong 1 'past.csv: forecast: the series has 0 rows behind its last value; 12 are needed' forecast lstm --data past.csv
awk -F, 'NR > 1100 && NR <= 1112 { $4 = ""; OFS = ","; $1 = $1 } 1' load.csv | head -n 1112 | tee future.csv | "$HEED" forecast lstm >out 2>err ||
    fail "rows without a target are the future"
[ "$(wc -l <out)" = 13 ] && [ "$(head -n 1 out)" = "time,series,mean" ] || fail "a header and 12 rows"
[ "$(sed -n 2p out | cut -d , -f 1,2)" = "$(sed -n 1101p load.csv | cut -d , -f 1),load" ] || fail "the forecast should begin behind the past"
expect 0 forecast lstm --data future.csv --json --png next.png --svg next.svg --pdf next.pdf --past 60
says '"target": "load"'
says '"mean": \['
for file in next.png next.svg next.pdf; do [ -s $file ] || fail "$file should have been written"; done

# shellcheck disable=SC2086
expect 0 train forecast $small $steps --model linear --quantiles 0.1,0.5,0.9 --covariates temp --seed "$(seed 1)" --out bands
says '^test: pinball loss [0-9.]+, MAE [0-9.]+, coverage [0-9.]+ %'
expect 0 eval bands --data load.csv
says '^pinball loss [0-9.]+; [0-9.]+ % of the values lie within the outer quantiles \(nominally 80.0 %\)'
if learns; then
    covered=$(sed -n 's/^pinball loss [0-9.]*; \([0-9.]*\) %.*/\1/p' out)
    at_least "coverage of 80 %" "$covered" 65
    at_most "coverage of 80 % too" "$covered" 92
fi
expect 0 forecast bands --data past.csv --png bands.png
says '^time,series,0.1,0.5,0.9$'
awk -F, 'NR > 1 && !($3 <= $4 && $4 <= $5) { bad = 1 } END { exit bad }' out || fail "quantiles should rise"

# ---- many series in a long table, in any order, and months ----

awk 'BEGIN {
    print "store;month;sold"
    for (i = 0; i < 72; i++)
        for (s = 3; s > 0; s--)
            printf "%s;%d-%02d;%s\n", "no " s, 2015 + int(i / 12), i % 12 + 1, s * 100 + i + (i % 12 > 9) * 40 * s ",5"
}' >sales.csv
expect 0 train forecast --data sales.csv --series store --calendar auto --context 12 --horizon 3 --batch 8 --steps 10 --model mlp --out sales
grep -q '^sales.csv: 216 rows of 3 series, 1 month apart;' err || fail "months should be seen"
expect 0 forecast sales --data sales.csv --png sales.png
[ "$(cut -d , -f 2 out | sort -u | tr '\n' ' ')" = "no 1 no 2 no 3 series " ] || fail "each series should be forecast"
grep -q '^2021-03,no 3,' out || fail "months should be continued"
sed 's/no 3/"new, ""and"" strange"/' sales.csv | "$HEED" forecast sales >out || fail "another series should be forecast too"
grep -q '^2021-01,"new, ""and"" strange",' out || fail "names are quoted"

# ---- two targets ----

expect 0 train forecast --data load.csv --target load,temp --context 24 --horizon 6 --steps 3 --model gru --split 800,200,200 --out two
expect 0 eval two --data load.csv
says '^temp '
expect 0 forecast two --data load.csv
[ "$(wc -l <out)" = 13 ] || fail "6 rows for each target"
expect 0 train forecast --data load.csv --target load,temp --context 24 --horizon 6 --steps 1 --init two --out three

# ---- what is wrong ----

try="train forecast --context 8 --horizon 4 --steps 1 --model linear --out bad --force --quiet"
sed 31d load.csv >gap.csv
# shellcheck disable=SC2086
{
    wrong 1 "gap.csv: line 31, column 'date': a gap: 1 row is missing between 2024-01-02 04:00:00 and 2024-01-02 06:00:00; --fill" $try --data gap.csv
    expect 0 $try --data gap.csv --fill linear
    wrong 1 "gap.csv: line 31, column 'date': a gap" forecast bad --data gap.csv
    expect 0 forecast bad --data gap.csv --fill forward
    sed 31p load.csv >twice.csv
    wrong 1 "twice.csv: line 32, column 'date': 2024-01-02 05:00:00 stands on line 31 already" $try --data twice.csv
    sed '31s/05:00:00/05:20:00/' load.csv >late.csv
    wrong 1 "late.csv: line 31, column 'date': 2024-01-02 05:20:00 is 80 minutes after the row before, out of step: rows are 1 hour apart" $try --data late.csv
    sed '31s/,[^,]*$/,/' load.csv >hole.csv
    wrong 1 "hole.csv: line 31, column 'load': a missing value \(''\) at 2024-01-02 05:00:00" $try --data hole.csv
    sed '31s/^[^,]*/soon/' load.csv >soon.csv
    wrong 1 "soon.csv: line 31, column 'date': 'soon' is neither a date" $try --data soon.csv
    awk 'NR % 2' load.csv >half.csv
    expect 0 $try --data load.csv
    wrong 1 'half.csv: rows are 2 hours apart, those of the training data were 1 hour apart' forecast bad --data half.csv
    head -n 6 load.csv >short.csv
    wrong 1 'short.csv: forecast: the series has 5 steps with values; the model reads 8' forecast bad --data short.csv
    wrong 1 'load.csv: forecast: the training part holds no window: 8000 steps are read' $try --data load.csv --context 8000
    wrong 1 "load.csv: no column 'nosuch'" $try --data load.csv --target nosuch
    wrong 1 'train: --batch: 5000 is larger' $try --data load.csv --batch 5000
    wrong 2 "train: --model: 'bert' cannot be trained to forecast" $try --data load.csv --model bert
    wrong 2 "train: --split: '1,2' is not three numbers" $try --data load.csv --split 1,2
    wrong 2 'train: --quantiles and --loss' $try --data load.csv --quantiles 0.5 --loss mae
    wrong 1 '.*quantiles must rise' $try --data load.csv --quantiles 0.9,0.5
}
wrong 2 'forecast: --png' forecast bad --data load.csv --png picture.jpg
expect 0 new mlp net -s input_size=2 -s output_size=1
wrong 1 'forecast: mlp is no forecaster' forecast net --data load.csv
sed 's/"mean": \[/"mean": [1, /' bands/config.json >changed && cp changed bands/config.json
wrong 1 '.*mean: 2 numbers, not 1' forecast bands --data past.csv
expect 0 train forecast --help
says '\-\-quantiles'
