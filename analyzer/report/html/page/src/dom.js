// Elements. Every text goes in as a text node, made visible by shown(): nothing that a trace says is ever
// read as HTML.
import { shown, text_of } from './format.js';

const SVG = 'http://www.w3.org/2000/svg';

// Of damaged data something may come to lie nowhere: it is not drawn.
function is_somewhere(name, value) {
  if (typeof value === 'number') return Number.isFinite(value);
  return !/^(d|points|transform)$/.test(name) || !/NaN|Infinity/.test(value);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false || !is_somewhere(name, value)) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : typeof value === 'string' ? shown(value) : value);
  }
  add(node, ...children);
  return node;
}

export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return node;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A name from the trace: its direction of writing does not reach what stands around it.
export const name = (text, attributes) => h('bdi', attributes, text);

// A section of the page with its heading; screen readers find it by that.
export function section(id, title, ...children) {
  return h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), ...children);
}

// Drawn anew whenever something else is chosen (chosen.js).
export function redrawn(choice, draw) {
  const box = h('div', {}, draw());
  choice.on(() => {
    box.replaceChildren();
    add(box, draw());
  });
  return box;
}

// A name and what it is, in a list; what is null is left out.
export function facts(attributes, ...pairs) {
  const rows = pairs.filter(([, value]) => value !== null && value !== undefined);
  return h('dl', { class: 'facts', ...attributes }, rows.map(([term, value]) => h('div', {}, h('dt', {}, term), h('dd', {}, value))));
}

// ---- figures -----------------------------------------------------------------------------------

// data: { report, timeline }. A figure names where in the data it comes from, as "report.run.wall_s" or
// "report.whatif.alone_s - report.whatif.set_saving_s.likely"; so nothing can be shown that is not there,
// and a test can compare.
let data = null;

export function set_data(all) {
  data = all;
}

function look(path) {
  return path.split('.').reduce((value, key) => value?.[key], data) ?? null;
}

export function value_at(at) {
  const [first, operator, second] = at.split(' ');
  const a = look(first);
  if (!operator) return a;
  const b = look(second);
  if (a === null || b === null) return null;
  return operator === '-' ? a - b : b === 0 ? null : a / b;
}

function unit_of(at) {
  const keys = at.split(' ')[0].split('.');
  const last = keys.pop();
  if (/_s$/.test(last) || keys.some((key) => ['saving_s', 'set_saving_s', 'apply_saving_s'].includes(key))) return 's';
  if (/_ns$/.test(last)) return 'ns';
  if (/_gbps$/.test(last)) return 'gbps';
  return /bytes$|^traffic$/.test(last) ? 'bytes' : 'count';
}

// A figure of the data, with the exact value for programs and as a title.
export function figure(at, unit, before) {
  const value = value_at(at);
  const of = unit ?? (at.includes(' / ') ? 'part' : unit_of(at));
  const text = text_of(value, of);
  const exact = value === null ? 'not known' : `${value}`;
  return h('data', { value: value ?? '', 'data-at': at, 'data-unit': of, title: text === exact ? null : exact }, before && value !== null ? before : null, text);
}

// ---- savings -----------------------------------------------------------------------------------

// A part of a nanosecond is no cost.
export const may_cost = (saving) => saving.low !== null && saving.low <= -1e-9;

// Low and high of a saving, as the other formats say them: a low below nothing is what it may cost.
export function bounds(at, saving) {
  const [low, high] = [`${at}.low`, `${at}.high`];
  if (!may_cost(saving)) return [figure(low), ' to ', figure(high)];
  if (saving.high <= 0) return ['costs ', figure(high, 'cost'), ' to ', figure(low, 'cost')];
  return ['at most ', figure(high), ', may cost up to ', figure(low, 'cost')];
}
