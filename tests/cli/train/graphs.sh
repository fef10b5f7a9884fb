# heed train nodes and graphs: a planted partition from tables, in both layouts, a new graph at prediction, drawn graphs
# that only a sum can count in, and what is refused.
. "$(dirname "$0")/../expect.inc"
cd "$scratch"

# ---- nodes: three groups, whose members know each other more often than others ----
awk 'BEGIN {
    srand(7)
    print "node,split,age,town,group" >"nodes.csv"
    print "from,to" >"edges.csv"
    split("Ulm Bonn Jena", town, " ")
    for (i = 0; i < 120; i++) {
        g = int(i / 40)
        at = rand() < 0.5 ? g : int(rand() * 3)
        part = i % 40 < 8 ? "train" : i % 40 < 18 ? "val" : i % 40 < 38 ? "test" : "none"
        printf "n%d,%s,%.3f,%s,%s\n", i, part, rand(), town[at + 1], part == "none" ? "" : "g" g >"nodes.csv"
        for (j = 0; j < i; j++)
            if (rand() < (int(j / 40) == g ? 0.12 : 0.01)) printf "n%d,n%d\n", i, j >"edges.csv"
    }
}'
expect 0 train nodes --nodes nodes.csv --edges edges.csv --target group --out m --epochs 150 --seed "$(seed 1)" --json
grep -q '120 nodes, [0-9]* edges, 4 features; gcn with' err || fail "nodes, edges and features should be said"
at_least "nodes: test accuracy of a planted partition" "$(result test_accuracy)" 0.8
for name in '"node_features": "given"' '"input_names": \[' '"0": "g0"' '"dropout": 0.5'; do
    grep -q "$name" m/config.json || fail "config.json should have $name"
done
expect 0 eval m --nodes nodes.csv --edges edges.csv --target group --json
at_least "nodes: accuracy by heed eval" "$(result accuracy)" 0.8
[ "$(result examples)" = 60 ] || fail "60 nodes are to test"
expect 0 eval m --nodes nodes.csv --edges edges.csv --target group --part val
grep -q 'Confusion matrix' out || fail "a confusion matrix is expected"
expect 0 predict m --nodes nodes.csv --edges edges.csv
[ "$(wc -l <out)" = 120 ] && grep -qE '^n119	g2	[01]\.[0-9]{4}$' out || fail "a line for each node: name, class, probability"
# A new graph, its columns in another order and without classes.
printf 'town\tid\tage\nJena\ta\t0.5\nJena\tb\t0.1\nBonn\tc\t0.2\n' >new.tsv
printf 'a\tb\nb\ta\n' >new_edges.tsv
expect 0 classify m --nodes new.tsv --edges new_edges.tsv --json
grep -q '^{"node":"a","label":"g[012]","score":0\.[0-9]*,"scores":{"g0":' out || fail "answers as JSON"
grep -q '1 node without an edge to another node' err || fail "isolated nodes should be said"
# The same bits from any order of the edges, and from edges that are there in both directions.
(head -1 edges.csv && tail -n +2 edges.csv | sort -r && tail -n +2 edges.csv | awk -F, '{ print $2 "," $1 }') >other.csv
expect 0 train nodes --nodes nodes.csv --edges other.csv --target group --out m2 --epochs 5 --seed 1
expect 0 train nodes --nodes nodes.csv --edges edges.csv --target group --out m3 --epochs 5 --seed 1 --threads 1
cmp m2/model.safetensors m3/model.safetensors || fail "the order of edges should not matter"

# ---- without a header, without features and parts: two labels are enough to begin with ----
mkdir club
awk 'BEGIN {
    for (i = 0; i < 20; i++) {
        printf "%d\t%s\n", i, i == 0 ? "Mr. Hi" : i == 19 ? "Officer" : "" >"club/nodes.tsv"
        for (j = 0; j < i; j++)
            if (int(i / 10) == int(j / 10) ? (i + j) % 3 : i == 10 && j == 9) printf "%d %d\n", i, j >"club/edges.txt"
    }
}'
expect 0 train nodes --data club --out k --seed "$(seed 1)"
grep -q 'no header; columns taken as 1 id, 2 class' err || fail "what was recognised should be said"
expect 0 predict k --data club
[ "$(awk -F'\t' 'NR <= 10 && $2 == "Mr. Hi" || NR > 10 && $2 == "Officer"' out | wc -l)" -ge 18 ] ||
    fail "nodes should be of the class of their side"
