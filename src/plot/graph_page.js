/* The script of graph_page.html: draws what its elements `data` and w<site>-<layer> hold, and nothing else. */
'use strict';
/* ---- what is shown ---- A site has `layers` of weights (heads, edges), whole numbers, `scale` of them to 1. Edge e leads from node
 * from[e] to node to[e], which attends to it; the weights of all edges to a node sum to 1. */
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent), {sites, from, to} = data;
const nodes = data.nodes.map(([name, x, y, own, label]) => ({name, x, y, own, label, into: [], out: []}));
from.forEach((i, e) => { nodes[i].out.push(e); nodes[to[e]].into.push(e); });
/* head -1: the mean. node -1: none is chosen; over: the one under the pointer. */
const state = {...data.start, least: 0};
let over = -1, weights = [];
const site = () => sites[state.site];
const open = () => over >= 0 ? over : state.node;

function map(s, layer) {
    const at = site().maps || (site().maps = []);
    if (at[layer]) return at[layer];
    const element = $('w' + s + '-' + layer), text = atob(element.textContent.trim()), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return at[layer] = new Uint16Array(bytes.buffer);
}
function weight(layer, head, e) {
    const m = map(state.site, layer), n = from.length, low = head < 0 ? 0 : head, high = head < 0 ? site().heads : head + 1;
    let sum = 0;
    for (let h = low; h < high; h++) sum += m[h * n + e];
    return sum / data.scale / (high - low);
}

/* ---- the graph ---- in units in which two neighbours are about 1 apart */
const svgNode = (name, attributes, parent) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (parent) parent.append(e);
    return e;
};
const colour = k => k < 0 ? 'var(--none)' : k < 8 ? 'var(--c' + k + ')' : 'oklch(.68 .14 ' + k * 137.5 % 360 + ')';
const box = (() => {
    let low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    for (const n of nodes) {
        low = [Math.min(low[0], n.x), Math.min(low[1], n.y)];
        high = [Math.max(high[0], n.x), Math.max(high[1], n.y)];
    }
    return {x: low[0] - 0.8, y: low[1] - 0.8, w: high[0] - low[0] + 1.6, h: high[1] - low[1] + 1.6};
})();
const radius = Math.max(0.06, Math.min(0.24, 0.022 * Math.sqrt(box.w * box.h), 0.3 * Math.sqrt(box.w * box.h / nodes.length)));
const pairs = new Set(from.map((a, e) => a + ' ' + to[e]));
let view = {...box};
const graph = $('graph'), lines = svgNode('g', {}, graph), dots = svgNode('g', {}, graph), names = svgNode('g', {}, graph);
graph.style.setProperty('--name', 1.25 * radius + 'px');

