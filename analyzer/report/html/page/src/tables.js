// The report's tables: transfers by site, waits, phases, ranks.
import { figure, h, name, section } from './dom.js';
import { place } from './findings.js';
import { host_memory } from './curves.js';
import { percent, plural } from './format.js';
import { table } from './table.js';

// ---- transfers ---------------------------------------------------------------------------------

function frame_text({ function: where, file, line, module, offset }) {
  const at = file ? `${file}${line ? `:${line}` : ''}` : `${module ?? 'unknown module'}${offset ? ` +${offset}` : ''}`;
  return `${where ?? 'unknown function'} (${at})`;
}

// "17 frames of PyTorch, 2 of CUDA", in the order in which they are met.
function others_text(frames) {
  const counts = new Map();
  frames.forEach(({ of }) => of && counts.set(of, (counts.get(of) ?? 0) + 1));
  return [...counts].map(([of, count], i) => `${i ? count : plural(count, 'frame')} of ${of}`).join(', ');
}

const frame_list = (frames) => h('ol', {}, frames.map((frame) => h('li', {}, name(frame_text(frame)))));

// The site; its stack unfolds: the program's own frames, and the whole of it with the others', folded.
function site_cell(site) {
  if (!site.stack.length) return place(site);
  const own = site.stack.filter(({ of }) => of === null);
  const folded = own.length > 0 && own.length < site.stack.length;
  return h('details', { class: 'stack aside' }, h('summary', {}, place(site)), frame_list(folded ? own : site.stack),
    folded ? h('details', {}, h('summary', {}, `The whole stack, with ${others_text(site.stack)}`), frame_list(site.stack)) : null);
}

function kinds(row) {
  const device = (number) => (number === null ? '' : ` ${number}`);
  return `${row.direction} ${row.src_memory}${device(row.src_device)} to ${row.dst_memory}${device(row.dst_device)}${row.async ? ', async' : ''}`;
}

function size_cell({ row, at }) {
  const least = figure(`${at}.sizes.least`, 'bytes');
  return row.sizes.least === row.sizes.most ? least : [least, ' to ', figure(`${at}.sizes.most`, 'bytes')];
}

function choice(label, values, of) {
  const select = h('select', { 'aria-label': label }, h('option', { value: '' }, label), values.map((value) => h('option', { value }, value)));
  return { node: select, keep: (entry) => !select.value || of(entry) === select.value };
}

const least = (row) => (row.basis.achieved === 'host' || row.basis.achieved === 'mixed' ? '>=' : null);

export function transfers_section({ report }) {
  const rows = report.transfers.map((row, i) => ({ row, i, at: `report.transfers.${i}` }));
  if (!rows.length) return section('transfers', 'Transfers by site', h('p', {}, 'The run has no transfers.'));
  const all = (of) => [...new Set(rows.map(({ row }) => of(row)))].sort();
  const note = [rows.some(({ row }) => least(row)) ? '>=: from the host\'s time in a blocking call, which includes waiting for earlier work. ' : null,
    rows.some(({ row }) => row.achieved_gbps === null) ? 'A dash in achieved: no time of these transfers was recorded. ' : null,
    rows.some(({ row }) => row.achievable_gbps === null) ? `A dash in achievable: ${report.machine.profile ? 'the profile does not speak of such transfers.' : 'no machine profile was given.'}` : null];
  return section('transfers', 'Transfers by site',
    note.some(Boolean) ? h('p', { class: 'dim' }, note) : null,
    table({
      caption: 'Transfers by site and kind', rows, id: ({ i }) => `transfer-${i}`, filter: 'Filter by site, function or kind',
      extra: [choice('all directions', all((row) => row.direction), ({ row }) => row.direction), choice('all memory', all(host_memory), ({ row }) => host_memory(row))],
      columns: [
        { title: 'call site', text: ({ row }) => row.site.text, cell: ({ row }) => site_cell(row.site) },
        { title: 'function', text: ({ row }) => row.runtime_function ?? row.function },
        { title: 'transfer', text: ({ row }) => kinds(row) },
        { title: 'count', number: ({ row }) => row.transfers, at: ({ at }) => `${at}.transfers` },
        { title: 'bytes', number: ({ row }) => row.bytes, at: ({ at }) => `${at}.bytes` },
        { title: 'size', number: ({ row }) => row.bytes / row.transfers, cell: size_cell },
        { title: 'achieved', number: ({ row }) => row.achieved_gbps, at: ({ at }) => `${at}.achieved_gbps`, before: ({ row }) => least(row) },
        { title: 'achievable', number: ({ row }) => row.achievable_gbps, at: ({ at }) => `${at}.achievable_gbps` },
        { title: 'lost', number: ({ row }) => row.lost_s, at: ({ at }) => `${at}.lost_s` },
      ],
    }));
}

