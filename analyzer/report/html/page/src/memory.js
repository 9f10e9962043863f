// Managed migrations over time, and buffers by size and traffic.
import { scaleLinear, scaleLog } from 'd3-scale';
import { axes, chart, frame, powers, roving } from './chart.js';
import { figure, h, name, s, section } from './dom.js';
import { bytes, plural, text_of } from './format.js';
import { place } from './findings.js';
import { largest, smallest, total } from './slices.js';
import { table } from './table.js';
import { with_tip } from './tooltip.js';

// ---- migrations --------------------------------------------------------------------------------

const SHADES = 6; // colours for series, in turns

function stacks({ bin_ns: bin, begin_ns: begin, series }) {
  const bins = largest(series.map((one) => one.bytes.length), 0);
  return Array.from({ length: bins }, (_, k) => {
    let sum = 0;
    const parts = series.map((one, i) => ({ i, from: sum, to: (sum += one.bytes[k] ?? 0) }));
    return { k, at: begin + k * bin, sum, parts };
  });
}

function stack_node(stack, migrations, x, y) {
  const lines = [`${text_of(stack.at, 'ns')} to ${text_of(stack.at + migrations.bin_ns, 'ns')}`,
    ...stack.parts.filter(({ from, to }) => to > from).map(({ i, from, to }) => `${migrations.series[i].label}: ${bytes(to - from)}`)];
  const [left, right] = [x(stack.at), x(stack.at + migrations.bin_ns)];
  return with_tip(s('g', { role: 'img', 'aria-label': lines.join('; ') },
    stack.parts.filter(({ from, to }) => to > from).map(({ i, from, to }) => s('rect', { class: `series-${i % SHADES}`, x: left, width: Math.max(0.75, right - left - 0.25), y: y(to), height: Math.max(0.5, y(from) - y(to)) }))), lines);
}

function draw_migrations(migrations, all, width) {
  const height = 220;
  const box = { left: 64, right: width - 26, top: 26, bottom: height - 40 };
  const end = migrations.begin_ns + all.length * migrations.bin_ns;
  const most = largest(all.map(({ sum }) => sum), 1);
  const x = scaleLinear([migrations.begin_ns, end], [box.left, box.right]);
  const y = scaleLinear([0, most], [box.bottom, box.top]);
  const step = 2 ** Math.ceil(Math.log2(most / 5)); // whole KiB, MiB
  const svg = frame(width, height, 'Managed memory moved over time. Arrow keys go through time.');
  axes(svg, box,
    { scale: x, ticks: x.ticks(Math.floor(width / 120)), format: (value) => text_of(value, 'ns'), title: 'since the start' },
    { scale: y, ticks: Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step), format: (value) => bytes(value), title: `moved in each ${text_of(migrations.bin_ns, 'ns')}` });
  const nodes = all.filter(({ sum }) => sum > 0).map((stack) => stack_node(stack, migrations, x, y));
  roving(nodes);
  svg.append(...nodes);
  return svg;
}

function managed_sites(managed) {
  const rows = managed.sites.map((site, i) => ({ site, at: `report.managed.sites.${i}` }));
  const sum = (of) => total(Object.values(of));
  return table({
    caption: 'Managed memory, by the site that allocated it', rows, columns: [
      { title: 'call site', text: ({ site }) => site.site?.text ?? 'no recorded allocation', cell: ({ site }) => (site.site ? place(site.site) : 'no recorded allocation') },
      { title: 'allocated', number: ({ site }) => site.allocated_bytes, at: ({ at }) => `${at}.allocated_bytes` },
      { title: 'migrations', number: ({ site }) => site.migrations, at: ({ at }) => `${at}.migrations` },
      { title: 'moved', number: ({ site }) => sum(site.moved_bytes), cell: ({ site, at }) => h('ul', { class: 'plain' }, Object.keys(site.moved_bytes).map((direction) => h('li', {}, `${direction} `, figure(`${at}.moved_bytes.${direction}`, 'bytes')))) },
      { title: 'why', number: ({ site }) => sum(site.moved_why_bytes), cell: ({ site, at }) => h('ul', { class: 'plain' }, Object.keys(site.moved_why_bytes).map((why) => h('li', {}, `${why} `, figure(`${at}.moved_why_bytes.${why}`, 'bytes')))) },
      { title: 'moving took', number: ({ site }) => site.migration_s, at: ({ at }) => `${at}.migration_s` },
      { title: 'GPU faults', number: ({ site }) => site.device_faults, at: ({ at }) => `${at}.device_faults` },
      { title: 'served in', number: ({ site }) => site.device_fault_s, at: ({ at }) => `${at}.device_fault_s` },
      { title: 'CPU faults', number: ({ site }) => site.host_faults, at: ({ at }) => `${at}.host_faults` },
    ],
  });
}

function touches(managed) {
  const kernels = managed.sites.flatMap((site, i) => site.kernels.map((kernel, k) => ({ kernel, at: `report.managed.sites.${i}.kernels.${k}` })));
  const lines = managed.sites.flatMap((site, i) => site.lines.map((line, k) => ({ line, at: `report.managed.sites.${i}.lines.${k}` })));
  return [kernels.length ? table({
    caption: 'Kernels that met pages where they were not', rows: kernels, columns: [
      { title: 'kernel', text: ({ kernel }) => kernel.name ?? 'none known to have run' },
      { title: 'faults', number: ({ kernel }) => kernel.faults, at: ({ at }) => `${at}.faults` },
      { title: 'time', number: ({ kernel }) => kernel.time_s, at: ({ at }) => `${at}.time_s` },
    ],
  }) : null, lines.length ? table({
    caption: 'Lines of the host that met pages where they were not', rows: lines, columns: [
      { title: 'at', text: ({ line }) => line.at?.text ?? 'not known' },
      { title: 'after', text: ({ line }) => (line.after ? `${line.after.function} at ${line.after.site.text}` : '-') },
      { title: 'before', text: ({ line }) => (line.before ? `${line.before.function} at ${line.before.site.text}` : '-') },
      { title: 'faults', number: ({ line }) => line.faults, at: ({ at }) => `${at}.faults` },
    ],
  }) : null];
}

