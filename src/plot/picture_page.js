/* The script of picture_page.html: draws what its elements `data`, picture0-0, w<site>-<layer> and c<site>-<layer> hold,
 * and nothing else. */
'use strict';
/* ---- what is shown ---- A site has `layers` of `heads` maps of its tokens: `first` of them, then rows x columns patches.
 * Queries are the tokens, those of another grid, `asks`, or `learned` ones: that of attention pooling, or the latents of a Perceiver. Weights are whole
 * numbers, `scale` of them to the largest weight, `most`. Where there are cells, maps are of windows: (windows, heads, keys, keys),
 * and cells (windows, keys) say which patch a token is, -1: padding. */
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent), sites = data.sites;
sites.forEach((s, i) => {
    s.index = i;
    s.patches = s.rows * s.columns;
    s.tokens = s.first + s.patches;
    const patches = s.asks && s.asks.rows * s.asks.columns;
    s.asks = s.asks ? {...s.asks, first: 0, patches, tokens: patches} : s;
    s.maps = [];
});
/* query -1: the reader of the picture: class token, or all learned queries or patches on average. head -1: the mean. */
const state = {...data.start};
const site = () => sites[state.site];
/* Where all queries are learned, rollout says the same as attention; it goes through no keys that are pooled. */
const rolls = sites.some(s => !s.learned) && sites.every(s => s.asks.patches <= s.patches);

function bytes(element) {
    const text = atob(element.textContent.trim()), out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    element.textContent = '';
    return out;
}
function map(s, layer) {
    if (s.maps[layer]) return s.maps[layer];
    const b = bytes($('w' + s.index + '-' + layer)), at = $('c' + s.index + '-' + layer);
    const m = s.maps[layer] = {weights: data.scale > 255 ? new Uint16Array(b.buffer) : b};
    if (at) {
        m.cells = new Int32Array(bytes(at).buffer);
        m.slots = Array.from({length: s.patches}, () => []);
        m.cells.forEach((cell, k) => { if (cell >= 0) m.slots[cell].push(k); });
    }
    return m;
}
/* Adds `times` the row of a query to out (tokens). */
function addRow(s, layer, head, query, times, out) {
    const m = map(s, layer), n = s.keys;
    for (let h = head < 0 ? 0 : head; h < (head < 0 ? s.heads : head + 1); h++) {
        const t = times * data.most / data.scale / (head < 0 ? s.heads : 1);
        if (!m.cells) {
            const from = (h * (s.learned || s.asks.tokens) + query) * n;
            for (let j = 0; j < n; j++) out[j] += t * m.weights[from + j];
            continue;
        }
        const slots = m.slots[query - s.first]; // several where windows overlap: their mean
        for (const slot of slots) {
            const window = Math.floor(slot / n), from = ((window * s.heads + h) * n + slot % n) * n;
            for (let j = 0; j < n; j++) {
                const cell = m.cells[window * n + j];
                if (cell >= 0) out[s.first + cell] += t / slots.length * m.weights[from + j];
            }
        }
    }
}
function attention(s, layer, head, query) {
    const out = new Float64Array(s.tokens), all = query < 0 && !s.class;
    const low = !all ? Math.max(0, query) : s.learned ? 0 : s.asks.first, high = !all ? low + 1 : s.learned || s.asks.tokens;
    for (let q = low; q < high; q++) addRow(s, layer, head, q, 1 / (high - low), out);
    return out;
}
/* Abnar and Zuidema 2020: r becomes r (W + I) / 2 of every layer from the last to the first, W the mean of its heads; r W where
 * queries have a grid of their own. */