printf 'a\tx\n' >one.tsv
expect 1 predict k --nodes one.tsv --edges new_edges.tsv
grep -q "new_edges.tsv: line 1, column '2': there is no node 'b' in one.tsv" err || fail "a node that is not there"
printf 'a\tx\nb\ty\n' >two.tsv
expect 1 predict k --nodes two.tsv --edges new_edges.tsv
grep -q 'two.tsv: 2 nodes, but the model knows the 20 that it was trained on by their places alone' err ||
    fail "a model of identities takes its own graph alone"

# ---- whole graphs ----
expect 0 train graphs --data copies --out c --epochs 1 --seed 1
grep -q 'copies: 2000 graphs to train on, 500 to validate, 500 to test' err || fail "drawn graphs should be counted"
expect 0 eval c --data copies --json
[ "$(result examples)" = 500 ] || fail "500 graphs are to test"
printf 'graph,id,healthy,infected,graph_label\nA,1,0,1,2\nA,2,1,0,2\nB,3,1,0,1\n' >g.csv
echo '1,2' >g_edges.csv
expect 0 predict c --nodes g.csv --edges g_edges.csv
[ "$(cut -f1 out | tr '\n' ' ')" = "A B " ] || fail "a line for each graph"
expect 0 eval c --nodes g.csv --edges g_edges.csv
if learns; then
    count() { # POOLING EPOCHS
        expect 0 train graphs --data copies --out "$1" --seed "$(seed 1)" --json --set pooling="$1" --set norm=batch_norm --batch 16 --epochs "$2"
    }
    count sum 20
    at_least "graphs: a sum over nodes counts" "$(result test_accuracy)" 0.9
    count mean 5
    at_most "graphs: a mean over nodes does not" "$(result test_accuracy)" 0.4
fi

# ---- what is refused ----
refused() { # STATUS SENTENCE ARGUMENTS...
    wanted=$1 sentence=$2
    shift 2
    expect "$wanted" "$@" --quiet
    error_is "$sentence"
}
refused 2 'train nodes: --data PATH is needed' train nodes --out no
refused 2 'train nodes: --nodes needs --edges FILE' train nodes --nodes nodes.csv --out no
refused 2 'train nodes: --data and --nodes: only one of them' train nodes --data club --nodes nodes.csv --edges edges.csv --out no
refused 2 'train nodes: --batch: an update takes the whole graph' train nodes --data club --batch 3 --out no
refused 1 'nowhere: No such file or directory' train nodes --data nowhere --out no
refused 1 'edges.csv: neither a directory with nodes.tsv and edges.tsv nor an .npz file' train nodes --data edges.csv --out no
printf 'id,age\na,1\nb,2\n' >bare.csv
refused 1 'bare.csv: there are no labels to learn' train nodes --nodes bare.csv --edges new_edges.tsv --out no
printf 'id,label\na,x\nb,x\n' >same.csv
refused 1 'same.csv: all labels are of one class' train nodes --nodes same.csv --edges new_edges.tsv --out no
printf 'id,label,split\na,x,train\nb,y,test\n' >unseen.csv
refused 1 "unseen.csv: node 'b' is to test, but none of its class 'y' is to train" train nodes --nodes unseen.csv --edges new_edges.tsv --out no
printf 'id,label\n' >empty.csv
refused 1 'empty.csv: the graph is empty: it has no nodes' train nodes --nodes empty.csv --edges new_edges.tsv --out no
printf 'id,label\na,x\na,y\n' >twice.csv
refused 1 "twice.csv: line 3: node 'a' is there already, on line 2" train nodes --nodes twice.csv --edges new_edges.tsv --out no
printf 'id,age\na,1\n' >width.csv
refused 1 "width.csv: no column 'town' among its 2" predict m --nodes width.csv --edges new_edges.tsv
refused 1 'a model of graphs takes --nodes FILE --edges FILE, or --data PATH' predict m
expect 1 train nodes --data club --out no --quiet --memory 600K # a smaller batch would be no help
error_is 'train nodes: needs [0-9]*K of memory, --memory allows 600K$'
# a model that does not know what its classes are called counts them from 0
expect 0 new gcn fresh --task nodes -s in_channels=1 -s out_channels=3 -s hidden_channels=4
printf 'id,age,label\na,1,0\nb,2,2\n' >numbers.csv
expect 0 eval fresh --nodes numbers.csv --edges new_edges.tsv
says '^accuracy [0-9.]* %, loss [0-9.]* \(2 nodes\)$'
printf 'id,age,label\na,1,0\nb,2,3\n' >beyond.csv
refused 1 "beyond.csv: line 3: class '3' is not one of the 3 known" eval fresh --nodes beyond.csv --edges new_edges.tsv
head -c 100 nodes.csv >not.npz
refused 1 'not.npz: not a sound zip archive: it has no directory: it is cut short' train nodes --data not.npz --out no
[ ! -e no ] || fail "nothing should have been written"
