"""The page of attention over a picture in a browser: picture_page.py CHROMIUM NAME...

NAME.html is the page, NAME.json, NAME-patch.json and NAME-rollout.json what `heed attend --json` says of the reader of
the picture, of patch 2,3 and of rollout. NAME latents is that of a Perceiver, NAME objects of a
model that finds objects."""
import json, os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

b = Browser(sys.argv[1])


def check(ok, what):
    if not ok:
        raise SystemExit("picture page: " + what + "\n" + "\n".join(b.complaints))


def state(**values):
    for name, value in values.items():
        found = b.run("document.body.dataset." + name)
        check(found == value, "%s is %r, should be %r" % (name, found, value))


def shows(wanted, what):
    """The page's weights are those of the command: one [row][column], and the tokens before them."""
    found = b.run("[...shown.values]")
    flat = wanted[0] + [w for row in wanted[1] for w in row]
    check(len(found) == len(flat) and max(abs(x - y) for x, y in zip(found, flat)) < 1e-4, what)


def mean(doc, layer, head=None):
    """Of one head, or of all of them."""
    heads = range(len(doc["heads"])) if head is None else [head]
    add = lambda lists: [sum(v) / len(heads) for v in zip(*lists)]
    return (add([doc["token_weights"][layer][h] for h in heads]),
            [add(rows) for rows in zip(*[doc["weights"][layer][h] for h in heads])])


def tests(name):
    reader, patch, roll = [json.load(open(name + part + ".json")) for part in ("", "-patch", "-rollout")]
    rows, columns = reader["grid"]
    layers, heads, first = len(reader["layers"]), len(reader["heads"]), len(reader["tokens"])
    b.requests.clear()
    b.open(name + ".html")
    state(site=reader["site"], layer=str(layers - 1), head="mean", query="-1", rollout="false")
    shows(mean(reader, layers - 1), "what the command shows")
    b.until("document.getElementById('picture').complete && document.getElementById('picture').naturalWidth > 100")
    state(thumbs=str(layers * heads))

    # a click on a patch shows what it looks at; another click, or c, the reader again
    x, y = b.run("(r => [r.x + r.width * 3.5 * site().wide, r.y + r.height * 2.5 * site().high])"
                 "(document.getElementById('frame').getBoundingClientRect())")
    b.mouse(x, y)
    b.frames()
    check(not b.run("document.getElementById('over').hidden"), "the patch under the pointer is outlined")
    b.run("document.elementFromPoint(%f, %f).dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: %f, clientY: %f}))" % (x, y, x, y))
    state(query=str(first + 2 * columns + 3))
    shows(mean(patch, layers - 1), "what patch 2,3 looks at")
    check("patch 2,3" in b.run("document.getElementById('status').textContent"), "the status names the patch")
    check(not b.run("document.getElementById('mark').hidden"), "the patch is marked")
    b.key("c")
    state(query="-1")

    # layers and heads: keys, buttons, thumbnails
    b.key("ArrowUp")
    state(layer=str((layers - 2) % layers))
    shows(mean(reader, (layers - 2) % layers), "another layer")
    b.key("ArrowRight")
    state(head="0")
    shows(mean(reader, (layers - 2) % layers, 0), "one head")
    b.click("#thumbs button[data-layer='0'][data-head='1']")
    state(layer="0", head="1")
    shows(mean(reader, 0, 1), "a thumbnail opens its head")
    b.click("#heads button:nth-child(1)")
    state(head="mean")
    b.run("document.getElementById('frame').focus()")
    b.key("ArrowRight")
    b.key("ArrowDown")
    b.key("ArrowRight")
    state(query=str(first + columns + 1))
    b.run("document.activeElement.blur()")

    # rollout, of the last site and layer
    b.open(name + ".html", "#site=%d&layer=99&rollout" % (b.run("sites.length") - 1))
    state(rollout="true", head="mean")
    shows((roll["token_weights"][0][0], roll["weights"][0][0]), "rollout")
    b.key("s")
    state(smooth="true")
    b.open(name + ".html", "#site=77&layer=-4&head=99&query=100000")
    state(query="-1", head="mean")

    ends(name)