function through(s, layer, r) {
    const out = new Float64Array(s.tokens), row = new Float64Array(s.tokens), share = s.asks === s ? 0.5 : 1;
    for (let i = 0; i < s.asks.tokens; i++) {
        if (!r[i]) continue;
        row.fill(0);
        addRow(s, layer, -1, i, 1, row);
        const sum = row.reduce((a, b) => a + b, 0);
        if (sum > 0) for (let j = 0; j < s.tokens; j++) out[j] += share * r[i] * row[j] / sum;
        if (share < 1) out[i] += (sum > 0 ? 0.5 : 1) * r[i];
    }
    return out;
}
function unmerged(from, to, r) {
    const out = new Float64Array(to.tokens);
    if (from.rows === to.rows && from.columns === to.columns) return r.slice(); // nothing was merged
    for (let i = 0; i < from.patches; i++) {
        const y = 2 * Math.floor(i / from.columns), x = 2 * (i % from.columns);
        const down = y + 1 < to.rows ? 2 : 1, across = x + 1 < to.columns ? 2 : 1;
        for (let k = 0; k < down * across; k++) out[(y + Math.floor(k / across)) * to.columns + x + k % across] += r[i] / (down * across);
    }
    return out;
}
function rollout(s, layer, query) {
    let r = new Float64Array(s.asks.tokens), at = s.index;
    if (s.learned && s.class) { // a class token that comes late looks at itself and at patches that stay as they are
        const before = sites[Math.max(0, at - 1)], looked = new Float64Array(s.patches);
        let own = 1;
        for (let l = layer; l >= 0; l--) {
            const row = attention(s, l, -1, 0);
            for (let i = 0; i < s.patches; i++) looked[i] += own / 2 * row[s.first + i];
            own = own / 2 * (1 + row[0]);
        }
        if (before.patches === s.patches) {
            r = new Float64Array(before.tokens);
            r.set(looked, before.first);
        } else r = unmerged(s, before, looked);
        if (s === before) r[0] = own;
        at--;
    } else if (s.learned) {
        const row = attention(s, layer, -1, query), before = sites[0];
        r = new Float64Array(before.tokens);
        r.set(row, before.tokens - s.tokens);
        at = s === before ? -1 : 0;
    } else if (query >= 0 || s.class) r[Math.max(0, query)] = 1;
    else r.fill(1 / s.asks.patches, s.asks.first);
    for (; at >= 0; at--) {
        for (let l = at === s.index ? layer : sites[at].layers - 1; l >= 0; l--) r = through(sites[at], l, r);
        const before = at > 0 && sites[at - 1].asks;
        if (before && (before.rows !== sites[at].rows || before.columns !== sites[at].columns)) r = unmerged(sites[at], sites[at - 1], r);
    }
    return r;
}

/* ---- colours ---- a straight line through OKLab from dark violet to yellow, as heed's other pictures have it */
function oklch(light, chroma, hue) {
    const a = chroma * Math.cos(hue * Math.PI / 180), b = chroma * Math.sin(hue * Math.PI / 180);
    const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3,
          s = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3;
    return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s].map(v => {
        v = Math.min(1, Math.max(0, v));
        return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
    });
}
const chroma = [0.110, 0.138, 0.138, 0.102, 0.092, 0.098, 0.116, 0.148, 0.178, 0.184, 0.180];
const ramp = Array.from({length: 256}, (_, i) => {
    const t = i / 255, k = Math.min(9, Math.floor(10 * t));
    return oklch(0.22 + 0.72 * t, chroma[k] + (10 * t - k) * (chroma[k + 1] - chroma[k]), 300 - 195 * t);
});
/* Values (rows, columns) into a canvas of as many pixels. */
function paint(canvas, values, s) {
    const {low, high} = scaleOf(values, s);
    canvas.width = s.columns;
    canvas.height = s.rows;
    const g = canvas.getContext('2d'), image = g.createImageData(s.columns, s.rows);
    for (let i = 0; i < s.patches; i++) {
        const c = ramp[Math.max(0, Math.min(255, Math.round(255 * (values[s.first + i] - low) / (high - low))))];
        image.data.set([c[0], c[1], c[2], 255], 4 * i);
    }
    g.putImageData(image, 0, 0);
}
/* From 0 to the largest; where all are nearly equal, from the smallest, for else the map were of one colour. */
function scaleOf(values, s) {
    let least = Infinity, most = 0;
    for (let i = s.first; i < s.tokens; i++) {
        least = Math.min(least, values[i]);
        most = Math.max(most, values[i]);
    }
    return {low: least > most / 2 && least < most ? least : 0, high: most || 1};
}

