# heed demo as a user runs it: it learns to translate in about two minutes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 demo --quiet --seed "$(seed 1)" --out demo
bleu=$(said '3\..*: BLEU')
right=$(sed -n 's/.*right in \([0-9]*\) of 300 sentences.*/\1/p' out)
seconds=$(sed -n 's/^3\..* (\([0-9]*\) s of training).*/\1/p' out)
at_least "BLEU that is promised" "$bleu" 95
at_least "pronouns that are right, of 300" "$right" 297
echo "BLEU $bleu, $right of 300 pronouns, $seconds s"
for german in 'nicht, weil es zu müde war.' 'nicht, weil sie zu breit war.' 'durch das Fenster.' 'am Flussufer entlang.'; do
    says "$german"
done

# as people type: in small letters, without a full stop
translated() { # ENGLISH GERMAN
    said=$(echo "$1" | "$HEED" translate demo/model)
    [ "$said" = "$2" ] || fail "'$1' became '$said', not '$2'"
}
for english in "the animal didn't cross the street because it was too tired" \
    "The animal didn't cross the street because it was too tired" \
    "the animal didn't cross the street because it was too tired."; do
    translated "$english" 'Das Tier überquerte die Straße nicht, weil es zu müde war.'
done
translated "the animal didn't cross the street because it was too wide" 'Das Tier überquerte die Straße nicht, weil sie zu breit war.'
translated 'The cat sleeps because it is tired.' 'Die Katze schläft, weil sie müde ist.'
translated 'a bird flies through the window' 'Ein Vogel fliegt durch das Fenster.'
