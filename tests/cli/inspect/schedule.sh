# heed schedule: a scheduler's steps on given outputs. The numbers are tested in tests/diffusion.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

tensors() { # FILE HEADER BYTES: a safetensors file; the header's length must be below 512
    length=${#2}
    printf "\\$(printf %03o $((length % 256)))\\$(printf %03o $((length / 256)))\\000\\000\\000\\000\\000\\000" >"$1"
    printf '%s' "$2" >>"$1"
    printf "$3" >>"$1"
}
one='\000\000\200\077' two='\000\000\000\100'
number() { printf '"%s":{"dtype":"F32","shape":[1,1],"data_offsets":[%d,%d]}' "$1" "$2" "$(($2 + 4))"; }

# flow matching in two steps of 1/2, each of which takes half of the output away: 2 - 1/2 - 2/2
mkdir -p pipeline/scheduler
echo '{"_class_name": "FlowMatchEulerDiscreteScheduler", "num_train_timesteps": 2}' >pipeline/scheduler/scheduler_config.json
tensors in "{$(number sample 0),$(number model_output.0 4),$(number model_output.1 8)}" "$two$one$two"
expect 0 schedule pipeline --steps 2 --in in --out out.st
silent
tail -c 8 out.st | od -A n -t f4 | grep -q '1.5 * 0.5' || fail "the samples should be 1.5 and 0.5"
expect 0 schedule pipeline/scheduler -n 2 --in - --out again.st <in
cmp out.st again.st || fail "the directory of the scheduler itself should do"

# what is wrong
wrong 1 "FlowMatchEulerDiscreteScheduler: 0 steps are not between 1 and 2, the timesteps of training" schedule pipeline --steps 0 --in in --out out.st
wrong 1 "FlowMatchEulerDiscreteScheduler: 3 steps are not between 1 and 2, .*" schedule pipeline --steps 3 --in in --out out.st
wrong 2 "schedule: --steps N is needed" schedule pipeline --in in --out out.st
wrong 2 "schedule: --in FILE is needed" schedule pipeline --steps 2 --out out.st
tensors short "{$(number sample 0),$(number model_output.0 4)}" "$two$one"
wrong 1 "short: there is no 'model_output.1'" schedule pipeline --steps 2 --in short --out none.st
tensors none "{$(number model_output.0 0)}" "$two"
wrong 1 "none: there is no 'sample'" schedule pipeline --steps 2 --in none --out none.st
tensors flat '{"sample":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"model_output.0":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}' "$two$one"
wrong 1 "flat: the shape of 'model_output.0' does not fit that of 'sample'" schedule pipeline --steps 1 --in flat --out none.st
mkdir ddpm
echo '{"_class_name": "DDPMScheduler"}' >ddpm/scheduler_config.json
wrong 1 "in: there is no 'noise.0'" schedule ddpm --steps 2 --in in --out none.st
echo '{"_class_name": "PNDMScheduler"}' >ddpm/scheduler_config.json
wrong 1 "ddpm: scheduler_config.json: _class_name: 'PNDMScheduler' is not one of: DDPMScheduler, .*" schedule ddpm --steps 2 --in in --out none.st
echo '{}' >ddpm/scheduler_config.json
wrong 1 "ddpm/scheduler_config.json: _class_name: .*" schedule ddpm --steps 2 --in in --out none.st
wrong 1 "pipeline/none: holds neither scheduler_config.json nor scheduler/scheduler_config.json" schedule pipeline/none --steps 2 --in in --out none.st
[ ! -e none.st ] || fail "nothing should be written"