/* ---- drawing ---- */
const plural = s => !s.class && s.learned !== 1;
const latents = s => s.learned > 1;
const many = s => s.word === 'query' ? 'object queries' : 'latents';
const queryName = () => latents(site()) ? state.query >= 0 ? site().word + ' ' + state.query : 'the ' + many(site()) + ', on average'
    : state.query >= site().asks.first ? 'patch ' + place(site().asks, state.query - site().asks.first)
    : state.query >= 0 ? site().names[state.query] : site().class ? 'the class token' : site().learned ? 'the pooling query' : 'all patches';
const place = (s, i) => Math.floor(i / s.columns) + ',' + i % s.columns;
/* The site whose patches are shown, and their weights. */
let shown = {site: site(), values: []};

function buttons(box, labels, pressed, act, disabled) {
    box.textContent = '';
    labels.forEach((label, i) => {
        const b = document.createElement('button');
        b.type = 'button';
        b.textContent = label;
        b.setAttribute('aria-pressed', String(Boolean(pressed(i))));
        b.disabled = Boolean(disabled && disabled(i));
        b.onclick = () => act(i);
        box.append(b);
    });
}
function row(table, name, value, most, act) {
    const tr = table.insertRow(), bar = document.createElement('i');
    tr.insertCell().textContent = name;
    bar.style.width = Math.max(0, Math.min(100, 100 * value / most)) + '%';
    tr.insertCell().append(bar);
    tr.insertCell().textContent = value.toFixed(4);
    if (act) tr.onclick = act;
}
function drawNumbers() {
    const {site: s, values} = shown, shares = $('shares'), most = $('most');
    const patches = values.slice(s.first).reduce((a, b) => a + b, 0), all = values.reduce((a, b) => a + b, 0);
    shares.textContent = most.textContent = '';
    for (let i = 0; i < s.first; i++) row(shares, s.names[i], values[i], 1);
    row(shares, 'patches', patches, 1);
    const less = site().class || $('c' + site().index + '-' + state.layer); // other weights may be no shares at all
    if (less && 1 - all > 0.002) row(shares, site().learned && site().class ? 'class' : 'padding', 1 - all, 1); // a late class token keeps some of its own
    $('shares-note').textContent = s.first ? 'Tokens that are no part of the picture, and all patches together.' : 'Of all patches together.';
    const order = Array.from({length: s.patches}, (_, i) => i).sort((a, b) => values[s.first + b] - values[s.first + a] || a - b).slice(0, 8);
    for (const i of order)
        row(most, place(s, i), values[s.first + i], values[s.first + order[0]] || 1, s === site() && s.asks === s && !s.learned ? () => choose({query: s.first + i}) : null);
}
function boxOf(element, s, i) {
    const y = Math.floor(i / s.columns), x = i % s.columns;
    element.style.left = 100 * x * s.wide + '%';
    element.style.top = 100 * y * s.high + '%';
    element.style.width = 100 * s.wide + '%';
    element.style.height = 100 * s.high + '%';
    element.hidden = false;
}
/* ---- what was found ---- one object for each query, the surest first; boxes are parts of the picture shown */
const objects = data.objects || [];
let least = data.threshold;
/* Which query of a site found it: a learned one, or a token before the patches; -1: none did. */
const finder = (s, o) => s.learned ? s.learned === objects.length ? o.query : -1 : s.finders ? s.first - s.finders + o.query : -1;
const finding = () => finder(site(), objects[0]) >= 0 ? state.site : sites.findLastIndex(s => finder(s, objects[0]) >= 0);
const isOpen = o => state.query >= 0 && finder(site(), o) === state.query;
const titleOf = o => (o.name || 'class ' + o.label) + ' ' + o.score.toFixed(2);
function openObject(o) {
    const at = finding();
    if (at >= 0) choose({site: at, query: isOpen(o) ? -1 : finder(sites[at], o), rollout: false});
}
/* A label that would hide one before it goes into its box, or further down. */
function placeLabels(boxes) {
    const taken = [], frame = $('frame').getBoundingClientRect();
    for (const b of boxes) {
        const label = b.firstChild;
        label.style.transform = '';
        b.classList.toggle('below', b.getBoundingClientRect().top - label.offsetHeight < frame.top);
        const r = label.getBoundingClientRect(), over = frame.right - r.right;
        let x = Math.min(0, over - 2), y = 0;
        const hits = t => r.left + x < t.right && t.left < r.right + x && r.top + y < t.bottom && t.top < r.bottom + y;
        for (let t = taken.find(hits), tries = 0; t && tries < 40; t = taken.find(hits), tries++) y = t.bottom + 2 - r.top;
        label.style.transform = 'translate(' + x + 'px,' + y + 'px)';
        taken.push({left: r.left + x, right: r.right + x, top: r.top + y, bottom: r.bottom + y});
    }
}
let objectsOf = '';
function drawObjects() {
    if (!objects.length) return;
    const frame = $('frame'), key = String(least);
    if (key !== objectsOf) {
        objectsOf = key;
        frame.querySelectorAll('.object').forEach(b => b.remove());
        objects.filter(o => o.score > least).slice(0, 60).forEach(o => {
            const b = document.createElement('button'), label = document.createElement('span'), [x, y, w, h] = o.box;
            const left = Math.max(0, x), top = Math.max(0, y);
            b.type = 'button';
            b.className = 'object';
            b.style.cssText = `left:${100 * left}%;top:${100 * top}%;width:${100 * (Math.min(1, x + w) - left)}%;height:${100 * (Math.min(1, y + h) - top)}%`;
            b.style.setProperty('--own', `oklch(.8 .15 ${(o.label * 137.5 + 70) % 360})`);
            label.textContent = titleOf(o);
            b.append(label);
            b.of = o;
            b.onclick = e => { e.stopPropagation(); openObject(o); };
            frame.append(b);
        });
        $('least').value = Math.round(100 * least);
        $('least-value').textContent = least.toFixed(2);
    }
    const boxes = [...frame.querySelectorAll('.object')];
    boxes.forEach(b => b.setAttribute('aria-pressed', String(isOpen(b.of))));
    frame.classList.toggle('one', boxes.some(b => isOpen(b.of)));
    document.body.dataset.boxes = boxes.length;
    placeLabels(boxes);
}
function nextObject() {
    const above = objects.filter(o => o.score > least), at = above.findIndex(isOpen);
    if (above.length) openObject(above[(at + 1) % above.length]);
}
function drawMap() {
    const s = shown.site, {low, high} = scaleOf(shown.values, s), canvas = $('map');
    paint(canvas, shown.values, s);
    canvas.style.width = 100 * s.columns * s.wide + '%';
    canvas.style.height = 100 * s.rows * s.high + '%';
    canvas.style.opacity = $('strength').value / 100;
    $('frame').classList.toggle('smooth', state.smooth);
    $('frame').classList.toggle('bare', $('strength').value === '0');
    $('smallest').textContent = low ? low.toPrecision(3) + ' (all are nearly equal)' : '0';
    $('largest').textContent = high.toPrecision(3);
    if (!site().learned && state.query >= site().asks.first) boxOf($('mark'), site().asks, state.query - site().asks.first);
    else $('mark').hidden = true;
    document.body.dataset.largest = high.toFixed(6);
    document.body.dataset.smallest = low.toFixed(6);
}
/* A small map that is chosen by a click. */
function thumb(s, values, label, pressed, act) {
    const b = document.createElement('button'), c = document.createElement('canvas');
    b.type = 'button';
    b.setAttribute('aria-label', label);
    b.setAttribute('aria-pressed', String(pressed));
    paint(c, values, s);
    c.style.aspectRatio = (s.columns * s.wide * data.width) + ' / ' + (s.rows * s.high * data.height);
    c.style.imageRendering = state.smooth ? 'auto' : 'pixelated';
    b.append(c);
    b.onclick = act;
    return b;
}
/* What each latent looks at; of very many only the first, which is said. */
const MOST_PIXELS = 4e6;
let latentsOf = '';
function drawLatents() {
    const s = site(), box = $('latents'), n = Math.min(s.learned, Math.max(16, Math.floor(MOST_PIXELS / s.patches)));
    const key = [state.site, state.layer, state.head, state.smooth].join();
    $('all-latents').hidden = !latents(s);
    $('latents-title').textContent = 'All ' + many(s);
    if (!latents(s)) return;
    if (key !== latentsOf) {
        box.textContent = '';
        for (let q = 0; q < n; q++) {
            const b = thumb(s, attention(s, state.layer, state.head, q), s.word + ' ' + q, false, () => choose({query: state.query === q ? -1 : q}));
            b.title = s.word + ' ' + q;
            box.append(b);
        }
        $('latents-note').textContent = (n < s.learned ? 'The first ' + n + ' of ' + s.learned : 'From ' + s.word + ' 0') +
            ', row by row, each on a scale of its own. A click opens one.';
        latentsOf = key;
    }
    [...box.children].forEach((b, q) => b.setAttribute('aria-pressed', String(q === state.query)));
}
function drawThumbs() {
    const s = site(), box = $('thumbs'), wide = Math.max(44, Math.min(110, 900 / (s.heads + 1)));
    box.textContent = '';
    box.style.gridTemplateColumns = 'auto repeat(' + s.heads + ', ' + wide + 'px)';
    box.append(document.createElement('span'));
    for (let h = 0; h < s.heads; h++) {
        const top = document.createElement('span');
        top.className = 'top';
        top.textContent = h ? String(h) : 'head 0';
        box.append(top);
    }
    for (let l = 0; l < s.layers; l++) {
        const name = document.createElement('span');
        name.textContent = 'layer ' + l;
        box.append(name);
        for (let h = 0; h < s.heads; h++) {
            const b = thumb(s, attention(s, l, h, state.query), 'layer ' + l + ', head ' + h, !state.rollout && l === state.layer && h === state.head,
                            () => choose({layer: l, head: h, rollout: false}));
            b.dataset.layer = l, b.dataset.head = h;
            box.append(b);
        }
    }
    document.body.dataset.thumbs = s.layers * s.heads;
}
/* Latents are too many for buttons. */
function drawChooser(s) {
    const list = $('latent');
    list.hidden = !latents(s);
    if (list.hidden) return;
    if (list.length !== s.learned + 1) {
        list.textContent = '';
        list.add(new Option('one ' + s.word, -1));
        for (let q = 0; q < s.learned; q++) list.add(new Option(s.word + ' ' + q, q));
    }
    list.value = state.query;
    list.classList.toggle('chosen', state.query >= 0);
}
function drawBar() {
    const s = site();
    $('sites').parentElement.hidden = sites.length < 2;
    buttons($('sites'), sites.map(x => x.name), i => i === state.site, i => choose({site: i}));
    buttons($('layers'), Array.from({length: s.layers}, (_, i) => String(i)), i => i === state.layer, i => choose({layer: i}));
    buttons($('heads'), ['mean', ...Array.from({length: s.heads}, (_, i) => String(i))], i => !state.rollout && i - 1 === state.head,
            i => choose({head: i - 1}), i => state.rollout && i > 0);
    const reader = latents(s) ? 'all ' + (s.word === 'query' ? 'queries' : 'latents') : s.class ? 'class token' : s.learned ? 'pooling' : 'all patches';
    const others = s.learned ? [] : s.names.map((name, i) => ({name, i})).filter(x => !(s.class && x.i === 0));
    const patch = !s.learned && state.query >= s.asks.first ? [{name: 'patch ' + place(s.asks, state.query - s.asks.first), i: state.query}] : [];
    const queries = [{name: reader, i: -1}, ...others, ...patch];
    buttons($('queries'), queries.map(q => q.name), i => queries[i].i === state.query, i => choose({query: queries[i].i}));
    drawChooser(s);
    const shows = [{name: 'attention', on: !state.rollout, to: {rollout: false}}, {name: 'rollout', on: state.rollout, to: {rollout: true, head: -1}},
                   {name: 'smooth', on: state.smooth, to: {smooth: !state.smooth}}].filter(x => rolls || x.name !== 'rollout');
    buttons($('shows'), shows.map(x => x.name), i => shows[i].on, i => choose(shows[i].to));
}
function drawStatus() {
    const s = site(), b = document.createElement('b'), text = $('status');
    const found = objects.find(isOpen);
    b.textContent = queryName() + (found ? ' (' + titleOf(found) + ')' : '');
    text.textContent = '';
    text.append(state.rollout ? 'Rollout to layer ' + state.layer + ': ' : 'Layer ' + state.layer + ', ' +
                (state.head < 0 ? 'mean of ' + s.heads + (s.heads === 1 ? ' head' : ' heads') : 'head ' + state.head) + ': ', b,
                state.rollout ? plural(s) && state.query < 0 ? ' are made of' : ' is made of' : plural(s) && state.query < 0 ? ' look at' : ' looks at');
}
/* Everything that the state says; nonsense in `change` is passed over. */
let thumbsOf = '';
function choose(change) {
    const next = {...state, ...change}, valid = (v, low, high) => Number.isInteger(v) && v >= low && v < high;
    if (!valid(next.site, 0, sites.length)) next.site = state.site;
    const s = sites[next.site];
    if (!valid(next.layer, 0, s.layers)) next.layer = s.layers - 1;
    if (!valid(next.head, -1, s.heads)) next.head = -1;
    if (!valid(next.query, -1, s.learned || s.asks.tokens) || (next.site !== state.site && change.query === undefined)) next.query = -1;
    if ((s.class || s.learned === 1) && next.query === 0) next.query = -1;
    if (!rolls) next.rollout = false;
    if (next.rollout) next.head = -1;
    Object.assign(state, next);
    shown = state.rollout ? {site: sites[0], values: rollout(s, state.layer, state.query)}
                          : {site: s, values: attention(s, state.layer, state.head, state.query)};
    drawBar();
    drawStatus();
    drawMap();
    drawObjects();
    drawNumbers();
    drawLatents();
    const key = [state.site, state.query, state.layer, state.head, state.rollout, state.smooth].join();
    if (key !== thumbsOf) thumbsOf = key, drawThumbs();
    Object.assign(document.body.dataset, {site: s.name, layer: state.layer, head: state.head < 0 ? 'mean' : state.head, query: state.query,
                                          rollout: state.rollout, smooth: state.smooth});
    history.replaceState(null, '', '#site=' + state.site + '&layer=' + state.layer + '&head=' + (state.head < 0 ? 'mean' : state.head) +
                         '&query=' + state.query + (state.rollout ? '&rollout' : '') + (state.smooth ? '&smooth' : ''));
}

