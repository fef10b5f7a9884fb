# heed attend of models of graphs: the weight of every edge as a table, JSON, npy, picture and page; and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# Two triangles that an edge joins, and a node alone.
printf 'id\tf1\tf2\tlabel\na\t1\t0\tred\nb\t1\t.2\tred\nc\t.8\t0\tred\nd\t0\t1\tblue\ne\t.1\t1\tblue\nf\t0\t.9\tblue\nlone <&>\t.5\t.5\tblue\n' >nodes.tsv
printf 'source\ttarget\na\tb\nb\tc\na\tc\nd\te\ne\tf\nd\tf\nc\td\n' >edges.tsv
graph="--nodes nodes.tsv --edges edges.tsv"
for family in gat gatv2; do
    expect 0 new $family $family -q --seed 2 --task nodes -s in_channels=2 -s out_channels=2 -s hidden_channels=4 -s heads=2
    expect 0 attend $family $graph
    grep -qx 'nodes.tsv: 1 node without an edge to another node' err || fail "isolated nodes are said"
    says "^attention, layer 1, mean of 2 heads$"
    says "^target +source +mean +head 0 +head 1$"
    fits
    # all edges but loops, both ways: what comes to a node, with its loop, sums to 1
    expect 0 attend $family $graph --json --layer 0
    python=
    there python3 && python=python3
    [ -z "$python" ] || python3 - out <<'END' || fail "weights should sum to 1 over the edges to each node"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["layers"] == [0] and d["heads"] == [0, 1], d["layers"]
assert [n["name"] for n in d["nodes"]] == ["a", "b", "c", "d", "e", "f", "lone <&>"]
assert all(n["predicted"] in ("0", "1", "red", "blue") for n in d["nodes"])
pairs = {(e["source"], e["target"]) for e in d["edges"]}
assert len(pairs) == len(d["edges"]) == 7 * 2 + 7, len(d["edges"])
for head in range(2):
    into = {}
    for e in d["edges"]:
        into[e["target"]] = into.get(e["target"], 0) + e["weights"][0][head]
    assert all(abs(s - 1) < 1e-5 for s in into.values()) and len(into) == 7, into
END
done

# one node
expect 0 attend gat $graph --node c --head 1
says "^attention, layer 1, head 1: what c attends to$"
says "^predicted: "
says "^source +weight$"
[ "$(grep -cE '^[a-d] +[01]\.[0-9]{4}' out)" = 4 ] || fail "c attends to a, b, d and itself"
says "^c .* itself$"
expect 0 attend gat $graph --node 'lone <&>'
says "^lone <&> +1.0000 +1.0000 +1.0000 +itself"
expect 0 attend gat $graph --top 3
says "^3 of 14 edges, without loops"
expect 0 attend gat $graph --node c --json
[ "$(grep -o '"source"' out | wc -l)" = 4 ] || fail "four edges lead to c"
says '"name": ?"c"'

# numbers: (layers, heads, targets, sources)
expect 0 attend gat $graph --npy w.npy --quiet
[ ! -s out ] || fail "nothing is printed"
head -c 128 w.npy | grep -a -q "(2, 2, 7, 7)" || fail "(layers, heads, targets, sources)"
expect 0 attend gat $graph --png g.png --svg g.svg --html g.html --quiet
[ "$(head -c 4 g.png | tail -c 3)" = PNG ] || fail "a picture"
grep -q '<svg' g.svg || fail "a drawing"
grep -q '"name":"attention"' g.html || fail "a page"
grep -q 'lone \\u003c\\u0026\\u003e' g.html || fail "names are no markup"
! grep -qE 'src="|https?://[^w]' g.html || fail "a page that loads nothing"
expect 0 attend gat $graph --png again.png --quiet
cmp -s g.png again.png || fail "the same bytes"
expect 0 attend gat $graph --node a --hops 1 --svg around.svg --html around.html --quiet
[ "$(grep -o '\["[a-f]",' around.html | wc -l)" = 3 ] || fail "a, b and c are within one edge of a"
expect 0 attend gat $graph --png - --quiet
[ "$(head -c 4 out | tail -c 3)" = PNG ] || fail "standard output takes a picture"

# trained, the picture has names of classes, and rings where the label is another
if learns; then
    expect 0 train nodes --model gat $graph --out learnt --set hidden_channels=4 --set heads=2 --epochs 5 --quiet
    expect 0 attend learnt $graph --json
    says '"predicted": ?"(red|blue)", ?"label": ?"red"'
fi

# what is refused
quiet="$graph -q"
expect 0 new gcn gcn -q --task nodes -s in_channels=2 -s out_channels=2
wrong 1 "attend: a model of family gcn has no attention" attend gcn $quiet
wrong 2 "attend: expected: DIR TEXT" attend gat
wrong 2 "attend: 'word' is one word too many beside a graph" attend gat word $quiet
wrong 2 "attend: gat is a model of graphs: one is given by --nodes and --edges, or by --data" attend gat word
wrong 2 "attend: --nodes needs --edges FILE" attend gat --nodes nodes.tsv
wrong 2 "attend: --node z: the graph has no such node" attend gat $quiet --node z
wrong 2 "attend: --hops: counts from a node, which --node names" attend gat $quiet --hops 2
wrong 2 "attend: --layer 2: attention has 2 layers, counted from 0" attend gat $quiet --layer 2
wrong 2 "attend: --head 2: attention has 2 heads, counted from 0" attend gat $quiet --head 2
wrong 2 "attend: --site cross: the model has attention" attend gat $quiet --site cross
wrong 2 "attend: --patch is for models of pictures, which gat is not" attend gat $quiet --patch 0,0
wrong 2 "attend: --pair is for models of text, which gat is not" attend gat $quiet --pair x
wrong 2 "attend: --top: 0 is not between" attend gat $quiet --top 0
printf 'id\tf1\nx\t1\ny\t2\n' >other.tsv
printf 'source\ttarget\nx\ty\n' >one.tsv
wrong 1 "other.tsv: 1 columns of features, should be 2" attend gat --nodes other.tsv --edges one.tsv -q
wrong 1 "missing.tsv: " attend gat --nodes missing.tsv --edges edges.tsv -q
wrong 1 "nowhere/g.html: " attend gat $quiet --html nowhere/g.html
[ ! -e nowhere ] || fail "nothing is made"