def ends(name):
    """Narrow, light and dark; and that nothing was asked for or complained of."""
    for scheme in ("light", "dark"):
        b.scheme(scheme)
        b.size(360, 800)
        b.frames()
        check(b.run("document.documentElement.scrollWidth") <= 360, "360 pixels are too few")
    b.scheme("light")
    b.size(1280, 900)
    own = "file://" + os.path.abspath(name + ".html")
    others = [r for r in b.requests if r.split("#")[0] != own and r != "about:blank" and not r.startswith("data:")]
    check(not others, "nothing should be requested: %s" % others)
    check(not b.complaints, "it complains")


def scales():
    """A map of nearly equal weights is coloured from the smallest, any other from 0."""
    check(b.run("scaleOf([.5, .51], {first: 0, tokens: 2}).low") == .5, "nearly equal weights")
    check(b.run("scaleOf([.1, .51], {first: 0, tokens: 2}).low") == 0, "weights that differ")


def objects(name):
    """NAME.json: what the query of each object looks at."""
    found = json.load(open(name + ".json"))["objects"]
    b.open(name + ".html")
    state(site="cross", boxes=str(len(found)), query=str(found[0]["query"]))
    shows(([], found[0]["weights"]), "what the surest object's query looks at")
    check(found[0]["label"] in b.run("document.getElementById('status').textContent"), "the status names the object")
    b.run("document.querySelectorAll('.object')[2].click()")
    state(query=str(found[2]["query"]))
    shows(([], found[2]["weights"]), "what the query of a clicked box looks at")
    check(b.run("[...document.querySelectorAll('.object')].filter(x => x.getAttribute('aria-pressed') === 'true').length") == 1, "one box is open")
    b.run("document.querySelectorAll('.object')[2].click()")
    state(query="-1")
    b.run("choose({site: 0})")
    b.run("nextObject()")
    state(site="cross", query=str(found[0]["query"]))
    b.run("{ const l = document.getElementById('least'); l.value = 99; l.dispatchEvent(new Event('input')); }")
    state(boxes="0")


def latents(name):
    """NAME.json and NAME-one.json: all latents of a Perceiver on average, and latent 3."""
    every, one = [json.load(open(name + part + ".json")) for part in ("", "-one")]
    heads = len(every["heads"])
    count = b.requests.clear() or b.open(name + ".html") or b.run("site().learned")
    state(site="cross", layer="0", head="mean", query="-1", rollout="false")
    shows(mean(every, 0), "all latents on average")
    check(b.run("document.getElementById('latents').childElementCount") == count, "a small map for each latent")
    check(b.run("document.getElementById('latent').length") == count + 1, "a choice of all latents")
    check("rollout" not in b.run("document.getElementById('shows').textContent"), "rollout says nothing more")
    b.run("(l => { l.value = 3; l.dispatchEvent(new Event('change')); })(document.getElementById('latent'))")
    state(query="3")
    shows(mean(one, 0), "latent 3")
    check("latent 3" in b.run("document.getElementById('status').textContent"), "the status names the latent")
    check(b.run("document.getElementById('mark').hidden"), "a latent is no patch")
    b.click("#heads button:nth-child(%d)" % (heads + 1))
    shows(mean(one, 0, heads - 1), "one head of it")
    b.key("n")
    state(query="4")
    b.key("n")
    state(query=str(5 if count > 5 else -1))
    b.key("p")
    state(query="4")
    b.click("#latents button:nth-child(1)")
    state(query="0")
    b.run("document.getElementById('frame').click()")
    state(query="0")
    b.key("c")
    state(query="-1")
    b.open(name + ".html", "#query=%d&rollout" % count)
    state(query="-1", rollout="false")
    ends(name)


try:
    for name in sys.argv[2:]:
        {"latents": latents, "objects": objects}.get(name, tests)(name)
    scales()
finally:
    b.close()
