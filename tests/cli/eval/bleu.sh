# heed bleu: sacreBLEU's figures and words. The lines below are those of sacreBLEU 2.6.0, but for the version.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
printf 'The cat sat on the mat .\nIt cost $3.50, i.e. 2,000 pence.\n\nein Haus\n' >hyp
printf 'The cat is on the mat.\nIt was $3.50, i.e. 2,000 pence!\n\nEin Haus\n' >one
printf 'A cat sat on the mat.\nIt cost 3.50\nmore\nein Haus dort\n' >two

prints() { # LINE...: exactly these, with heed's version at the end of the signature
    for line in "$@"; do echo "$line"; done | sed "s/ = /|version:heed-$VERSION&/" >wanted
    cmp -s wanted out || fail "the output should be: $(cat wanted)"
}

expect 0 bleu hyp one
silent
prints 'BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp = 64.62 81.0/66.7/60.0/53.8 (BP = 1.000 ratio = 1.000 hyp_len = 21 ref_len = 21)'
expect 0 bleu hyp one two --tokenize intl --lowercase --chrf
silent
prints 'BLEU|nrefs:2|case:lc|eff:no|tok:intl|smooth:exp = 80.97 95.2/88.9/73.3/69.2 (BP = 1.000 ratio = 1.000 hyp_len = 21 ref_len = 21)' \
    'chrF2|nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no = 80.63' \
    'chrF2++|nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no = 78.54'
expect 0 bleu hyp one --tokenize none --width 1
prints 'BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp = 20.0 60.0/33.3/11.1/7.1 (BP = 1.000 ratio = 1.071 hyp_len = 15 ref_len = 14)'

# standard input, gzip, no new line at the end, files of which nothing can be said
"$HEED" bleu hyp one >plain
"$HEED" bleu - one <hyp >out && cmp plain out || fail "standard input"
gzip -c one >one.gz
"$HEED" bleu hyp one.gz >out && cmp plain out || fail "gzip"
printf '%s' "$(cat one)" >open
"$HEED" bleu hyp open >out && cmp plain out || fail "a last line without its end"
printf '\n\n' >blank
expect 0 bleu blank blank --chrf
says '^BLEU.* = 0.00 0.0/0.0/0.0/0.0 \(BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0\)$'
says '^chrF2\|.* = 0.00$'

# JSON: an object; with more than one metric a list of them, the name first
expect 0 bleu hyp one --json
silent
[ "$(head -n 2 out | tr -d ' \n')" = '{"name":"BLEU",' ] || fail "name comes first"
says '^  "score": 64\.6[0-9]*,$'
says '^  "tok": "13a",$'
says '^  "hypothesis_length": 21,$'
expect 0 bleu hyp one two --json --chrf
[ "$(head -c 1 out)" = "[" ] && [ "$(grep -c '"name": ' out)" = 3 ] || fail "a list of three"
says '"name": "chrF2\+\+",$'
says '"score": 78\.538388033'

wrong 2 "bleu: expected: HYP REF" bleu hyp
wrong 2 "bleu: --tokenize: 'zh' is not one of: 13a intl none$" bleu hyp one --tokenize zh
wrong 2 "bleu: --width: 16 is not between 0 and 15" bleu hyp one --width 16
wrong 1 "nosuch: No such file or directory" bleu hyp nosuch
wrong 1 "blank: 2 lines, hyp has 4" bleu hyp one blank
: >empty
wrong 1 "empty: there are no lines" bleu empty one
printf 'a\nb\nc\303\050\nd\n' >bad
wrong 1 "bad: line 3: byte 2 is not UTF-8" bleu hyp bad
wrong 1 "bleu: standard input can be read only once" bleu - - </dev/null

# the published tokens of Multi30k against its text
if given multi30k; then
    multi30k=$HEED_DATA/multi30k
    expect 0 bleu "$multi30k/val.lc.norm.tok.de.gz" "$multi30k/val.de.gz" --chrf
    says ' = 25.66 64.8/38.6/19.7/8.8 \(BP = 1.000 ratio = 1.001 hyp_len = 12842 ref_len = 12825\)$'
    says '^chrF2\|.* = 78.35$'
fi