/* A loop away from the neighbours, a bow where the other way has an edge too, or a line, to the edge of the node. */
function shape(e) {
    const a = nodes[from[e]], b = nodes[to[e]], r = radius;
    if (a === b) {
        let x = 0, y = 0;
        for (const k of [...a.into, ...a.out]) {
            const other = nodes[from[k]] === a ? nodes[to[k]] : nodes[from[k]], d = Math.hypot(other.x - a.x, other.y - a.y);
            if (d > 0) x -= (other.x - a.x) / d, y -= (other.y - a.y) / d;
        }
        const size = Math.hypot(x, y), ux = size ? x / size : 0, uy = size ? y / size : -1, far = 3.4 * r, wide = 2 * r;
        return {line: `M${a.x} ${a.y}C${a.x + far * ux - wide * uy} ${a.y + far * uy + wide * ux} ${a.x + far * ux + wide * uy} ${a.y + far * uy - wide * ux} ${a.x} ${a.y}`};
    }
    const dx = b.x - a.x, dy = b.y - a.y, bow = pairs.has(to[e] + ' ' + from[e]) ? 0.13 : 0;
    const cx = a.x + dx / 2 - bow * dy, cy = a.y + dy / 2 + bow * dx, d = Math.hypot(b.x - cx, b.y - cy) || 1;
    const ux = (b.x - cx) / d, uy = (b.y - cy) / d, tip = {x: b.x - 1.12 * r * ux, y: b.y - 1.12 * r * uy};
    return {line: `M${a.x} ${a.y}Q${cx} ${cy} ${tip.x - 0.5 * r * ux} ${tip.y - 0.5 * r * uy}`, tip, ux, uy};
}
const edges = from.map((_, e) => {
    const s = shape(e), group = svgNode('g', {}, lines);
    return {...s, path: svgNode('path', {class: 'edge', d: s.line}, group), head: s.tip && svgNode('path', {class: 'arrow'}, group), group};
});
const named = nodes.length <= 150, within = nodes.every(n => n.name.length <= 3);
nodes.forEach((n, i) => {
    const wrong = n.label >= 0 && n.own >= 0 && n.label !== n.own;
    const g = n.group = svgNode('g', {class: 'node' + (wrong ? ' wrong' : ''), transform: `translate(${n.x} ${n.y})`, tabindex: 0, role: 'button', 'aria-label': n.name}, dots);
    svgNode('circle', {class: 'back', r: 1.35 * radius, 'stroke-width': 0.28 * radius}, g);
    svgNode('circle', {r: radius, fill: colour(n.own), 'stroke-width': 0.12 * radius}, g);
    if (wrong) svgNode('circle', {class: 'ring', r: 1.24 * radius, style: 'stroke:' + colour(n.label), 'stroke-width': 0.26 * radius}, g);
    svgNode('title', {}, g).textContent = n.name + (n.own >= 0 ? ': ' + data.classes[n.own] : '') + (wrong ? ', in truth ' + data.classes[n.label] : '');
    if (named) {
        n.text = svgNode('text', {class: within ? 'within' : '', x: n.x, y: n.y + (within ? 0.36 : -1.45) * radius}, names);
        n.text.textContent = n.name.length > 18 ? n.name.slice(0, 17) + '\u2026' : n.name;
    }
    g.addEventListener('pointerenter', () => hover(i));
    g.addEventListener('pointerleave', () => hover(-1));
    g.addEventListener('click', () => { if (!dragged) choose({node: state.node === i ? -1 : i}); });
    g.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') e.preventDefault(), choose({node: state.node === i ? -1 : i}); });
});

function drawEdges() {
    const at = open(), least = state.least, high = at < 0 ? 1 : Math.max(...nodes[at].into.map(e => weights[e]), 1e-9), order = weights.map((w, e) => e).sort((a, b) => weights[a] - weights[b]);
    let drawn = 0;
    for (const e of order) {
        const {path, head, tip, ux, uy, group} = edges[e], w = weights[e], mine = at < 0 || to[e] === at;
        const shown = w >= least && (mine || at >= 0 && w >= 0.02), part = mine ? w / high : 0;
        const wide = radius * (0.04 + 0.44 * part), strong = !mine ? 0.05 : (at < 0 ? 0.1 : 0.3) + 0.65 * part;
        group.style.display = shown ? '' : 'none';
        if (!shown) continue;
        drawn += mine;
        path.style.strokeWidth = wide;
        path.style.strokeOpacity = strong;
        if (head) {
            const size = Math.min(1.3 * radius, 0.3 * radius + 2.2 * wide), x = tip.x, y = tip.y;
            head.setAttribute('d', `M${x} ${y}L${x - size * ux - 0.45 * size * uy} ${y - size * uy + 0.45 * size * ux}L${x - size * ux + 0.45 * size * uy} ${y - size * uy - 0.45 * size * ux}Z`);
            head.style.fillOpacity = strong;
        }
        lines.append(group); // the strong ones on top
    }
    const near = new Set(at >= 0 ? [at, ...nodes[at].into.map(e => from[e])] : []);
    graph.classList.toggle('far', at >= 0);
    nodes.forEach((n, i) => {
        n.group.classList.toggle('near', near.has(i));
        if (n.text) n.text.classList.toggle('near', near.has(i));
        n.group.classList.toggle('open', i === state.node);
    });
    document.body.dataset.edges = drawn;
}
function drawView() { graph.setAttribute('viewBox', [view.x, view.y, view.w, view.h].join(' ')); }

