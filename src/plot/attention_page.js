/* The script of attention_page.html: draws what its elements `data` and w<site>-<layer> hold, and nothing else. */
'use strict';
/* ---- what is shown ---- data.sites[s] has `heads` maps of queries x keys for each of its `layers`; weights lie in the
 * elements w<site>-<layer> as base64 of whole numbers, `scale` of them to 1. They are decoded when first needed. */
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent), sites = data.sites;
const numbered = n => Array.from({length: n}, (_, i) => String(i));
sites.forEach((s, i) => {
    s.index = i;
    s.keys = s.keys || numbered(s.n_keys);
    s.queries = s.queries || numbered(s.n_queries);
    s.size = s.queries.length * s.keys.length;
    s.planes = [];
    s.means = [];
    s.chosen = new Map(); /* by layer and heads */
});
/* heads: those shown; null: the mean of all. token: {side: 'key' or 'query', index, pinned} or null. */
const state = {site: data.start.site, layer: data.start.layer, heads: data.start.head < 0 ? null : [data.start.head], token: null};
/* Where words are known, a site of words beside that of tokens: attention to a word is the sum over its tokens, attention
 * from it their mean (Clark et al. 2019). */
function joined(s) {
    const n = s.words[s.words.length - 1] + 1, names = Array(n).fill(''), segments = Array(n).fill(0);
    s.words.forEach((w, i) => {
        names[w] += names[w] ? s.keys[i].replace(/^##/, '') : s.keys[i];
        segments[w] = s.segments ? s.segments[i] : 0;
    });
    return {name: s.name, title: s.title, of: s, queries: names, keys: names, segments: s.segments && segments, size: n * n,
            heads: s.heads, layers: s.layers, planes: [], means: [], chosen: new Map()};
}
for (const s of sites) if (s.words && new Set(s.words).size < s.words.length) s.joined = joined(s);
function joinedPlanes(s, layer) {
    const {words, heads} = s.of, from = planes(s.of, layer), m = words.length, n = s.keys.length, sum = new Float64Array(heads * n * n);
    const count = new Float64Array(n);
    for (const w of words) count[w]++;
    for (let h = 0; h < heads; h++)
        for (let i = 0; i < m; i++)
            for (let j = 0; j < m; j++) sum[(h * n + words[i]) * n + words[j]] += from[(h * m + i) * m + j] / count[words[i]];
    return Uint16Array.from(sum, v => Math.min(data.scale, Math.round(v)));
}
const site = () => state.words && sites[state.site].joined || sites[state.site], all = s => numbered(s.heads).map(Number);

function decode(base64) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return data.scale > 255 ? new Uint16Array(bytes.buffer) : bytes;
}
function planes(s, layer) {
    if (!s.planes[layer] && s.of) s.planes[layer] = joinedPlanes(s, layer);
    if (!s.planes[layer]) {
        const element = $('w' + s.index + '-' + layer);
        s.planes[layer] = decode(element.textContent.trim());
        element.textContent = '';
    }
    return s.planes[layer];
}
const plane = (s, layer, head) => planes(s, layer).subarray(head * s.size, (head + 1) * s.size);
function average(s, layer, heads) {
    const sum = new Float32Array(s.size);
    for (const h of heads) {
        const w = plane(s, layer, h);
        for (let i = 0; i < s.size; i++) sum[i] += w[i];
    }
    for (let i = 0; i < s.size; i++) sum[i] /= heads.length;
    return sum;
}
function mean(s, layer) {
    if (!s.means[layer]) s.means[layer] = average(s, layer, all(s));
    return s.means[layer];
}
/* The maps that are shown, each with its head (-1: the mean). */
function shownMaps() {
    const s = site();
    return state.heads ? state.heads.map(head => ({head, w: plane(s, state.layer, head)})) : [{head: -1, w: mean(s, state.layer)}];
}
function largest(w) {
    let most = 0;
    for (let i = 0; i < w.length; i++) if (w[i] > most) most = w[i];
    return most;
}
const FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const number = w => (w / data.scale).toFixed(3);

