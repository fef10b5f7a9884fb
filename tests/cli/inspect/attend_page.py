"""The attention page in a browser: attend_page.py CHROMIUM SHORT.html LONG.html WEIGHTS.json PAIR.html WORDS.json LETTERS.html

SHORT has the three sites of an encoder-decoder, of which WEIGHTS is the cross attention as `heed attend --json` prints
it; LONG has 512 tokens on both sides. PAIR is of an encoder that reads two texts, and WORDS its attention between words.
LETTERS is of a model that reads characters."""
import json, os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

program, short, long_page, weights, pair, pair_words, letters = sys.argv[1:8]
wanted = json.load(open(weights))
b = Browser(program)


def check(ok, what):
    if not ok:
        raise SystemExit("attend page: " + what + "\n" + "\n".join(b.complaints))


def state(name):
    return b.run("document.body.dataset." + name)


def is_state(**values):
    for name, value in values.items():
        check(state(name) == value, "%s is %r, should be %r" % (name, state(name), value))


def status():
    return b.run("document.getElementById('status').textContent")


def label(token):
    """As the page has it: the mark that begins a word is gone, a piece that goes on with one has a dot."""
    plain = token.removeprefix("\u2581")
    return plain if plain != token and plain else token if token == "\u2581" or token[0] == "<" else "\u00b7" + token


def weight(layer, heads, query, key):
    return sum(wanted["weights"][layer][h][query][key] for h in heads) / len(heads)


def colours(selector):
    """How many colours a canvas shows."""
    return b.run("(() => { const c = document.querySelector(%s), copy = document.createElement('canvas'); copy.width = c.width;"
                 " copy.height = c.height; const g = copy.getContext('2d', {willReadFrequently: true}); g.drawImage(c, 0, 0);"
                 " return new Set(new Uint32Array(g.getImageData(0, 0, c.width, c.height).data.buffer)).size; })()"
                 % json.dumps(selector))


def frame_time(act):
    """Milliseconds of computing, of all the browser's processes, for each of 20 frames in which `act` is done: unlike
    those on the clock they do not count whoever else uses the machine."""
    before = b.cpu()
    b.run("""new Promise(done => {
        const box = document.getElementById('lines');
        let n = 0;
        const press = key => dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
        const over = i => document.getElementById('queries' + i).dispatchEvent(
            new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}));
        const frame = () => {
            if (n++ === 20) return done();
            %s;
            requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
    })""" % act)
    return 1000 * (b.cpu() - before) / 20


