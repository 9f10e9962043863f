// The call stacks of the transfers as a tree: a flame graph, and the same as a list that unfolds. By what was
// lost, moved, or how long it took.
import flamegraph from 'd3-flame-graph';
import { select } from 'd3-selection';
import { h, name, section } from './dom.js';
import { base_name, bytes, shown, text_of } from './format.js';

const CELL = 20;
const LISTED = 200; // children of a node in the list
const DEEP = 300; // frames of a stack

const MEASURES = [
  ['lost', 'time lost', (row) => (row.lost_s > 0 ? row.lost_s : 0), (value) => text_of(value, 's')],
  ['bytes', 'bytes', (row) => row.bytes, (value) => bytes(Math.round(value))],
  ['time', 'time of transfers', (row) => (row.achieved_gbps > 0 ? row.bytes / row.achieved_gbps / 1e9 : 0), (value) => text_of(value, 's')],
];

function frame_name({ function: where, file, line, module, offset }) {
  if (where) return `${where}${file && line ? ` (${base_name(file)}:${line})` : ''}`;
  return `${base_name(module ?? 'unknown module')}${offset ? ` +${offset}` : ''}`;
}

// Outermost frame first; behind the innermost what was called.
function path_of({ site, function: called, direction }) {
  const frames = site.stack?.length ? site.stack.slice(0, DEEP).map(frame_name).reverse() : [site.text];
  return [...frames, `${called}, ${direction}`].map(shown);
}

// { name, value, children }: the value is that of all below.
export function tree_of(rows, value_of) {
  const root = { name: 'all transfers', value: 0, children: new Map() };
  for (const row of rows) {
    const value = value_of(row);
    if (!(value > 0) || !Number.isFinite(value)) continue;
    let node = root;
    node.value += value;
    for (const part of path_of(row)) {
      if (!node.children.has(part)) node.children.set(part, { name: part, value: 0, children: new Map() });
      node = node.children.get(part);
      node.value += value;
    }
  }
  const listed = ({ name: of, value, children }) => ({ name: of, value, children: [...children.values()].map(listed).sort((a, b) => b.value - a.value) });
  return listed(root);
}

const LONG = 72; // of a name in the list

const short = (text) => name(text.length > LONG ? `${text.slice(0, LONG - 3)}...` : text, text.length > LONG ? { title: text } : {});

// The first three frames of a long line and the last one; how many lie between.
function chain_of(chain) {
  const left_out = chain.slice(3, -1);
  const parts = left_out.length < 2 ? chain.map((one) => short(one.name))
    : [...chain.slice(0, 3).map((one) => short(one.name)), h('span', { class: 'dim', title: left_out.map((one) => one.name).join('\n') }, `${left_out.length} frames`), short(chain[chain.length - 1].name)];
  return parts.map((part, i) => [i ? ' \u203a ' : '', part]);
}

// A frame with one child of the same value stands in one line with it.
function lines_of(node, text, whole) {
  const chain = [node];
  while (chain[chain.length - 1].children.length === 1) chain.push(chain[chain.length - 1].children[0]);
  const last = chain[chain.length - 1];
  const line = [h('data', { class: 'weight', value: node.value }, text(node.value)), h('span', { class: 'dim part-of' }, `${((100 * node.value) / whole).toFixed(0)} %`),
    chain_of(chain)];
  if (!last.children.length) return h('li', {}, line);
  const rest = h('ul', { class: 'plain' });
  const fill = () => rest.children.length || rest.append(...last.children.slice(0, LISTED).map((child) => lines_of(child, text, whole)));
  const details = h('details', { class: 'aside', ontoggle: () => details.open && fill() }, h('summary', {}, line), rest);
  if (node.value === whole) {
    fill();
    details.open = true;
  }
  return h('li', {}, details);
}

// Frames of the program, of what it calls, and what is called.
const shade = (d) => (!d.children ? 'var(--flame-2)' : `var(--flame-${d.depth % 2})`);

function drawn(tree, text, width) {
  const box = h('div', { class: 'flame' });
  const chart = flamegraph().width(width).cellHeight(CELL).transitionDuration(0).minFrameSize(2).inverted(true).sort(false).resetHeightOnZoom(false)
    .label((d) => `${d.data.name}: ${text(d.data.value)}`).setColorMapper(shade);
  // The library keeps what it hides in the data: it has its own.
  select(box).datum(structuredClone(tree)).call(chart);
  const svg = box.querySelector('svg');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', 'Flame graph of the call stacks. The same as a list: below the drawing.');
  return { box, whole: () => chart.resetZoom() };
}

export function stacks_section({ report }) {
  const rows = report.transfers ?? [];
  const measures = MEASURES.map(([key, title, value_of, text]) => ({ key, title, text, tree: tree_of(rows, value_of) })).filter(({ tree }) => tree.value > 0);
  if (!measures.length || !rows.some(({ site }) => site.stack?.length)) return null;
  const state = { by: measures[0], width: 0, whole: null };
  const graph = h('div', { class: 'chart' });
  const list = h('div', {});
  const choose = h('select', { 'aria-label': 'Width of a frame', onchange: () => {
    state.by = measures.find(({ key }) => key === choose.value);
    show();
  } }, measures.map(({ key, title }) => h('option', { value: key }, `by ${title}`)));
  function draw() {
    const { box, whole } = drawn(state.by.tree, state.by.text, state.width);
    state.whole = whole;
    graph.replaceChildren(box);
  }
  function show() {
    if (state.width) draw();
    list.replaceChildren(h('ul', { class: 'plain tree' }, lines_of(state.by.tree, state.by.text, state.by.tree.value)));
  }
  show();
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width === 0 || width === state.width) return;
    state.width = width;
    draw();
  }).observe(graph);
  return section('stacks', 'Call stacks of the transfers',
    h('div', { class: 'controls' }, choose, h('button', { type: 'button', class: 'plain', onclick: () => state.whole?.() }, 'All frames'), h('p', { class: 'dim' }, 'A click on a frame shows what is below it.')),
    graph, h('details', { class: 'aside' }, h('summary', {}, 'The call stacks as a list'), list));
}