/* ---- colours ---- eight that the colour-blind tell apart, then hues by the golden angle */
const palettes = {
    light: ['35 80 176', '214 122 14', '0 137 97', '203 82 163', '38 152 210', '150 42 31', '148 142 10', '104 66 138'],
    dark: ['96 165 255', '237 162 74', '44 221 166', '231 101 176', '170 214 247', '235 105 62', '224 221 85', '178 126 232'],
};
const darkQuery = matchMedia('(prefers-color-scheme: dark)');
function hue(h) {
    const angle = h * 137.508 % 360, light = darkQuery.matches ? .68 : .42;
    const f = k => {
        const a = (k + angle / 30) % 12;
        return Math.round(255 * (light - .55 * Math.min(light, 1 - light) * Math.max(-1, Math.min(a - 3, 9 - a, 1))));
    };
    return f(0) + ' ' + f(8) + ' ' + f(4);
}
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function tint(head) {
    if (head < 0) return css('--mean');
    const list = palettes[darkQuery.matches ? 'dark' : 'light'];
    return head < list.length ? list[head] : hue(head);
}
/* 1024 colours from the paper to the head's, by weight or by its root. */
const SHADES = 1023;
let ramps = new Map();
function ramp(head, root) {
    const id = head + (root ? ' root' : '');
    if (ramps.has(id)) return ramps.get(id);
    const to = tint(head).split(' ').map(Number), from = [1, 3, 5].map(i => parseInt(css('--paper').slice(i, i + 2), 16));
    const colours = new Uint32Array(SHADES + 1);
    for (let i = 0; i <= SHADES; i++) {
        const t = root ? Math.sqrt(i / SHADES) : i / SHADES, c = from.map((v, k) => Math.round(v + (to[k] - v) * t));
        colours[i] = (255 << 24 | c[2] << 16 | c[1] << 8 | c[0]) >>> 0;
    }
    ramps.set(id, colours);
    return colours;
}

/* ---- tokens ---- U+2581 begins a word: it is left out, and a piece that goes on a word gets a soft dot instead. */
const special = t => /^<.*>$|^\[.*\]$/.test(t);
function tokenParts(list, i) {
    const t = list[i];
    if (list.pieces === undefined) list.pieces = list.some(x => x.startsWith('\u2581'));
    if (t.startsWith('\u2581') && t.length > 1) return ['', t.slice(1)];
    if (t.trim() === '') return ['', t.includes('\n') ? '\u23ce' : '\u2423'];
    return [list.pieces && !special(t) && t !== '\u2581' ? '\u00b7' : '', t];
}
const token = (list, i) => tokenParts(list, i).join('');
/* What a decoder is fed at a row, and what it predicts there. */
const rowLabel = (s, i) => token(s.queries, i) + (s.next && s.next[i] ? ' \u2192 ' + token(s.next, i) : '');
function span(kind, text) {
    const e = document.createElement(kind === 'bdi' ? 'bdi' : 'span');
    if (kind !== 'bdi') e.className = kind;
    e.textContent = text;
    return e;
}
function fillTokens(ol, list, next, segments) {
    const items = document.createDocumentFragment();
    list.forEach((_, i) => {
        const li = document.createElement('li'), parts = tokenParts(list, i);
        li.setAttribute('role', 'option');
        li.id = ol.id + i;
        li.dataset.index = i;
        if (segments && segments[i]) li.className = 'second';
        if (parts[0]) li.append(span('mark', parts[0]));
        li.append(span('bdi', parts[1]));
        if (next && next[i]) li.append(span('next', '\u2192 ' + token(next, i)));
        items.append(li);
    });
    ol.replaceChildren(items);
    ol.scroll = 0;
}

