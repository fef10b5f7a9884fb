"""The page of attention over a graph in a browser: graph_page.py CHROMIUM

graph.html is the page of a graph and graph.json what `heed attend --json` says of it; around.html is of what lies within
one edge of node a, opened at layer 0 and head 1."""
import json, os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

b = Browser(sys.argv[1])
doc = json.load(open("graph.json"))
names = [n["name"] for n in doc["nodes"]]
layers, heads = len(doc["layers"]), len(doc["heads"])


def check(ok, what):
    if not ok:
        raise SystemExit("graph page: " + what + "\n" + "\n".join(b.complaints))


def state(**values):
    for name, value in values.items():
        found = b.run("document.body.dataset." + name)
        check(found == value, "%s is %r, should be %r" % (name, found, value))


def shows(layer, head, what):
    """The page's weights are those of the command, edge by edge; head None: the mean."""
    found = b.run("weights.map((w, e) => [nodes[from[e]].name, nodes[to[e]].name, w])")
    wanted = {(e["source"], e["target"]): e["weights"][layer] for e in doc["edges"]}
    check(len(found) == len(wanted), what + ": another number of edges")
    for source, target, w in found:
        of = wanted[source, target]
        check(abs(w - (sum(of) / heads if head is None else of[head])) < 1e-4, "%s: %s -> %s" % (what, source, target))


def rows(table):
    return b.run("[...document.querySelectorAll('#%s tr')].map(r => [r.cells[0].textContent, Number(r.cells[2].textContent)])" % table)


try:
    b.open("graph.html")
    state(site=doc["site"], layer=str(layers - 1), head="mean", node="")
    shows(layers - 1, None, "what the command shows")
    check(b.run("document.querySelectorAll('.node').length") == len(names), "a circle for each node")
    check("\u2192" in rows("most")[0][0], "the largest weights name both nodes")

    # a node under the pointer shows what it attends to, and a click keeps it
    c = names.index("c")
    x, y = b.run("(r => [r.x + r.width / 2, r.y + r.height / 2])(nodes[%d].group.querySelector('circle:nth-of-type(2)').getBoundingClientRect())" % c)
    b.mouse(x, y)
    b.frames()
    into = {e["source"]: sum(e["weights"][-1]) / heads for e in doc["edges"] if e["target"] == "c"}
    found = rows("most")
    check(len(found) == len(into) and abs(sum(w for _, w in found) - 1) < 0.001, "what c attends to: %s" % found)
    for name, w in found:
        check(abs(into[name.removesuffix(" (itself)")] - w) < 0.00011, "the weight of " + name)
    check("c" in b.run("document.getElementById('status').textContent"), "the status names the node")
    state(node="")
    b.run("nodes[%d].group.dispatchEvent(new MouseEvent('click', {bubbles: true}))" % c)
    state(node="c")
    check(len(rows("every")) == layers * heads, "every layer and head")
    b.key("Escape")
    state(node="")

    # layers and heads: keys and buttons; a name in the field; the slider
    b.key("ArrowUp")
    state(layer=str((layers - 2) % layers))
    b.key("ArrowRight")
    state(head="0")
    shows((layers - 2) % layers, 0, "one head")
    b.click("#heads button:nth-child(1)")
    state(head="mean")
    b.run("(f => { f.value = 'd'; f.dispatchEvent(new Event('input')); })(document.getElementById('find'))")
    state(node="d")
    all_edges = b.run("choose({node: -1}), Number(document.body.dataset.edges)")
    few = b.run("(f => { f.value = 60; f.dispatchEvent(new Event('input')); })(document.getElementById('least')), Number(document.body.dataset.edges)")
    check(all_edges == len(doc["edges"]) and few < all_edges, "%s edges, %s above" % (all_edges, few))
    b.run("choose({least: 0})")

    # the address says what is open, and nonsense in it is passed over
    b.open("graph.html", "#site=0&layer=0&head=1&node=%d" % c)
    state(layer="0", head="1", node="c")
    b.open("graph.html", "#site=7&layer=99&head=-5&node=1e9")
    state(layer=str(layers - 1), head="mean", node="")

    # a part of the graph, opened as asked
    b.open("around.html")
    state(layer="0", head="1", node="a")
    check(sorted(b.run("nodes.map(n => n.name)")) == ["a", "b", "c"], "what lies within one edge of a")

    # narrow and dark: nothing is cut off
    b.size(360, 700)
    b.scheme("dark")
    b.open("graph.html")
    check(b.run("document.documentElement.scrollWidth <= 360"), "wider than a telephone")
    check(all(u.startswith("file:") for u in b.requests), "it loads something: %s" % b.requests)
    check(not b.complaints, "complaints")
finally:
    b.close()
