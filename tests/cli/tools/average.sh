# heed average: the mean of weights by name, of directories in any layout that is read.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# the file holds matrices that are no parameters, and names without the base
expect 0 average "$SOURCE/tests/golden/model/fnet-matrices" "$SOURCE/tests/golden/model/fnet-matrices" --out mean
expect 0 average mean mean mean --out again
cmp mean/model.safetensors again/model.safetensors || fail "the mean of equal models should be the same"
grep -q '"use_tpu_fourier_optimizations": false' mean/config.json || fail "the matrices should not be asked for"

# what does not fit is refused
wrong 1 '.*fnet-mlm: the model does not have: .*cls' average mean "$SOURCE/tests/golden/model/fnet-mlm" --out other
[ ! -e other ] || fail "nothing should be written"