/* ---- lines ---- of many, only the strongest are drawn: a page of 512 x 512 tokens has 262,144 to a head */
const MOST_LINES = 1500, LEVELS = 20;
let chosen = null; /* {maps, most, total, lines: [{key, query, at, w}]} of the selection, the weakest first */
function chooseLines() {
    const known = site().chosen, id = state.layer + ' ' + (state.heads || 'mean');
    if (!known.has(id)) known.set(id, strongest());
    chosen = known.get(id);
}
function strongest() {
    const maps = shownMaps(), keys = site().keys.length, counts = new Uint32Array(data.scale + 2);
    for (const {w} of maps)
        for (let i = 0; i < w.length; i++) counts[w[i] | 0]++;
    const total = maps.length * site().size - counts[0];
    let top = data.scale;
    while (top > 0 && !counts[top]) top--;
    const least = Math.max(1, Math.floor(top / 50)); /* fainter than that is not seen */
    let limit = top + 1, count = 0;
    while (limit > least && count + counts[limit - 1] <= MOST_LINES) count += counts[--limit];
    /* of those just below the limit, all alike, as many as there is room for, evenly */
    const rest = limit > least ? MOST_LINES - count : 0, step = rest ? counts[limit - 1] / rest : 1, last = rest ? limit - 1 : limit;
    const lines = [];
    let alike = 0, taken = 0;
    maps.forEach(({w}, at) => {
        for (let i = 0; i < w.length; i++) {
            if (w[i] < last) continue;
            if (w[i] < limit) {
                if (alike++ < taken * step) continue;
                taken++;
            }
            lines.push({key: i % keys, query: Math.floor(i / keys), at, w: w[i]});
        }
    });
    lines.sort((a, b) => a.w - b.w);
    return {maps, most: lines.length ? lines[lines.length - 1].w : 0, total, lines};
}
function lineWeights(side, index) { /* of one token: [{at, other, w}] */
    const s = site(), nk = s.keys.length, out = [];
    const n = side === 'query' ? nk : s.queries.length;
    chosen.maps.forEach((m, at) => {
        for (let j = 0; j < n; j++) {
            const w = side === 'query' ? m.w[index * nk + j] : m.w[j * nk + index];
            if (w > 0) out.push({at, other: j, w});
        }
    });
    return out;
}
function weightsOf(side, index) { /* of one token, the mean of the maps: other -> weight */
    const sums = new Map();
    for (const l of lineWeights(side, index)) sums.set(l.other, (sums.get(l.other) || 0) + l.w / chosen.maps.length);
    return sums;
}
function sizeCanvas(canvas, wide, tall, ratio) {
    if (canvas.style.height !== tall + 'px') canvas.style.height = tall + 'px';
    if (canvas.width === Math.round(wide * ratio) && canvas.height === Math.round(tall * ratio)) return;
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(tall * ratio);
}
let row = 26;
function drawLines() {
    const canvas = $('links'), box = $('lines'), g = canvas.getContext('2d'), ratio = devicePixelRatio || 1;
    const tall = Math.min(box.clientHeight || 1, Math.max(site().keys.length, site().queries.length) * row), wide = canvas.clientWidth;
    sizeCanvas(canvas, wide, tall, ratio);
    const columns = $('keys').offsetWidth + 'px 1fr ' + $('queries').offsetWidth + 'px';
    if ($('sides').style.gridTemplateColumns !== columns) $('sides').style.gridTemplateColumns = columns;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, wide, tall);
    const most = chosen.most || 1, top = box.scrollTop, curved = chosen.lines.length <= 1200 || state.token;
    const paths = new Map();
    let drawn = 0;
    const add = (key, query, at, w) => {
        const y1 = (key + .5) * row - top, y2 = (query + .5) * row - top;
        if ((y1 < 0 && y2 < 0) || (y1 > tall && y2 > tall)) return;
        const level = Math.max(1, Math.ceil(w / most * LEVELS)), id = level * 4096 + at;
        let path = paths.get(id);
        if (!path) paths.set(id, path = new Path2D());
        path.moveTo(3, y1);
        if (curved) path.bezierCurveTo(wide * .42, y1, wide * .58, y2, wide - 3, y2);
        else path.lineTo(wide - 3, y2);
        drawn++;
    };
    if (state.token) {
        const {side, index} = state.token;
        for (const l of lineWeights(side, index)) side === 'query' ? add(l.other, index, l.at, l.w) : add(index, l.other, l.at, l.w);
    } else
        for (const l of chosen.lines) add(l.key, l.query, l.at, l.w);
    for (const id of [...paths.keys()].sort((a, b) => a - b)) {
        const level = Math.floor(id / 4096) / LEVELS;
        g.strokeStyle = 'rgb(' + tint(chosen.maps[id % 4096].head) + ' / ' + level + ')';
        g.lineWidth = .8 + 1.7 * level;
        g.stroke(paths.get(id));
    }
    if (state.token) drawWeights(g, wide, tall, top);
    document.body.dataset.lines = drawn;
}
/* The weights of the token in hand, where its lines end; those that would be 0.00 are left out. */
function drawWeights(g, wide, tall, top) {
    const {side, index} = state.token, sums = weightsOf(side, index), x = side === 'query' ? 5 : wide - 5;
    g.font = '11.5px ' + FONT;
    g.textBaseline = 'middle';
    g.textAlign = side === 'query' ? 'left' : 'right';
    g.lineJoin = 'round';
    g.lineWidth = 5;
    g.strokeStyle = css('--card');
    g.fillStyle = css('--ink');
    for (const [other, w] of sums) {
        const y = (other + .5) * row - top;
        if (w / data.scale < .005 || y < 0 || y > tall) continue;
        g.strokeText(number(w), x, y);
        g.fillText(number(w), x, y);
    }
}
/* The tokens that the one in hand meets, tinted by weight. */
let touched = [];
function tintTokens() {
    for (const li of touched) {
        li.classList.remove('on');
        li.removeAttribute('aria-selected');
        li.removeAttribute('style');
        delete li.dataset.weight;
    }
    touched = [];
    for (const id of ['keys', 'queries']) $(id).removeAttribute('aria-activedescendant');
    if (!state.token) return;
    const {side, index} = state.token, one = chosen.maps.length === 1;
    const ol = $(side === 'query' ? 'queries' : 'keys'), others = $(side === 'query' ? 'keys' : 'queries');
    const me = ol.children[index], sums = weightsOf(side, index);
    me.classList.add('on');
    me.setAttribute('aria-selected', 'true');
    ol.setAttribute('aria-activedescendant', me.id);
    const colour = tint(one ? chosen.maps[0].head : -1), most = Math.max(...sums.values(), 1);
    me.style.setProperty('--tint', colour);
    touched.push(me);
    const list = [...others.children];
    for (const [other, w] of sums) {
        if (w < most / 50 && w / data.scale < .0005) continue;
        const li = list[other];
        li.dataset.weight = number(w);
        if (w >= most / 40) li.style.backgroundColor = 'rgb(' + colour + ' / ' + (w / most / 2).toFixed(3) + ')';
        touched.push(li);
    }
}