def tests():
    # the page as it lies in the source, with its sample
    b.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/plot/attention_page.html"))
    is_state(site="cross", layer="0", head="mean")
    check(int(state("lines")) > 0, "the sample has lines")
    b.requests.clear()

    layers, heads = len(wanted["layers"]), len(wanted["heads"])
    every = list(range(heads))

    # opens with what the command showed: the mean of the last layer of cross attention
    b.open(short)
    is_state(site="cross", layer=str(layers - 1), head="mean", token="")
    for side in ("keys", "queries"):
        names = b.run("[...document.querySelectorAll('#%s li')].map(e => e.firstChild.textContent +"
                      " (e.querySelector('.mark') ? e.querySelector('bdi').textContent : ''))" % side)
        check(names == [label(t) for t in wanted[side]], "%s: %s" % (side, names))
    nexts = b.run("[...document.querySelectorAll('#queries li .next')].map(e => e.textContent)")
    check(nexts == ["\u2192 " + label(t) for t in wanted["next"]], "what each row goes on with: %s" % nexts)
    check(int(state("lines")) > 0 and colours("#links") > 2 and colours("#heat") > 2, "nothing is drawn")
    b.until("document.body.dataset.thumbs === '%d'" % (layers * heads))
    check(colours("#thumbs button canvas") > 2, "an empty thumbnail")

    # a token under the pointer shows its lines and numbers only
    all_lines = int(state("lines"))
    b.hover("#queries1")
    is_state(token="query 1")
    check(0 < int(state("lines")) <= len(wanted["keys"]) < all_lines, "only the token's lines")
    for j in range(len(wanted["keys"])):
        shown, real = b.run("document.getElementById('keys%d').dataset.weight" % j), weight(layers - 1, every, 1, j)
        check(abs(float(shown or 0) - real) <= 0.00052, "weight %d is shown as %s, is %f" % (j, shown, real))
    best = max(range(len(wanted["keys"])), key=lambda j: weight(layers - 1, every, 1, j))
    said = status().split(" attends to %s " % label(wanted["keys"][best]))
    check(len(said) == 2 and abs(float(said[1].split(",")[0]) - weight(layers - 1, every, 1, best)) <= 0.00052,
          "the status should say where the largest weight is: " + status())
    b.hover("#keys0")
    is_state(token="key 0")
    check("is attended to by" in status(), status())
    b.hover("h1")
    is_state(token="")
    check(int(state("lines")) == all_lines, "all lines come back")

    # the keyboard
    b.key("ArrowRight")
    is_state(head="0")
    b.key("ArrowRight")
    is_state(head="1")
    b.key("ArrowLeft")
    b.key("ArrowLeft")
    is_state(head="mean")
    b.key("ArrowLeft")
    is_state(head=str(heads - 1))
    b.key("ArrowUp")
    is_state(layer=str(layers - 2))
    check("layer %d, head %d" % (layers - 2, heads - 1) in status(), status())
    b.key("ArrowDown")
    b.key("ArrowDown")
    is_state(layer="0")
    b.key("a")
    is_state(head="all")
    b.key("Escape")
    is_state(head="mean")
    for key, name in (("1", "encoder"), ("2", "decoder"), ("3", "cross")):
        b.key(key)
        is_state(site=name)
        check(name in status(), status())
    b.key("4")
    is_state(site="cross")
    check(b.run("location.hash") == "#site=cross&layer=0&head=mean", "the address says what is open")

    # the decoder attends to earlier tokens only
    b.key("2")
    b.hover("#queries0")
    check(int(state("lines")) == heads or int(state("lines")) == 1, "the first row sees itself alone")
    b.hover("h1")
    b.key("3")

    # focus: Tab reaches every part, visibly; in a column of tokens arrows walk the tokens
    b.run("document.activeElement.blur()")
    seen = []
    for _ in range(60):
        b.key("Tab")
        where = b.run("(e => e.closest('section, nav, ol') && e.closest('ol, nav, section').id + ' ' + e.tagName + ' ' +"
                      " getComputedStyle(e).outlineStyle)(document.activeElement)")
        seen.append(where)
        if where and where.startswith("queries"):
            break
    check(any(s and s.startswith("bar BUTTON") for s in seen) and "keys OL solid" in seen
          and "queries OL solid" in seen, "focus goes %s" % seen)
    b.key("ArrowDown")
    b.key("ArrowDown")
    is_state(token="query 1", layer="0")
    b.key("End")
    is_state(token="query %d" % (len(wanted["queries"]) - 1))
    check(b.run("document.getElementById('queries').getAttribute('aria-activedescendant')")
          == "queries%d" % (len(wanted["queries"]) - 1), "the active token is named")
    b.key("Escape")
    is_state(token="")

    # heads: one, several, all but one; a click pins a token, a thumbnail opens its head
    b.click("#heads button:nth-child(3)")
    is_state(head="0")
    b.click("#heads button:nth-child(4)", modifiers=8)
    is_state(head="0 1" if heads > 2 else "all")
    b.click("#queries2")
    b.hover("#queries0")
    is_state(token="query 2")
    b.key("Escape")
    b.hover("h1")
    b.click("#thumbs button[data-layer='%d'][data-head='1']" % (layers - 1))
    is_state(layer=str(layers - 1), head="1")
    check(b.run("document.querySelectorAll('#thumbs [aria-pressed=true]').length") == 1, "one thumbnail is marked")

    # the heat map's tooltip has the number of the cell
    b.run("scrollTo(0, 0)")
    b.run("document.getElementById('heat').scrollIntoView({block: 'center'})")
    b.frames()
    x, y = b.run("(r => [r.x + heat.left + 2.5 * heat.cell, r.y + heat.top + 1.5 * heat.cell])"
                 "(document.getElementById('heat').getBoundingClientRect())")
    b.mouse(x, y)
    b.frames()
    tip = b.run("document.getElementById('tip').textContent")
    check(abs(float(tip.split()[-1]) - weight(layers - 1, [1], 1, 2)) <= 0.00006, "the tooltip says " + tip)
    b.mouse(2, 2)
    b.frames()
    check(b.run("document.getElementById('tip').hidden"), "the tooltip goes")

    # an address opens what it says; nonsense in it is passed over
    b.open(short, "#site=encoder&layer=1&head=0")
    is_state(site="encoder", layer="1", head="0")
    b.open(short, "#site=none&layer=99&head=77")
    is_state(site="cross", layer=str(layers - 1), head="mean")

    # narrow screens: stacked, nothing wider than the screen; both schemes
    for scheme in ("light", "dark"):
        b.scheme(scheme)
        b.size(360, 800)
        b.frames()
        check(b.run("document.documentElement.scrollWidth") <= 360, "360 pixels are too few")
        tops = b.run("[...document.querySelectorAll('section')].map(e => e.getBoundingClientRect().top)")
        check(tops == sorted(tops) and len(set(tops)) == 3, "sections should be stacked: %s" % tops)
        check(int(state("lines")) > 0 and colours("#links") > 2, "nothing is drawn on a narrow screen")
    dark = b.run("getComputedStyle(document.body).backgroundColor")
    b.scheme("light")
    b.frames()
    check(b.run("getComputedStyle(document.body).backgroundColor") != dark, "dark should differ from light")
    b.size(1280, 900)

    # 512 x 512 tokens: lines of every head, while scrolling, hovering and changing heads
    b.open(long_page, "#head=all")
    check(b.run("[document.querySelectorAll('#keys li').length, document.querySelectorAll('#queries li').length]")
          == [512, 512], "512 tokens on both sides")
    check(int(state("lines")) > 100, "lines of 512 tokens")
    b.until("document.body.dataset.thumbs !== undefined")
    is_state(head="all")
    for what, act in (("scrolling", "box.scrollTop = n * 300"), ("hovering", "over(n * 10)"),
                      ("changing layers", "press('ArrowDown')")):
        quick = min(frame_time(act) for _ in range(3))
        print("512 x 512 tokens, %s: a frame takes %.0f ms" % (what, quick))
        check(quick < 100, "%s: a frame takes %.0f ms" % (what, quick))
    b.frames(6)
    before = b.run("document.getElementById('heat').toDataURL()")
    b.key("ArrowRight")  # the mean, which is the same map
    b.key("ArrowRight")
    b.frames(6)
    check(b.run("document.getElementById('heat').toDataURL()") != before, "the heat map follows")

    # two texts: the second has a colour of its own; tokens are joined to words
    b.open(pair, "#layer=0&head=1")
    names = "[...document.querySelectorAll('#keys li bdi')].map(e => e.textContent)"
    check(any(t.startswith("##") for t in b.run(names)), "tokens at first")
    b.key("w")
    b.frames(3)
    words = json.load(open(pair_words))
    check(b.run(names) == words["keys"], "words: %r" % b.run(names))
    check(b.run("[...document.querySelectorAll('#keys li.second')].length") == 3, "the second text is coloured")
    b.key("c")
    b.frames(3)
    check(state("token") == "query 0", "the class token is chosen")
    best = max(range(len(words["keys"])), key=lambda k: words["weights"][0][1][0][k])
    check("[CLS] attends to %s %.3f" % (words["keys"][best], words["weights"][0][1][0][best]) in status(), status())

    # characters stand upright above their columns, and the names of the sides have room above theirs
    check(not b.run("heat.upright"), "words are turned")
    b.open(letters, "")
    check(b.run("heat.upright && heat.top < 30"), "letters should stand upright")
    check(b.run("document.getElementById('sides').scrollWidth <= document.getElementById('sides').clientWidth"),
          "the names of the sides should have room")

    check(not b.complaints, "the console should be empty")
    files = {"file://" + os.path.abspath(p) for p in (short, long_page, pair, letters)}
    others = [r for r in b.requests if r.split("#")[0] not in files and r != "about:blank" and not r.startswith("data:")]
    check(not others, "nothing should be requested: %s" % others)


try:
    tests()
finally:
    b.close()