/* ---- pointer and keyboard ---- */
function patchAt(e, s) {
    const r = $('frame').getBoundingClientRect();
    const x = Math.floor((e.clientX - r.left) / r.width / s.wide), y = Math.floor((e.clientY - r.top) / r.height / s.high);
    return x >= 0 && y >= 0 && x < s.columns && y < s.rows ? y * s.columns + x : -1;
}
$('frame').addEventListener('click', e => {
    const s = site().asks, i = patchAt(e, s);
    if (i >= 0 && !site().learned) choose({query: state.query === s.first + i ? -1 : s.first + i});
});
$('frame').addEventListener('pointermove', e => {
    const s = site(), i = patchAt(e, s);
    if (i < 0) { $('over').hidden = true; return; }
    boxOf($('over'), s, i);
    if (shown.site === s) $('frame').title = 'patch ' + place(s, i) + ': ' + shown.values[s.first + i].toFixed(4);
    else $('frame').removeAttribute('title');
});
$('frame').addEventListener('pointerleave', () => { $('over').hidden = true; });
$('strength').addEventListener('input', drawMap);
$('least').addEventListener('input', () => {
    least = $('least').value / 100;
    drawObjects();
});
addEventListener('resize', drawObjects);
$('latent').addEventListener('change', () => choose({query: Number($('latent').value)}));
function move(dy, dx) {
    const s = site().asks, at = Math.max(0, state.query - s.first), y = Math.floor(at / s.columns) + dy, x = at % s.columns + dx;
    const clamp = (v, n) => Math.max(0, Math.min(n - 1, v));
    choose({query: s.first + (state.query < s.first ? 0 : clamp(y, s.rows) * s.columns + clamp(x, s.columns))});
}
addEventListener('keydown', e => {
    if (e.ctrlKey || e.altKey || e.metaKey || e.target.id === 'strength' || e.target.id === 'least' || e.target.id === 'latent') return;
    const s = site(), steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (e.target.id === 'frame' && steps[e.key] && !s.learned) move(...steps[e.key]);
    else if (latents(s) && (e.key === 'n' || e.key === 'N')) choose({query: state.query + 1 < s.learned ? state.query + 1 : -1});
    else if (latents(s) && (e.key === 'p' || e.key === 'P')) choose({query: state.query >= 0 ? state.query - 1 : s.learned - 1});
    else if (e.key === 'ArrowRight') choose({head: state.head + 1 < s.heads ? state.head + 1 : -1, rollout: false});
    else if (e.key === 'ArrowLeft') choose({head: state.head >= 0 ? state.head - 1 : s.heads - 1, rollout: false});
    else if (e.key === 'ArrowDown') choose({layer: (state.layer + 1) % s.layers});
    else if (e.key === 'ArrowUp') choose({layer: (state.layer + s.layers - 1) % s.layers});
    else if (objects.length && (e.key === 'o' || e.key === 'O')) nextObject();
    else if (e.key === 'c' || e.key === 'C' || e.key === 'Escape') choose({query: -1});
    else if (e.key === 'r' || e.key === 'R') choose({rollout: !state.rollout});
    else if (e.key === 's' || e.key === 'S') choose({smooth: !state.smooth});
    else if (e.key >= '1' && e.key <= '9' && Number(e.key) <= sites.length) choose({site: Number(e.key) - 1});
    else return;
    e.preventDefault();
});
function fromAddress() {
    const at = new URLSearchParams(location.hash.slice(1)), number = (name, otherwise) => /^-?\d{1,9}$/.test(at.get(name)) ? Number(at.get(name)) : otherwise;
    if (!at.size) return {};
    return {site: number('site', data.start.site), layer: number('layer', data.start.layer), head: number('head', -1), query: number('query', -1),
            rollout: at.has('rollout'), smooth: at.has('smooth')};
}
addEventListener('hashchange', () => choose(fromAddress()));

$('title').textContent = data.title || 'Attention';
$('line').textContent = data.line || '';
$('picture').alt = data.line || 'the picture';
$('picture').src = 'data:image/jpeg;base64,' + $('picture0-0').textContent.trim();
$('frame').style.aspectRatio = data.width + ' / ' + data.height;
$('frame').style.maxWidth = 'calc(78vh * ' + data.width / data.height + ')';
$('frame').classList.toggle('still', !rolls);
$('keys-patches').hidden = $('about-rollout').hidden = !rolls;
$('found').hidden = $('keys-objects').hidden = !objects.length;
$('keys-latents').hidden = !sites.some(s => latents(s) && s.word === 'latent');
$('rounding').textContent = 'Weights are rounded to ' + (data.most / data.scale).toPrecision(2) + '. The page is whole: it loads nothing.';
{
    const g = $('ramp').getContext('2d');
    ramp.forEach((c, i) => { g.fillStyle = 'rgb(' + c + ')'; g.fillRect(i, 0, 1, 1); });
}
choose(fromAddress());
