// Traffic between places, drawn on the machine: host nodes above, GPUs below, links as grey lines, what
// moved as arrows, as wide as the square root of their bytes.
import { h, name, s, section } from './dom.js';
import { bytes, gbps, shown, text_of } from './format.js';
import { chart, frame, roving } from './chart.js';
import { largest, total } from './slices.js';
import { table } from './table.js';
import { with_tip } from './tooltip.js';

const BOX = { width: 132, height: 44 };

// id -> { x, y, host } of the middle of each box, and the height of all.
function places_at(places, width) {
  const hosts = places.filter(({ id }) => id.startsWith('host'));
  const others = places.filter(({ id }) => !id.startsWith('host'));
  const at = new Map();
  const box = Math.min(BOX.width, Math.floor((width - 12) / Math.max(1, hosts.length, Math.min(others.length, 8))) - 8);
  const rows = [hosts];
  for (let i = 0; i < others.length; i += 8) rows.push(others.slice(i, i + 8));
  rows.forEach((row, y) => row.forEach((place, i) => at.set(place.id, {
    place, host: y === 0, x: (width * (i + 0.5)) / row.length, y: 34 + y * 150, width: box,
  })));
  return { at, height: 34 + (rows.length - 1) * 150 + 100 };
}

// From one box to another: beside each other for the two directions; over the same row an arc below; to
// itself a loop below.
function path_of(a, b) {
  const half = BOX.height / 2;
  if (a === b) return { d: `M${a.x - 22},${a.y + half} C${a.x - 40},${a.y + half + 42} ${a.x + 40},${a.y + half + 42} ${a.x + 22},${a.y + half}`, label: [a.x, a.y + half + 44] };
  if (a.y === b.y) {
    const depth = 26 + Math.min(40, Math.abs(a.x - b.x) / 8) + (a.x < b.x ? 0 : 14);
    const [from, to] = [a.x + (b.x > a.x ? 30 : -30), b.x + (b.x > a.x ? -30 : 30)];
    return { d: `M${from},${a.y + half} C${from},${a.y + half + depth} ${to},${a.y + half + depth} ${to},${a.y + half}`, label: [(from + to) / 2, a.y + half + depth * 0.8 + 8] };
  }
  const [down, side] = [b.y > a.y, a.y < b.y ? -16 : 16];
  // at the host's box apart, so that those of several GPUs do not meet
  const apart = (of, other) => (of.host ? Math.max(-44, Math.min(44, (other.x - of.x) * 0.12)) : 0);
  const [x0, x1] = [a.x + side + apart(a, b), b.x + side + apart(b, a)];
  const [y0, y1] = down ? [a.y + half, b.y - half] : [a.y - half, b.y + half];
  return { d: `M${x0},${y0} L${x1},${y1}`, label: [x0 + (x1 - x0) * 0.36 + (side < 0 ? -8 : 8), y0 + (y1 - y0) * 0.36 + 4], anchor: side < 0 ? 'end' : 'start' };
}

function box_node({ place, x, y, width }) {
  const room = Math.max(6, Math.floor(width / 7));
  const label = shown(place.label);
  return s('g', { class: 'place-box', 'aria-hidden': 'true' },
    s('rect', { x: x - width / 2, y: y - BOX.height / 2, width, height: BOX.height, rx: 4 }),
    s('title', {}, label),
    s('text', { x, y: y + 4, 'text-anchor': 'middle' }, label.length > room ? `${label.slice(0, room - 2)}...` : label));
}

function words(flow, at) {
  const label = (id) => at.get(id)?.place.label ?? id;
  const rate = flow.time_ns > 0 ? `${text_of(flow.time_ns, 'ns')}, ${gbps(flow.bytes / flow.time_ns)} GB/s` : 'time not known';
  return [`${label(flow.from)} to ${label(flow.to)}`, `${bytes(flow.bytes)} in ${flow.count}`, rate];
}

function flow_node(flow, at, most, labelled, unique) {
  const [a, b] = [at.get(flow.from), at.get(flow.to)];
  const path = path_of(a, b);
  const lines = words(flow, at);
  const wide = 1.5 + 5.5 * Math.sqrt(flow.bytes / most);
  const direction = a.host ? (b.host ? 'H2H' : 'H2D') : b.host ? 'D2H' : a === b ? 'D2D' : 'P2P';
  return with_tip(s('g', { class: 'flow', role: 'img', 'aria-label': lines.join('; ') },
    s('path', { class: `flow-line ${direction}`, d: path.d, 'stroke-width': wide, 'marker-end': `url(#${unique}-${direction})` }),
    labelled ? s('text', { x: path.label[0], y: path.label[1], 'text-anchor': path.anchor ?? 'middle' }, bytes(flow.bytes)) : null), lines);
}

