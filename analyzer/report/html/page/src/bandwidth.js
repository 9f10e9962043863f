// Achieved against achievable over the size of a transfer: what the profile has as curves, each row of
// transfers as a point, with a line up to what was achievable.
import { scaleLog } from 'd3-scale';
import { line } from 'd3-shape';
import { axes, chart, frame, powers, roving } from './chart.js';
import { host_memory } from './curves.js';
import { h, s, section } from './dom.js';
import { bytes, gbps, plural, text_of } from './format.js';
import { largest, smallest } from './slices.js';
import { table } from './table.js';
import { with_tip } from './tooltip.js';

const DIRECTIONS = { H2D: 'host to device', D2H: 'device to host', D2D: 'within a device', P2P: 'between devices', H2H: 'within the host' };

const DRAWN = 1000; // rows, of those that lost most

function points_of(transfers) {
  return transfers.map((row, i) => ({ row, i, x: row.bytes / row.transfers, y: row.achieved_gbps })).filter(({ x, y }) => x > 0 && y > 0);
}

function extent(values, least, most) {
  return [smallest(values, least), largest(values, most)];
}

function scales(points, curves, box) {
  const xs = [...points.map(({ x }) => x), ...curves.flatMap((curve) => curve.points.map(([size]) => size))];
  const ys = [...points.flatMap(({ row, y }) => [y, row.achievable_gbps || y]), ...curves.flatMap((curve) => curve.points.map(([, rate]) => rate))].filter((y) => y > 0);
  const [x0, x1] = extent(xs, 64, 1 << 20);
  const [y0, y1] = extent(ys, 0.1, 10);
  return {
    x: scaleLog([x0 / 1.5, x1 * 1.5], [box.left, box.right]).base(2),
    y: scaleLog([y0 / 1.5, y1 * 1.6], [box.bottom, box.top]),
  };
}

function curve_node(curve, { x, y }) {
  const path = line(([size]) => x(size), ([, rate]) => y(rate))(curve.points.filter(([, rate]) => rate > 0));
  return s('path', { class: `curve ${curve.direction} ${curve.memory}`, d: path }, s('title', {}, curve.label));
}

function lines_of({ row, x, y }) {
  const least = row.basis.achieved === 'host' || row.basis.achieved === 'mixed' ? 'at least ' : '';
  return [row.site.text,
    `${row.direction} ${host_memory(row)}, ${plural(row.transfers, 'transfer')}, ${bytes(Math.round(x))} on average`,
    `achieved ${least}${gbps(y)} GB/s, achievable ${row.achievable_gbps === null ? 'not known' : `${gbps(row.achievable_gbps)} GB/s`}`,
    row.lost_s === null ? 'lost: not known' : `lost ${text_of(row.lost_s, 's')}`];
}

const MARKS = {
  pageable: 'M-5,0A5,5 0 1 1 5,0A5,5 0 1 1 -5,0Z',
  device: 'M0,-6L5.6,4.5H-5.6Z',
};
const SQUARE = 'M-4.5,-4.5H4.5V4.5H-4.5Z';

function point_node(point, { x, y }) {
  const { row } = point;
  const lines = lines_of(point);
  const [px, py] = [x(point.x), y(point.y)];
  const gap = row.achievable_gbps > point.y ? s('line', { class: 'gap', x1: px, x2: px, y1: py, y2: y(row.achievable_gbps) }) : null;
  const mark = s('path', { class: `mark ${row.direction}`, d: MARKS[host_memory(row)] ?? SQUARE, transform: `translate(${px},${py})` });
  const link = with_tip(s('a', { href: `#transfer-${point.i}`, class: 'point', 'aria-label': lines.join('; '), 'data-row': point.i }, gap, mark), lines);
  return link;
}

// The name of a curve at its right end, where it does not lie on another one's.
function curve_labels(curves, { x, y }, box) {
  const taken = [];
  return curves.map((curve) => {
    const [size, rate] = curve.points[curve.points.length - 1];
    const at = y(rate);
    if (taken.some((other) => Math.abs(other - at) < 12) || rate <= 0) return null;
    taken.push(at);
    return s('text', { class: `curve-label ${curve.direction}`, x: Math.min(x(size), box.right) - 4, y: at - 5, 'text-anchor': 'end', 'aria-hidden': 'true' }, curve.label);
  });
}