/* ---- numbers ---- */
function buttons(parent, labels, pressed, act) {
    parent.textContent = '';
    labels.forEach((label, i) => {
        const b = document.createElement('button');
        b.type = 'button';
        b.textContent = label;
        b.setAttribute('aria-pressed', String(Boolean(pressed(i))));
        b.onclick = () => act(i);
        parent.append(b);
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
    const at = open(), most = $('most'), every = $('every');
    const list = (at < 0 ? weights.map((w, e) => e).filter(e => from[e] !== to[e] && nodes[to[e]].into.length > 1) : [...nodes[at].into]);
    list.sort((a, b) => weights[b] - weights[a] || a - b);
    most.textContent = every.textContent = '';
    $('most-title').textContent = at < 0 ? 'Largest weights' : nodes[at].name + ' attends to';
    $('most-note').textContent = at < 0 ? 'Of nodes that more than one edge leads to: who attends to whom.' : 'All edges that lead to it; their weights sum to 1.';
    for (const e of list.slice(0, at < 0 ? 14 : 40))
        row(most, at < 0 ? nodes[to[e]].name + ' \u2192 ' + nodes[from[e]].name : from[e] === at ? nodes[at].name + ' (itself)' : nodes[from[e]].name, weights[e],
            at < 0 ? 1 : weights[list[0]] || 1, () => choose({node: at < 0 ? to[e] : from[e]}));
    const e = list[0];
    $('every-title').hidden = $('every-note').hidden = at < 0 || e === undefined;
    if (at < 0 || e === undefined) return;
    $('every-note').textContent = 'The weight of ' + (from[e] === at ? 'itself' : nodes[from[e]].name) + ', its first.';
    for (let l = 0; l < site().layers; l++)
        for (let h = 0; h < site().heads; h++) row(every, 'layer ' + l + ', head ' + h, weight(l, h, e), 1, () => choose({layer: l, head: h}));
}
function drawBar() {
    const s = site();
    $('sites').parentElement.hidden = sites.length < 2;
    buttons($('sites'), sites.map(x => x.name), i => i === state.site, i => choose({site: i}));
    buttons($('layers'), Array.from({length: s.layers}, (_, i) => String(i)), i => i === state.layer, i => choose({layer: i}));
    buttons($('heads'), ['mean', ...Array.from({length: s.heads}, (_, i) => String(i))], i => i - 1 === state.head, i => choose({head: i - 1}));
    $('least').value = Math.round(100 * state.least);
    $('least-value').textContent = state.least.toFixed(2);
}
function drawStatus() {
    const s = site(), b = document.createElement('b'), text = $('status'), at = open();
    const what = n => n.own < 0 ? '' : ' (' + data.classes[n.own] + (n.label >= 0 && n.label !== n.own ? ', in truth ' + data.classes[n.label] : '') + ')';
    b.textContent = at < 0 ? 'all nodes' : nodes[at].name + what(nodes[at]);
    text.textContent = '';
    text.append('Layer ' + state.layer + ', ' + (state.head < 0 ? 'mean of ' + s.heads + (s.heads === 1 ? ' head' : ' heads') : 'head ' + state.head) + ': what ', b,
                at < 0 ? ' attend to' : ' attends to');
}

/* ---- changes ---- */
function draw() {
    drawEdges();
    drawNumbers();
    drawStatus();
}
function hover(i) {
    if (over === i || dragging) return;
    over = i;
    draw();
}
/* Everything that the state says; nonsense in `change` is passed over. */
function choose(change) {
    const next = {...state, ...change}, valid = (v, low, high) => Number.isInteger(v) && v >= low && v < high;
    if (!valid(next.site, 0, sites.length)) next.site = state.site;
    const s = sites[next.site];
    if (!valid(next.layer, 0, s.layers)) next.layer = s.layers - 1;
    if (!valid(next.head, -1, s.heads)) next.head = -1;
    if (!valid(next.node, -1, nodes.length)) next.node = -1;
    Object.assign(state, next);
    weights = from.map((_, e) => weight(state.layer, state.head, e));
    drawBar();
    draw();
    Object.assign(document.body.dataset, {site: s.name, layer: state.layer, head: state.head < 0 ? 'mean' : state.head, node: state.node < 0 ? '' : nodes[state.node].name});
    history.replaceState(null, '', '#site=' + state.site + '&layer=' + state.layer + '&head=' + (state.head < 0 ? 'mean' : state.head) + '&node=' + state.node);
}

/* ---- pointer and keyboard ---- */
let dragging = null, dragged = false;
const frame = $('frame'), scale = () => Math.max(view.w / frame.clientWidth, view.h / frame.clientHeight);
frame.addEventListener('pointerdown', e => {
    dragging = {x: e.clientX, y: e.clientY, view: {...view}};
    dragged = false;
});
addEventListener('pointermove', e => {
    if (!dragging) return;
    const dx = e.clientX - dragging.x, dy = e.clientY - dragging.y;
    if (Math.hypot(dx, dy) > 4) dragged = true;
    if (!dragged) return;
    frame.classList.add('dragged');
    view = {...dragging.view, x: dragging.view.x - dx * scale(), y: dragging.view.y - dy * scale()};
    drawView();
});
addEventListener('pointerup', () => {
    dragging = null;
    frame.classList.remove('dragged');
});
frame.addEventListener('wheel', e => {
    const r = frame.getBoundingClientRect(), by = Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 300);
    const w = Math.max(1, Math.min(2 * box.w, view.w * by)), k = w / view.w, m = scale();
    const x = view.x + view.w / 2 + (e.clientX - r.left - r.width / 2) * m, y = view.y + view.h / 2 + (e.clientY - r.top - r.height / 2) * m;
    view = {x: x + (view.x - x) * k, y: y + (view.y - y) * k, w, h: view.h * k};
    drawView();
    e.preventDefault();
}, {passive: false});
$('least').addEventListener('input', () => choose({least: $('least').value / 100}));
$('find').addEventListener('input', () => {
    const i = nodes.findIndex(n => n.name === $('find').value);
    if (i >= 0) choose({node: i});
});
addEventListener('keydown', e => {
    if (e.ctrlKey || e.altKey || e.metaKey || e.target.id === 'least' || e.target.id === 'find') return;
    const s = site();
    if (e.key === 'ArrowRight') choose({head: state.head + 1 < s.heads ? state.head + 1 : -1});
    else if (e.key === 'ArrowLeft') choose({head: state.head >= 0 ? state.head - 1 : s.heads - 1});
    else if (e.key === 'ArrowDown') choose({layer: (state.layer + 1) % s.layers});
    else if (e.key === 'ArrowUp') choose({layer: (state.layer + s.layers - 1) % s.layers});
    else if (e.key === 'Escape') choose({node: -1});
    else if (e.key === '0') view = {...box}, drawView();
    else return;
    e.preventDefault();
});
function fromAddress() {
    const at = new URLSearchParams(location.hash.slice(1)), number = (name, otherwise) => /^-?\d{1,9}$/.test(at.get(name)) ? Number(at.get(name)) : otherwise;
    if (!at.size) return {};
    return {site: number('site', data.start.site), layer: number('layer', data.start.layer), head: number('head', -1), node: number('node', -1)};
}
addEventListener('hashchange', () => choose(fromAddress()));

$('title').textContent = data.title || 'Attention';
$('line').textContent = data.line || '';
nodes.forEach(n => $('names').append(new Option(n.name)));
data.classes.forEach((name, k) => {
    if (!nodes.some(n => n.own === k || n.label === k)) return;
    const entry = document.createElement('span'), dot = document.createElement('i');
    dot.style.background = colour(k);
    entry.append(dot, name);
    $('legend').append(entry);
});
if (nodes.some(n => n.label >= 0 && n.own >= 0 && n.label !== n.own)) $('legend').append('ring: the true class');
$('rounding').textContent = 'Weights are rounded to ' + (1 / data.scale).toPrecision(2) + '. The page is whole: it loads nothing.';
drawView();
choose(fromAddress());