/* ---- heat map ---- */
let heat = null; /* {left, top, cell, upright}: where the cells lie, and whether names above them stand upright */
let heatMap = null; /* the numbers of the selection */
function heatValues() {
    const s = site();
    if (!heatMap)
        heatMap = !state.heads || state.heads.length === s.heads ? mean(s, state.layer)
            : state.heads.length === 1 ? plane(s, state.layer, state.heads[0]) : average(s, state.layer, state.heads);
    return heatMap;
}
const heatHead = () => state.heads && state.heads.length === 1 ? state.heads[0] : -1;
/* Weights of long texts are small and few stand out: their root does. */
const isLarge = size => size > 6400;
/* (rows, cols) numbers as a picture of at most `limit` pixels each way; where cells share a pixel, the largest counts. */
function picture(w, rows, cols, head, limit) {
    const canvas = document.createElement('canvas'), high = Math.min(rows, limit), wide = Math.min(cols, limit);
    canvas.width = wide;
    canvas.height = high;
    const g = canvas.getContext('2d'), image = g.createImageData(wide, high), most = largest(w) || 1;
    const colours = ramp(head, isLarge(rows * cols));
    const pixels = new Uint32Array(image.data.buffer), values = wide === cols && high === rows ? w : new Float32Array(wide * high);
    if (values !== w)
        for (let i = 0, at = 0; i < rows; i++) {
            const line = Math.floor(i * high / rows) * wide;
            for (let j = 0; j < cols; j++, at++) {
                const k = line + Math.floor(j * wide / cols);
                if (w[at] > values[k]) values[k] = w[at];
            }
        }
    const by = SHADES / most;
    for (let i = 0; i < pixels.length; i++) pixels[i] = colours[values[i] * by + .5 | 0];
    g.putImageData(image, 0, 0);
    return canvas;
}
function fitted(g, text, most) {
    if (g.measureText(text).width <= most) return text;
    while (text && g.measureText(text + '\u2026').width > most) text = text.slice(0, -1);
    return text + '\u2026';
}
let heatPicture = null; /* of the selection; the canvas above it changes with the pointer */
function drawHeat() {
    const canvas = $('heat'), s = site(), rows = s.queries.length, cols = s.keys.length, ratio = devicePixelRatio || 1;
    const wide = canvas.clientWidth, g = canvas.getContext('2d'), font = '12.5px ' + FONT;
    g.font = font;
    const longest = (list, label) => list.length > 80 ? 0 : Math.max(...list.map((_, i) => g.measureText(label(i)).width));
    let left = Math.min(longest(s.queries, i => rowLabel(s, i)) + 10, wide * .26);
    const widest = longest(s.keys, j => token(s.keys, j));
    let cell = Math.min(40, (wide - left) / cols);
    const named = cell >= 11 && rows <= 80 && cols <= 80, upright = named && widest <= cell; /* letters, say */
    let top = upright ? 22 : Math.min(widest + 12, 96);
    if (!named) { left = 18; top = 18; cell = Math.min(40, (wide - left) / cols); }
    const tall = Math.ceil(top + rows * cell + 1);
    sizeCanvas(canvas, wide, tall, ratio);
    heat = {left, top, cell, upright};
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, wide, tall);
    const limit = Math.max(64, Math.min(1024, Math.floor(cols * cell * ratio)));
    if (!heatPicture || heatPicture.limit !== limit)
        heatPicture = Object.assign(picture(heatValues(), rows, cols, heatHead(), limit), {limit});
    g.imageSmoothingEnabled = false;
    g.drawImage(heatPicture, left, top, cols * cell, rows * cell);
    g.strokeStyle = css('--hair');
    g.strokeRect(left + .5, top + .5, cols * cell - 1, rows * cell - 1);
    g.font = font;
    g.fillStyle = css('--soft');
    g.textBaseline = 'middle';
    if (named) {
        g.textAlign = 'right';
        s.queries.forEach((_, i) => g.fillText(fitted(g, rowLabel(s, i), left - 8), left - 7, top + (i + .5) * cell));
        g.textAlign = upright ? 'center' : 'left';
        s.keys.forEach((_, j) => {
            g.save();
            g.translate(left + (j + .5) * cell, top - (upright ? 10 : 6));
            if (!upright) g.rotate(-Math.PI / 2);
            g.fillText(fitted(g, token(s.keys, j), upright ? cell : top - 8), 0, 0);
            g.restore();
        });
        if (cell >= 31) drawNumbers(g, rows, cols);
    } else {
        g.fillText('keys \u2192', left, 8);
        g.save();
        g.translate(8, top);
        g.rotate(-Math.PI / 2);
        g.textAlign = 'right';
        g.fillText('\u2190 queries', 0, 0);
        g.restore();
    }
    if (state.token) {
        g.strokeStyle = css('--ink');
        g.lineWidth = 1.5;
        if (state.token.side === 'query') g.strokeRect(left, top + state.token.index * cell, cols * cell, Math.max(cell, 2));
        else g.strokeRect(left + state.token.index * cell, top, Math.max(cell, 2), rows * cell);
    }
}
function drawNumbers(g, rows, cols) {
    const w = heatValues(), most = largest(w) || 1, colours = ramp(heatHead(), false);
    const linear = v => Math.pow(v / 255, 2.2);
    const bright = c => .2126 * linear(c & 255) + .7152 * linear(c >> 8 & 255) + .0722 * linear(c >> 16 & 255);
    g.textAlign = 'center';
    g.font = '11px ' + FONT;
    for (let i = 0; i < rows; i++)
        for (let j = 0; j < cols; j++) {
            const v = w[i * cols + j], text = (v / data.scale).toFixed(2).replace(/^0/, '');
            if (text === '.00') continue;
            g.fillStyle = bright(colours[Math.round(v / most * SHADES)]) > .2 ? '#17191d' : '#f6f7f9';
            g.fillText(text, heat.left + (j + .5) * heat.cell, heat.top + (i + .5) * heat.cell + 1);
        }
}

