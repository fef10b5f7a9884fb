# The page of attention over a graph, in headless Chromium: what it shows, by pointer and keyboard, narrow and dark.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
browser=
for name in chromium chromium-browser google-chrome; do
    if [ -z "$browser" ] && command -v $name >/dev/null; then browser=$name; fi
done
if [ -z "$browser" ] || ! command -v python3 >/dev/null; then
    echo "skipped: the page is tested with Chromium and python3, which are not both installed"
    exit 77
fi
printf 'id\tf1\tf2\tlabel\na\t1\t0\tred\nb\t1\t.2\tred\nc\t.8\t0\tred\nd\t0\t1\tblue\ne\t.1\t1\tblue\nf\t0\t.9\tblue\n' >nodes.tsv
printf 'source\ttarget\na\tb\nb\tc\na\tc\nd\te\ne\tf\nd\tf\nc\td\n' >edges.tsv
"$HEED" new gat gat -q --seed 2 --task nodes -s in_channels=2 -s out_channels=2 -s hidden_channels=4 -s heads=2
"$HEED" attend gat --nodes nodes.tsv --edges edges.tsv --html graph.html --json -q >graph.json
"$HEED" attend gat --nodes nodes.tsv --edges edges.tsv --node a --hops 1 --layer 0 --head 1 --html around.html -q
status=0
python3 "$SOURCE/tests/cli/inspect/graph_page.py" $browser >out 2>err || status=$?
[ $status = 0 ] || fail "the page fails"