// null: the run has no managed memory that moved.
export function managed_section({ report, timeline }) {
  const { managed } = report;
  const migrations = timeline.migrations?.series?.length ? timeline.migrations : null;
  if (!migrations && !managed.sites.length) return null;
  const all = migrations ? stacks(migrations) : [];
  return section('managed', 'Managed migrations',
    migrations ? [h('ul', { class: 'keys' }, migrations.series.map((one, i) => h('li', {}, h('span', { class: `key series-${i % SHADES}`, 'aria-hidden': 'true' }), name(one.label), `: ${bytes(total(one.bytes))}`))),
      chart((width) => draw_migrations(migrations, all, width))] : h('p', {}, 'When what moved is not known.'),
    managed.sites.length ? [managed_sites(managed), touches(managed)] : null);
}

// ---- buffers -----------------------------------------------------------------------------------

function buffer_lines(buffer) {
  return [buffer.site ?? 'site not known', `${buffer.kind}, ${bytes(buffer.bytes)}`, `traffic ${bytes(buffer.traffic)} in ${plural(buffer.transfers, 'transfer')}`,
    buffer.bytes > 0 ? `${Number((buffer.traffic / buffer.bytes).toPrecision(3))} times its size` : null].filter(Boolean);
}

function draw_buffers(buffers, width) {
  const height = Math.max(260, Math.min(360, width * 0.4));
  const box = { left: 64, right: width - 26, top: 26, bottom: height - 40 };
  const domain = (values) => [smallest(values, Infinity) / 2, largest(values, 0) * 2];
  const x = scaleLog(domain(buffers.map((buffer) => buffer.bytes)), [box.left, box.right]).base(2);
  const y = scaleLog(domain(buffers.map((buffer) => buffer.traffic)), [box.bottom, box.top]).base(2);
  const svg = frame(width, height, 'Buffers by size and traffic. Arrow keys go from one to the next.');
  axes(svg, box,
    { scale: x, ticks: powers(x.domain(), 2, Math.floor(width / 80)), format: (value) => bytes(value), title: 'size of the buffer' },
    { scale: y, ticks: powers(y.domain(), 2, 8), format: (value) => bytes(value), title: 'bytes moved from and to it' });
  const [low, high] = [Math.max(x.domain()[0], y.domain()[0]), Math.min(x.domain()[1], y.domain()[1])];
  if (high > low) {
    svg.append(s('line', { class: 'once', x1: x(low), y1: y(low), x2: x(high), y2: y(high) }), s('text', { class: 'once-label', x: x(high) - 6, y: y(high) + 14, 'text-anchor': 'end', 'aria-hidden': 'true' }, 'moved once'));
  }
  const nodes = buffers.map((buffer) => {
    const lines = buffer_lines(buffer);
    return with_tip(s('circle', { class: `mark buffer ${buffer.kind}`, role: 'img', 'aria-label': lines.join('; '), cx: x(buffer.bytes), cy: y(buffer.traffic), r: 4.5 }), lines);
  });
  roving(nodes);
  svg.append(...nodes);
  return svg;
}

const DRAWN = 2000;

export function buffers_section({ timeline }) {
  const buffers = timeline.buffers ?? [];
  const rows = buffers.map((buffer, i) => ({ buffer, at: `timeline.buffers.${i}` }));
  const drawn = buffers.filter((buffer) => buffer.bytes > 0 && buffer.traffic > 0).slice(0, DRAWN);
  const left = timeline.buffers_left_out ?? 0;
  if (!buffers.some((buffer) => buffer.bytes > 0 && buffer.traffic > 0)) return null; // nothing is known of them
  return section('buffers', 'Buffers by size and traffic',
    drawn.length > 2 ? chart((width) => draw_buffers(drawn, width)) : null,
    left ? h('p', { class: 'dim' }, `${plural(left, 'buffer')} of less traffic not listed.`) : null,
    table({
      caption: 'Buffers', rows, filter: rows.length > 10 ? 'Filter buffers' : null, columns: [
        { title: 'allocated at', text: ({ buffer }) => buffer.site ?? 'not known' },
        { title: 'memory', text: ({ buffer }) => buffer.kind },
        { title: 'allocations', number: ({ buffer }) => buffer.allocations, at: ({ at }) => `${at}.allocations` },
        { title: 'size', number: ({ buffer }) => buffer.bytes, at: ({ at }) => `${at}.bytes` },
        { title: 'traffic', number: ({ buffer }) => buffer.traffic, at: ({ at }) => `${at}.traffic` },
        { title: 'times its size', number: ({ buffer }) => (buffer.bytes ? buffer.traffic / buffer.bytes : null), show: ({ buffer }) => (buffer.bytes ? String(Number((buffer.traffic / buffer.bytes).toPrecision(3))) : '-') },
        { title: 'transfers', number: ({ buffer }) => buffer.transfers, at: ({ at }) => `${at}.transfers` },
      ],
    }));
}