/* ---- thumbnails ---- drawn a few at a time, so that the page answers meanwhile */
let drawing = 0, thumbsOf = null;
function makeThumbs() {
    const s = site(), box = $('thumbs'), turn = ++drawing, waiting = [];
    const size = s.layers.length * s.heads <= 12 ? 128 : 92;
    box.style.gridTemplateColumns = 'auto repeat(' + s.heads + ', minmax(34px, ' + size + 'px))';
    const parts = [span('', innerWidth > 600 ? '' : 'layer')];
    for (let h = 0; h < s.heads; h++) parts.push(span('top', s.heads > 10 ? h : 'head ' + h));
    s.layers.forEach((name, layer) => {
        parts.push(span('', (innerWidth > 600 ? 'layer ' : '') + name));
        for (let h = 0; h < s.heads; h++) {
            const button = document.createElement('button');
            button.dataset.layer = layer;
            button.dataset.head = h;
            button.setAttribute('aria-label', 'layer ' + name + ', head ' + h);
            button.title = 'layer ' + name + ', head ' + h;
            button.style.setProperty('--tint', tint(h));
            button.append(document.createElement('canvas'));
            parts.push(button);
            waiting.push(button);
        }
    });
    box.replaceChildren(...parts);
    thumbsOf = s;
    delete document.body.dataset.thumbs;
    const go = () => {
        const until = performance.now() + 8;
        while (waiting.length && turn === drawing && performance.now() < until) {
            const b = waiting.shift(), w = plane(s, Number(b.dataset.layer), Number(b.dataset.head));
            const image = picture(w, s.queries.length, s.keys.length, Number(b.dataset.head), 128), c = b.firstChild;
            c.width = image.width;
            c.height = image.height;
            c.getContext('2d').drawImage(image, 0, 0);
        }
        if (turn !== drawing) return;
        if (waiting.length) requestAnimationFrame(go);
        else document.body.dataset.thumbs = s.layers.length * s.heads;
    };
    requestAnimationFrame(go);
}
function markThumbs() {
    for (const b of $('thumbs').querySelectorAll('button'))
        b.setAttribute('aria-pressed', Number(b.dataset.layer) === state.layer && state.heads !== null &&
                       state.heads.includes(Number(b.dataset.head)));
}