function draw(points, curves, width) {
  const height = Math.max(300, Math.min(440, width * 0.5));
  const box = { left: 46, right: width - 26, top: 26, bottom: height - 40 };
  const scale = scales(points, curves, box);
  const svg = frame(width, height, `Achieved bandwidth of ${plural(points.length, 'row')} of transfers over their size, against what the profile has. Arrow keys go from point to point.`);
  axes(svg, box,
    { scale: scale.x, ticks: powers(scale.x.domain(), 2, Math.floor(width / 70)), format: (value) => bytes(value), title: 'bytes of a transfer' },
    { scale: scale.y, ticks: powers(scale.y.domain(), 10, 8), format: (value) => String(Number(value.toPrecision(1))), title: 'GB/s' });
  svg.append(...curves.map((curve) => curve_node(curve, scale)));
  svg.append(...curve_labels(curves, scale, box).filter(Boolean));
  const nodes = points.map((point) => point_node(point, scale));
  roving(nodes);
  svg.append(...nodes);
  return svg;
}

function legend(points, curves) {
  const directions = [...new Set([...points.map(({ row }) => row.direction), ...curves.map((curve) => curve.direction)])];
  const marks = [['pageable', 'pageable memory'], ['pinned', 'page-locked memory'], ['device', 'no host memory']].filter(([key]) => points.some(({ row }) => (MARKS[host_memory(row)] ? host_memory(row) : 'pinned') === key));
  return h('ul', { class: 'keys' },
    directions.map((direction) => h('li', {}, h('span', { class: `key ${direction}`, 'aria-hidden': 'true' }), `${direction}: ${DIRECTIONS[direction] ?? 'not known'}`)),
    marks.map(([key, words]) => h('li', {}, s('svg', { width: 14, height: 14, viewBox: '-7 -7 14 14', 'aria-hidden': 'true' }, s('path', { class: 'mark', d: MARKS[key] ?? SQUARE })), words)),
    h('li', {}, 'thin line: up to what was achievable'));
}

function figures(curves) {
  if (!curves.length) return null;
  const rows = curves.flatMap((curve) => curve.points.map(([size, rate, low = null, high = null]) => ({ curve, size, rate, low, high })));
  return h('details', { class: 'aside' }, h('summary', {}, 'The curves in figures'), table({
    caption: 'What the profile has', rows, filter: 'Filter curves', columns: [
      { title: 'curve', text: ({ curve }) => curve.label },
      { title: 'size', number: ({ size }) => size, show: ({ size }) => bytes(size) },
      { title: 'GB/s', number: ({ rate }) => rate, show: ({ rate }) => gbps(rate) },
      { title: 'low to high', text: ({ low, high }) => (low === null || high === null ? '-' : `${gbps(low)} to ${gbps(high)}`) },
    ],
  }));
}

export function bandwidth_section({ report, timeline }) {
  const known = points_of(report.transfers);
  const points = known.slice(0, DRAWN);
  const curves = (timeline.curves ?? []).filter((curve) => curve.points.length > 1);
  const unknown = report.transfers.length - known.length;
  const part = (...children) => section('bandwidth', 'Achieved against achievable', ...children);
  if (!points.length) return part(h('p', {}, report.transfers.length ? 'No transfer has a time, so that what was achieved is not known.' : 'The run has no transfers.'));
  return part(legend(points, curves), chart((width) => draw(points, curves, width)),
    h('p', { class: 'dim' }, 'The same figures stand in the ', h('a', { href: '#transfers' }, 'table of transfers'), '.',
      unknown ? ` Of ${plural(unknown, 'row')} the time is not known: they are not drawn.` : '',
      known.length > points.length ? ` Drawn are the first ${points.length} of ${known.length} rows.` : '',
      curves.length ? '' : ' There are no curves: no machine profile was given, or it has none for these transfers.'),
    figures(curves));
}
