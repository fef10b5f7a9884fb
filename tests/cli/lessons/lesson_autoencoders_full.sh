# The lessons on autoencoders: what small networks learn, within bounds.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson curse-of-dimensionality --json --seed "$(seed 1)"
at_least "long codes bring pictures back, plain" "$(result plain_rebuilt_64)" 0.85
at_least "and variational" "$(result variational_rebuilt_64)" 0.75
at_most "mixed long codes of the plain one" "$(result plain_mixed_64)" "$(result plain_mixed_4) - 0.05"
at_least "mixed long codes of the variational one" "$(result variational_mixed_64)" "$(result plain_mixed_64) + 0.05"
at_least "on a great circle" "$(result variational_circle_64)" "$(result variational_middle_64)"
at_least "halfway is short" "$(result length)" 0.6
at_most "halfway is short" "$(result length)" 0.8

expect 0 lesson generation --json --seed "$(seed 1)"
at_least "pictures come back, plain" "$(result plain_rebuilt)" 0.85
at_least "and variational" "$(result variational_rebuilt)" 0.85
at_least "samples of the variational one" "$(result variational_sampled)" "$(result plain_sampled) + 0.1"
at_least "all kinds of digits" "$(result variational_kinds)" 7
at_least "codes where N(0, 1) lies" "$(result variational_within)" 0.9

expect 0 lesson beta --json --seed "$(seed 1)"
at_most "the largest beta: nothing is said" "$(result kl_5)" 0.1
at_least "and the mean picture comes back" "$(result error_5)" "0.95 * $(result mean_error)"
for b in 0 1 2 3 4; do holds "the more beta, the less codes say" "$(result kl_$b) > $(result kl_$((b + 1)))"; done
at_least "the error grows" "$(result error_4)" "$(result error_2) + 3"
at_least "samples at 0.1 and at 0.0001" "$(result sampled_3)" "$(result sampled_0) + 0.1"

expect 0 lesson denoising --json --seed "$(seed 1)"
at_most "points move to the data" "$(result away_1)" "$(result away_0) / 3"
at_most "as attention over all examples does" "$(result difference)" 0.3
at_most "noise is taken away" "$(result noisy_error_noise)" "$(result noisy_error_plain) - 1"
at_most "pixels are filled in" "$(result masked_error_mask)" "$(result masked_error_plain) / 2"
at_least "digits are read again" "$(result noisy_right_noise)" "$(result noisy_right_given) + 0.3"
at_most "restored again they come to rest" "$(result moved_last)" "$(result moved_first) / 20"