/* ---- the bar, and the words ---- */
function choices(box, names, pressed, act) {
    box.replaceChildren(...names.map((name, i) => {
        const b = document.createElement('button');
        b.append(...[].concat(name));
        b.setAttribute('aria-pressed', pressed(i));
        b.addEventListener('click', e => act(i, e.shiftKey || e.ctrlKey || e.metaKey));
        b.addEventListener('contextmenu', e => { e.preventDefault(); act(i, true); });
        return b;
    }));
}
function headsText() {
    if (state.heads === null) return 'mean';
    return state.heads.length === site().heads && site().heads > 1 ? 'all' : state.heads.join(' ');
}
function toggled(h) {
    const list = state.heads || [], kept = list.includes(h) ? list.filter(x => x !== h) : [...list, h].sort((a, b) => a - b);
    return kept.length ? kept : null;
}
function drawBar() {
    const s = site(), focus = document.activeElement, box = focus && focus.closest && focus.closest('.choices');
    const at = box ? [...box.children].indexOf(focus) : -1;
    const key = i => { const k = document.createElement('kbd'); k.textContent = i + 1; return k; };
    choices($('sites'), sites.map((x, i) => sites.length > 1 ? [key(i), x.name] : x.name), i => i === state.site, i => choose({site: i}));
    $('units').parentElement.hidden = !sites[state.site].joined;
    choices($('units'), ['tokens', 'words'], i => !!state.words === (i === 1), i => choose({words: i === 1}));
    choices($('layers'), s.layers.map(String), i => i === state.layer, i => choose({layer: i}));
    const dot = () => document.createElement('i');
    const names = ['mean', ...(s.heads > 1 ? ['all'] : []), ...numbered(s.heads).map(h => [dot(), h])], first = names.length - s.heads;
    choices($('heads'), names,
            i => i === 0 ? state.heads === null : i < first ? headsText() === 'all' : (state.heads || []).includes(i - first),
            (i, more) => choose({heads: i === 0 ? null : i < first ? all(s) : more ? toggled(i - first) : [i - first]}));
    [...$('heads').children].forEach((b, i) => b.style.setProperty('--tint', tint(i < first ? -1 : i - first)));
    if (box && box.children.length) box.children[Math.min(at, box.children.length - 1)].focus();
}
function describe() {
    const s = site(), what = state.heads === null ? 'mean of ' + s.heads + (s.heads === 1 ? ' head' : ' heads')
        : headsText() === 'all' ? 'all ' + s.heads + ' heads' : (state.heads.length > 1 ? 'heads ' : 'head ') + state.heads.join(', ');
    const status = $('status');
    if (!state.token) {
        status.replaceChildren(span('bdi', s.title || s.name), ' \u2014 layer ' + s.layers[state.layer] + ', ' + what + '.');
        return;
    }
    const {side, index} = state.token, sums = weightsOf(side, index), strong = document.createElement('b');
    const best = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 8);
    strong.textContent = side === 'query' ? rowLabel(s, index) : token(s.keys, index);
    const verb = side === 'query' ? ' attends to ' : ' is attended to by ', name = i => side === 'query' ? token(s.keys, i) : rowLabel(s, i);
    status.replaceChildren(strong, verb + (best.length ? '' : 'none'),
                           best.map(([i, w]) => name(i) + ' ' + number(w)).join(', ') +
                               (best.length && chosen.maps.length > 1 ? ' (mean of the heads shown)' : ''));
}
function notes() {
    const shown = chosen.lines.length, few = shown < chosen.total;
    $('lines-note').textContent = (few ? 'The strongest ' + shown.toLocaleString('en') + ' of ' + chosen.total.toLocaleString('en') + '. ' : '') +
        'The strongest line is ' + number(chosen.most) + '. A token shows its own lines.';
    $('heat-note').textContent = (state.heads && state.heads.length > 1 ? 'Mean of the heads chosen, 0 to ' : 'From 0 to ') +
        number(largest(heatValues())) + (isLarge(site().size) ? ', coloured by the root of the weight' : '') + '. Rows attend to columns.';
}