// Heads of arrows, with names of this drawing's own.
function arrows(unique) {
  return s('defs', {}, ['H2D', 'D2H', 'D2D', 'P2P', 'H2H'].map((direction) => s('marker', { id: `${unique}-${direction}`, class: `arrow ${direction}`, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 15, markerHeight: 15, markerUnits: 'userSpaceOnUse', orient: 'auto' }, s('path', { d: 'M0,0L8,4L0,8Z' }))));
}

function link_node(link, at) {
  const [a, b] = [at.get(link.a), at.get(link.b)];
  if (!a || !b || a === b) return null;
  const rate = link.gb_s > 0 ? `, ${gbps(link.gb_s)} GB/s` : '';
  const text = `${link.label ?? 'link'}${rate}`;
  const bend = a.y === b.y ? ` Q${(a.x + b.x) / 2},${a.y + 30}` : ' L';
  return s('path', { class: 'link', d: `M${a.x},${a.y}${bend} ${b.x},${b.y}`, 'aria-hidden': 'true' }, s('title', {}, text));
}

let drawings = 0;

function draw({ places, flows, links }, width) {
  const { at, height } = places_at(places, width);
  const unique = `arrows${drawings++}`;
  const most = largest(flows.map((flow) => flow.bytes), 1);
  const svg = frame(width, height, 'Traffic between the places of the machine. Arrow keys go from one to the next.');
  const nodes = flows.map((flow) => flow_node(flow, at, most, flows.length <= 12, unique));
  roving(nodes);
  svg.append(arrows(unique), ...links.map((link) => link_node(link, at)).filter(Boolean), ...[...at.values()].map(box_node), ...nodes);
  return svg;
}

const labels = (timeline) => new Map(timeline.places.map((place) => [place.id, place.label]));

function flows_table(timeline) {
  const label = labels(timeline);
  const rows = timeline.traffic.map((flow, i) => ({ flow, i }));
  return table({
    caption: 'Traffic between places', rows, columns: [
      { title: 'from', text: ({ flow }) => label.get(flow.from) ?? flow.from },
      { title: 'to', text: ({ flow }) => label.get(flow.to) ?? flow.to },
      { title: 'moved', number: ({ flow }) => flow.bytes, at: ({ i }) => `timeline.traffic.${i}.bytes` },
      { title: 'operations', number: ({ flow }) => flow.count, at: ({ i }) => `timeline.traffic.${i}.count` },
      { title: 'time', number: ({ flow }) => flow.time_ns, at: ({ i }) => `timeline.traffic.${i}.time_ns` },
      { title: 'GB/s', number: ({ flow }) => rate_of(flow), show: ({ flow }) => (rate_of(flow) === null ? '-' : gbps(rate_of(flow))) },
    ],
  });
}

function rate_of({ bytes: moved, time_ns: time }) {
  return time > 0 ? moved / time : null;
}

function links_list(timeline) {
  const label = labels(timeline);
  const links = (timeline.links ?? []).filter((link) => link.a !== link.b);
  if (!links.length) return null;
  return h('p', { class: 'dim' }, 'Links (grey): ', links.map(({ a, b, label: what, gb_s: rate }) => `${label.get(a) ?? a} and ${label.get(b) ?? b}: ${what ?? 'link'}${rate > 0 ? `, ${gbps(rate)} GB/s` : ''}`).join('; '), '.');
}

const MACHINES = 4; // drawn, those with most traffic

// What belongs to each host, most traffic first: nothing goes from one to another.
function machines({ places, traffic, links }) {
  const hosts = new Map();
  for (const place of places) hosts.set(place.host, [...(hosts.get(place.host) ?? []), place]);
  return [...hosts].map(([host, own]) => {
    const ids = new Set(own.map((place) => place.id));
    const flows = traffic.filter((flow) => ids.has(flow.from) && ids.has(flow.to));
    return { host, places: own, flows, links: (links ?? []).filter((link) => ids.has(link.a)), moved: total(flows.map((flow) => flow.bytes)) };
  }).sort((a, b) => b.moved - a.moved);
}

function drawn(all) {
  const some = all.slice(0, MACHINES);
  return [some.map((machine) => [all.length > 1 ? h('h3', {}, name(machine.host ?? 'a host without a name')) : null, chart((width) => draw(machine, width))]),
    all.length > some.length ? h('p', { class: 'dim' }, `Drawn are the ${some.length} of ${all.length} hosts with most traffic; the table has all.`) : null];
}

export function traffic_section({ timeline }) {
  const { places = [], traffic = [] } = timeline;
  // Between one host's memory and one GPU it is what the head of the page says.
  if (!traffic?.length || !places?.length || (places.length <= 2 && traffic.every(({ from, to }) => from !== to))) return null;
  const all = machines(timeline);
  return section('traffic', 'Traffic between places', drawn(all), all.length === 1 ? links_list(timeline) : null, flows_table(timeline));
}
