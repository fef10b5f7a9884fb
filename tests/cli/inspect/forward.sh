# heed forward: files of tensors through models, with numbers that can be worked out by hand.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# bytes of f32: 0 1 2 3 4 8 -1 and of i64: 0 1 5
f0='\000\000\000\000' f1='\000\000\200\077' f2='\000\000\000\100' f3='\000\000\100\100' f4='\000\000\200\100'
f8='\000\000\000\101' minus1='\000\000\200\277' zero8='\000\000\000\000\000\000\000\000'
l0=$zero8 l1='\001\000\000\000\000\000\000\000' l5='\005\000\000\000\000\000\000\000'
tensors() { # FILE HEADER BYTES: a safetensors file; the header's length must be below 256
    printf "\\$(printf %03o ${#2})\\000\\000\\000\\000\\000\\000\\000" >"$1"
    printf '%s' "$2" >>"$1"
    printf "$3" >>"$1"
}
numbers() { # NAME: the numbers of an f32 output, on one line
    header=$(($(od -A n -t u8 -N 8 out.st) + 8))
    place=$(head -c "$header" out.st | tail -c +9 | sed -n "s/.*\"$1\":{[^}]*\"data_offsets\":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/p")
    [ -n "$place" ] || fail "no $1 in the output: $(head -c "$header" out.st | tail -c +9)"
    set -- $place
    od -A n -t f4 -v -j $((header + $1)) -N $(($2 - $1)) out.st | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'
}
is() { # NAME NUMBERS
    [ "$(numbers "$1")" = "$2" ] || fail "$1 is $(numbers "$1"), not $2"
}
has_no() { # NAME
    if head -c 2000 out.st | grep -aq "\"$1"; then fail "there should be no $1"; fi
}

# y = 2 a + 3 b + 1: x = (1, 2) gives 9; against 8 the loss is 1 and its gradient 2 (9 - 8) x
"$HEED" new linear line -q -s input_size=2 -s output_size=1
tensors line/model.safetensors '{"linear.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"linear.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}' "$f2$f3$f1"
tensors xy '{"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}' "$f1$f2$f8"
expect 0 forward line --in xy --out out.st --grad
silent
[ ! -s out ] || fail "nothing on standard output"
is logits 9
is loss 1
is grad.linear.weight "2 4"
is grad.linear.bias 2
expect 0 forward line --in xy --out out.st
is loss 1
has_no grad
tensors x '{"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}' "$f1$f2$f0$f1"
expect 0 forward line --in x --out out.st
is logits "9 4"
has_no loss
wrong 1 "forward: --grad needs labels or y, or grad_output, among the inputs" forward line --in x --out out.st --grad
tensors xg '{"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"grad_output":{"dtype":"F32","shape":[2,1],"data_offsets":[16,24]}}' "$f1$f2$f0$f1$f2$minus1"
expect 0 forward line --in xg --out out.st --grad
is grad.linear.weight "2 3"
is grad.linear.bias 1
tensors bad '{"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"grad_output":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}}' "$f1$f2$f0$f1$f2$minus1"
wrong 1 "grad_output: f32 numbers of shape \(2,1\) are needed, not f32 \(2\)" forward line --in bad --out out.st --grad

# standard input and output; --profile on standard error; the same bytes for any number of threads
"$HEED" forward line --in - --out - --grad <xy >out.st || fail "- should be standard input and output"
is grad.linear.weight "2 4"
cp out.st one
expect 0 forward line --in xy --out out.st --grad --threads 2 --profile
cmp out.st one || fail "two threads give other bytes"
grep -qE '^linear +1 +[0-9.]+ +1 +' err || fail "linear should be in the profile"
grep -qE '^all else ' err || fail "the rest should be in the profile"

# three classes of which all are equally likely: log 3; a label out of range is named
"$HEED" new linear classes -q -s input_size=1 -s output_size=3 -s task=classify
tensors classes/model.safetensors '{"linear.weight":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]},"linear.bias":{"dtype":"F32","shape":[3],"data_offsets":[12,24]}}' "$f0$f0$f0$f1$f1$f1"
tensors xl '{"x":{"dtype":"F32","shape":[2,1],"data_offsets":[16,24]},"labels":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}' "$l0$l1$f4$f8"
expect 0 forward classes --in xl --out out.st
is loss 1.0986123
is logits "1 1 1 1 1 1"
tensors xl '{"x":{"dtype":"F32","shape":[2,1],"data_offsets":[16,24]},"labels":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}' "$l0$l5$f4$f8"
rm out.st
wrong 1 "cross_entropy: .*5" forward classes --in xl --out out.st
[ ! -e out.st ] || fail "a failed call should leave no output"