/* ---- changes ---- */
let waiting = 0, heatWaits = false, postponed = 0;
function redraw(heatToo) { /* once a frame, however many ask */
    heatWaits = heatWaits || heatToo;
    if (waiting) return;
    waiting = requestAnimationFrame(() => {
        waiting = 0;
        drawLines();
        if (heatWaits) heatSoon();
    });
}
/* A large heat map follows the lines when nothing new has been asked for, or in the fourth frame at the latest. */
function heatSoon() {
    if (isLarge(site().size) && postponed++ < 3) {
        requestAnimationFrame(() => { if (heatWaits && !waiting) postponed = 3, heatSoon(); });
        return;
    }
    postponed = 0;
    heatWaits = false;
    drawHeat();
}
function setToken(t) {
    if (!t && !state.token) return;
    if (t && state.token && t.side === state.token.side && t.index === state.token.index && t.pinned === state.token.pinned) return;
    state.token = t;
    document.body.dataset.token = t ? t.side + ' ' + t.index : '';
    tintTokens();
    describe();
    redraw(true);
}
function setSite() {
    const s = site(), long = Math.max(s.keys.length, s.queries.length) > 60;
    row = long ? 20 : 26;
    $('lines').style.setProperty('--row', row + 'px');
    $('lines').style.setProperty('--size', long ? '12.5px' : '15px');
    touched = [];
    state.token = null;
    document.body.dataset.token = '';
    fillTokens($('keys'), s.keys, null, s.segments);
    fillTokens($('queries'), s.queries, s.next, s.segments);
    $('lines').scrollTop = 0;
}
function choose(change) {
    const before = chosen && site();
    Object.assign(state, change);
    const s = site();
    state.layer = Math.max(0, Math.min(s.layers.length - 1, state.layer));
    if (state.heads) state.heads = state.heads.filter(h => h >= 0 && h < s.heads);
    if (state.heads && !state.heads.length) state.heads = null;
    if (before !== s) setSite();
    heatMap = heatPicture = null;
    chooseLines();
    drawBar();
    if (thumbsOf !== s) makeThumbs();
    markThumbs();
    tintTokens();
    describe();
    notes();
    Object.assign(document.body.dataset, {site: s.name, layer: s.layers[state.layer], head: headsText()});
    const name = encodeURIComponent(s.name), heads = headsText().replace(/ /g, '+');
    const address = '#site=' + name + '&layer=' + s.layers[state.layer] + '&head=' + heads;
    try { history.replaceState(null, '', address); } catch (e) { /* a page without an address */ }
    redraw(true);
}
/* An address may say what is open: #site=cross&layer=3&head=1, head=mean, head=all, head=0+2. */
function fromAddress() {
    const asked = new URLSearchParams(location.hash.slice(1)), change = {};
    const at = sites.findIndex(s => s.name === asked.get('site'));
    if (at >= 0) change.site = at;
    const s = sites[at >= 0 ? at : state.site], layer = s.layers.indexOf(Number(asked.get('layer'))), head = asked.get('head');
    if (asked.has('layer') && layer >= 0) change.layer = layer;
    if (head === 'mean') change.heads = null;
    else if (head === 'all') change.heads = all(s);
    else if (head)
        change.heads = [...new Set(head.split(' ').map(Number))].filter(h => Number.isInteger(h) && h >= 0 && h < s.heads)
            .sort((a, b) => a - b);
    return change;
}
function step(by) { /* mean, 0, 1, …, and round again */
    const n = site().heads + 1, at = state.heads === null ? 0 : by > 0 ? state.heads[state.heads.length - 1] + 1 : state.heads[0] + 1;
    const to = (at + by + n) % n;
    choose({heads: to ? [to - 1] : null});
}
function walk(ol, key) {
    const side = ol.id === 'keys' ? 'key' : 'query', n = ol.children.length, t = state.token;
    const at = t && t.side === side ? t.index : key === 'ArrowUp' ? n : -1;
    const to = key === 'Home' ? 0 : key === 'End' ? n - 1 : Math.max(0, Math.min(n - 1, at + (key === 'ArrowDown' ? 1 : -1)));
    setToken({side, index: to, pinned: true});
    ol.children[to].scrollIntoView({block: 'nearest'});
}