// ---- waits, phases, ranks: only where there are some -------------------------------------------

export function waits_section({ report }) {
  const rows = report.waits.map((wait, i) => ({ wait, at: `report.waits.${i}` }));
  if (!rows.length) return null;
  return section('waits', 'Waits of the host', table({
    caption: 'Calls in which the host waited', rows, filter: rows.length > 10 ? 'Filter waits' : null, columns: [
      { title: 'call site', text: ({ wait }) => wait.site.text, cell: ({ wait }) => place(wait.site) },
      { title: 'function', text: ({ wait }) => wait.function },
      { title: 'times', number: ({ wait }) => wait.times, at: ({ at }) => `${at}.times` },
      { title: 'time', number: ({ wait }) => wait.time_s, at: ({ at }) => `${at}.time_s` },
      { title: 'longest', number: ({ wait }) => wait.longest_s, at: ({ at }) => `${at}.longest_s` },
    ],
  }));
}

function phase_name({ path }) {
  if (!path.length) return 'outside of all ranges';
  return path.map(({ domain, name: range }) => `${domain ? `${domain}: ` : ''}${range ?? 'without a name'}`).join(' / ');
}

export function phases_section({ report }) {
  const { ranges } = report.phases;
  if (!ranges.some((range) => range.path.length)) return null;
  const rows = ranges.map((range, i) => ({ range, at: `report.phases.ranges.${i}` }));
  return section('phases', 'Phases (NVTX)', table({
    caption: 'NVTX ranges and the transfers in them', rows, filter: rows.length > 10 ? 'Filter phases' : null, columns: [
      { title: 'phase', text: ({ range }) => phase_name(range) },
      { title: 'times', number: ({ range }) => range.times, at: ({ at }) => `${at}.times` },
      { title: 'time', number: ({ range }) => range.time_s, at: ({ at }) => `${at}.time_s` },
      { title: 'transfers', number: ({ range }) => range.transfers, at: ({ at }) => `${at}.transfers` },
      { title: 'transfers took', number: ({ range }) => range.transfer_s, at: ({ at }) => `${at}.transfer_s` },
      { title: 'lost', number: ({ range }) => range.lost_s, at: ({ at }) => `${at}.lost_s` },
    ],
  }));
}

export function ranks_section({ report }) {
  const rows = report.ranks.all.map((rank, i) => ({ rank, at: `report.ranks.all.${i}` }));
  if (rows.length < 2) return null;
  return section('ranks', 'Ranks', table({
    caption: 'What each rank moved', rows, filter: rows.length > 10 ? 'Filter ranks' : null, columns: [
      { title: 'rank', number: ({ rank }) => rank.rank, show: ({ rank }) => (rank.rank === null ? 'not known' : String(rank.rank)) },
      { title: 'host', text: ({ rank }) => rank.host ?? 'not recorded' },
      { title: 'transfers', number: ({ rank }) => rank.transfers, at: ({ at }) => `${at}.transfers` },
      { title: 'bytes', number: ({ rank }) => rank.bytes, at: ({ at }) => `${at}.bytes` },
      { title: 'achieved', number: ({ rank }) => rank.achieved_gbps, at: ({ at }) => `${at}.achieved_gbps` },
      { title: 'with far memory', number: ({ rank }) => rank.far, show: ({ rank }) => (rank.far === null ? '-' : percent(rank.far)) },
      { title: 'stands out by', text: ({ rank }) => rank.stands_out.join(', ').replace('achieved_gbps', 'bandwidth') || '-' },
    ],
  }));
}