# kernel pooling: keys 0 and 4 with values 2 and 8; a boxcar reaches one, the other, and from 2 neither: the mean
"$HEED" new kernel-pooling pool -q -s points=2 -s kernel=boxcar
tensors pool/model.safetensors '{"keys":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"values":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]}}' "$f0$f4$f2$f8"
tensors q '{"x":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]}}' "$f1$f3$f2"
expect 0 forward pool --in q --out out.st --attentions
is logits "2 8 5"
is attentions.0 "1 0 0 1 0.5 0.5"
head -c 600 out.st | grep -aq '"attentions.0":{"dtype":"F32","shape":\[1,1,3,2\]' || fail "attentions are (B, H, Tq, Tk)"
expect 0 forward pool --in q --out out.st
has_no attentions

# encoder-decoders: tokens in; gradients of every name, and who looked at whom
for family in transformer bart mbart pegasus; do
    expect 0 new $family $family -q -s vocab_size=9 -s d_model=6 -s encoder_layers=1 -s decoder_layers=1 -s encoder_attention_heads=1 \
        -s decoder_attention_heads=3 -s encoder_ffn_dim=5 -s decoder_ffn_dim=4 -s max_position_embeddings=8
    expect 0 info $family
    tensors ids '{"input_ids":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]},"labels":{"dtype":"I64","shape":[1,2],"data_offsets":[16,32]}}' "$l1$l5$l5$l0"
    expect 0 forward $family --in ids --out out.st --grad --attentions
    [ "$(numbers logits | wc -w)" = 18 ] || fail "$family: two rows of nine logits"
    [ "$(numbers cross_attentions.0 | wc -w)" = 12 ] || fail "$family: three heads, two queries, two keys"
    [ "$(numbers grad.model.decoder.layers.0.encoder_attn.k_proj.weight | wc -w)" = 36 ] || fail "$family: gradients by name"
    case $family in
    *bart) [ "$(numbers grad.model.encoder.embed_positions.weight | tr ' ' '\n' | grep -vc '^0$')" = 12 ] || fail "two places learn" ;;
    *) has_no grad.model.encoder.embed_positions ;;
    esac
done

# mistakes
wrong 2 "forward: --in FILE is needed" forward line
wrong 2 "forward: --out FILE is needed" forward line --in x
wrong 2 "forward: expected: DIR" forward --in x --out out.st
wrong 1 "nosuch: No such file or directory" forward line --in nosuch --out out.st
wrong 1 "nosuch/config.json: No such file" forward nosuch --in x --out out.st
wrong 1 'line/config.json: weight_map: missing$' forward line --in line/config.json --out out.st
wrong 1 "xl: 'labels' is not an input of kernel-pooling, which takes: x y attention_mask grad_output" forward pool --in xl --out out.st
wrong 1 "x: shape \(2,2\) does not give examples of 1 numbers" forward classes --in x --out out.st
wrong 1 "nosuch/out.st: No such file" forward line --in x --out nosuch/out.st
wrong 1 'forward: needs [0-9]+ bytes of memory, --memory allows 1000 bytes$' forward line --in x --out out.st --memory 1000
needed=$(sed 's/.*needs \([0-9]*\) bytes.*/\1/' err)
wrong 1 "forward: needs $needed bytes of memory" forward line --in x --out out.st --memory $((needed - 1))
expect 0 forward line --in x --out out.st --memory "$needed"
wrong 1 'forward: needs at least [0-9]+M of memory, --memory allows 1M$' forward line --in - --out out.st --memory 1M
cp -r line wide && sed -i 's/"input_size": [0-9]*/"input_size": 4294967296/' wide/config.json
wrong 1 'forward: needs at least 17G of memory, --memory allows 1G$' forward wide --in x --out out.st --grad --memory 1G
head -c 100 xy >short
wrong 1 'short: a header of 110 bytes does not fit a file of 100$' forward line --in short --out out.st

# Ctrl-C: no output, status 130
rm -f out.st
sleep 5 2>/dev/null | "$HEED" forward line --in - --out out.st 2>err &
waiting=$!
sleep 0.3
kill -INT $waiting
status=0
wait $waiting || status=$?
[ "$status" = 130 ] || fail "Ctrl-C should give status 130, not $status"
[ ! -e out.st ] || fail "Ctrl-C should leave no output"