/* ---- hands ---- */
for (const id of ['keys', 'queries']) {
    const ol = $(id), side = id === 'keys' ? 'key' : 'query';
    const indexOf = e => { const li = e.target.closest('li'); return li ? Number(li.dataset.index) : -1; };
    ol.addEventListener('pointerover', e => {
        if (e.pointerType !== 'touch' && !(state.token && state.token.pinned) && indexOf(e) >= 0)
            setToken({side, index: indexOf(e), pinned: false});
    });
    ol.addEventListener('pointerleave', () => { if (state.token && !state.token.pinned) setToken(null); });
    ol.addEventListener('click', e => {
        const index = indexOf(e), t = state.token;
        if (index >= 0) setToken(t && t.pinned && t.side === side && t.index === index ? null : {side, index, pinned: true});
    });
}
$('lines').addEventListener('scroll', () => redraw(false), {passive: true});
$('thumbs').addEventListener('click', e => {
    const b = e.target.closest('button');
    if (!b) return;
    choose({layer: Number(b.dataset.layer), heads: [Number(b.dataset.head)]});
    const top = $('views').getBoundingClientRect().top;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (top < 0 || innerWidth <= 860) $('bar').scrollIntoView({behavior: calm ? 'auto' : 'smooth'});
});
function cellAt(e) {
    const box = $('heat').getBoundingClientRect(), s = site();
    const k = Math.floor((e.clientX - box.left - heat.left) / heat.cell), q = Math.floor((e.clientY - box.top - heat.top) / heat.cell);
    return k >= 0 && q >= 0 && k < s.keys.length && q < s.queries.length ? {k, q} : null;
}
function overHeat(e) {
    const at = heat && cellAt(e), tip = $('tip'), s = site();
    tip.hidden = !at;
    if (!at) { if (state.token && !state.token.pinned) setToken(null); return; }
    const w = heatValues()[at.q * s.keys.length + at.k] / data.scale;
    tip.textContent = token(s.queries, at.q) + ' \u2192 ' + token(s.keys, at.k) + ' \u2002' + w.toFixed(4);
    const wide = tip.offsetWidth, x = Math.max(4, Math.min(innerWidth - wide - 4, e.clientX + 14));
    tip.style.transform = 'translate(' + x + 'px, ' + Math.max(4, e.clientY - 40) + 'px)';
    if (!(state.token && state.token.pinned)) setToken({side: 'query', index: at.q, pinned: false});
}
$('heat').addEventListener('pointermove', overHeat);
$('heat').addEventListener('pointerdown', overHeat);
$('heat').addEventListener('pointerleave', () => { $('tip').hidden = true; if (state.token && !state.token.pinned) setToken(null); });
addEventListener('keydown', e => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const ol = e.target.closest && e.target.closest('ol');
    if (ol && ['ArrowUp', 'ArrowDown', 'Home', 'End'].includes(e.key)) walk(ol, e.key);
    else if (e.key === 'ArrowRight') step(1);
    else if (e.key === 'ArrowLeft') step(-1);
    else if (e.key === 'ArrowDown') choose({layer: (state.layer + 1) % site().layers.length});
    else if (e.key === 'ArrowUp') choose({layer: (state.layer + site().layers.length - 1) % site().layers.length});
    else if (e.key >= '1' && e.key <= '9' && Number(e.key) <= sites.length) choose({site: Number(e.key) - 1});
    else if (e.key === 'w' || e.key === 'W') choose({words: !state.words});
    else if ((e.key === 'c' || e.key === 'C') && special(site().queries[0])) setToken({side: 'query', index: 0, pinned: true});
    else if (e.key === 'm' || e.key === 'M') choose({heads: null});
    else if (e.key === 'a' || e.key === 'A') choose({heads: all(site())});
    else if (e.key === 'Escape') { if (state.token) setToken(null); else choose({heads: null}); $('tip').hidden = true; }
    else return;
    e.preventDefault();
});
addEventListener('hashchange', () => choose(fromAddress()));
darkQuery.addEventListener('change', () => { ramps = new Map(); thumbsOf = null; choose({}); });
new ResizeObserver(() => redraw(true)).observe($('views'));

$('title').textContent = data.title || 'Attention';
for (const text of data.lines || []) {
    const p = document.createElement('p');
    p.dir = 'auto';
    if (sites[0].segments && $('words').children.length) p.className = 'second';
    p.textContent = text;
    $('words').append(p);
}
$('rounding').textContent = 'Weights are rounded to 1/' + data.scale + '. The page is whole: it loads nothing.';
choose(fromAddress());
