// A comparison: what changed between runs before and after, and whether the advice paid.
import { add, figure, h, name, section, value_at } from './dom.js';
import { base_name, percent, plural, shown } from './format.js';
import { table } from './table.js';

const MEASURES = [['span', 'From the first work for a GPU to the last wait'], ['wall', 'The processes'], ['transfers', 'Transfers, their times added up'], ['kernels', 'Kernels'], ['waits', 'Waits of the host']];

const VERDICTS = { faster: 'faster', slower: 'slower', 'within-noise': 'within noise' };
const verdict_of = (change) => h('span', { class: `verdict-word ${change?.verdict ?? ''}` }, VERDICTS[change?.verdict] ?? '-');
const part_of = (change) => (change?.part === null || change?.part === undefined ? '-' : `${change.part > 0 ? '+' : ''}${percent(change.part)}`);

const side_name = ({ runs }) => base_name(runs[0].program ?? runs[0].trace);

// ---- the head ------------------------------------------------------------------------------------

export function comparison_head({ report }, theme) {
  const { before, after } = report;
  const text = document.querySelector('meta[name="headline"]')?.content;
  const simulated = [...before.runs, ...after.runs].some((run) => run.simulated);
  const side = (words, { runs }) => h('div', {}, h('dt', {}, words), h('dd', {}, name(few(runs.map(({ trace }) => trace))), h('small', {}, name(few([...new Set(runs.map(({ gpus }) => gpus ?? 'no GPU'))])))));
  return h('header', {},
    h('div', { class: 'bar' }, h('span', { class: 'brand' }, 'xferscope'), theme),
    h('h1', {}, name(side_name(before) === side_name(after) ? side_name(after) : `${side_name(before)}, ${side_name(after)}`), ': before and after'),
    text ? h('p', { class: 'headline' }, shown(text)) : null,
    simulated ? h('p', { class: 'warning' }, 'The GPU was the simulated one: its times are no figures of a real machine.') : null,
    h('dl', { class: 'facts' }, side(before.runs.length > 1 ? `Before, ${before.runs.length} runs` : 'Before', before), side(after.runs.length > 1 ? `After, ${after.runs.length} runs` : 'After', after)));
}

function few(list) {
  return list.length > 3 ? `${list.slice(0, 3).join(', ')} and ${list.length - 3} more` : list.join(', ');
}

// ---- the run -------------------------------------------------------------------------------------

function bars(at) {
  const [before, after] = [value_at(`${at}.before_s`), value_at(`${at}.after_s`)];
  const most = Math.max(before ?? 0, after ?? 0);
  if (!(most > 0)) return null;
  const bar = (words, value, kind) => h('div', { class: 'shares', 'aria-hidden': 'true' }, h('span', { class: 'shares-label' }, words), h('div', { class: 'track' }, h('div', { class: `share ${kind}`, style: `width:${((value ?? 0) / most) * 100}%` })));
  return [bar('before', before, 'host'), bar('after', after, 'compute')];
}

const CHANGE = [
  { title: 'before', number: ({ change }) => change?.before_s ?? null, cell: ({ at }) => figure(`${at}.before_s`) },
  { title: 'after', number: ({ change }) => change?.after_s ?? null, cell: ({ at }) => figure(`${at}.after_s`) },
  { title: 'change', number: ({ change }) => change?.shift_s ?? null, cell: ({ at }) => figure(`${at}.shift_s`) },
  { title: 'of before', number: ({ change }) => change?.part ?? null, cell: ({ change }) => part_of(change) },
  { title: 'low to high', text: ({ change }) => String(change?.low_s ?? ''), cell: ({ at, change }) => (change?.low_s === null || change?.low_s === undefined ? '-' : [figure(`${at}.low_s`), ' to ', figure(`${at}.high_s`)]) },
  { title: 'verdict', text: ({ change }) => VERDICTS[change?.verdict] ?? '-', cell: ({ change }) => verdict_of(change) },
];

function run_changes({ report }) {
  const rows = MEASURES.map(([key, title]) => ({ title, change: report.run[key], at: `report.run.${key}` })).filter(({ change }) => change && (change.before_s !== null || change.after_s !== null));
  const phases = report.phases.map((phase, i) => ({ title: `phase ${phase.name}`, change: phase.time, at: `report.phases.${i}.time` }));
  return section('run', 'The run',
    bars('report.run.span') ?? bars('report.run.wall'),
    table({ caption: report.run.without_recording ? 'Times, without what recording cost where that is known' : 'Times', rows: [...rows, ...phases], columns: [{ title: 'what', text: ({ title }) => title }, ...CHANGE] }),
    h('p', { class: 'dim' }, report.noise.known ? 'Noise is known from the repetitions: a change within it is none.' : `Without repetitions noise is not known: one run may differ from another by ${percent(report.noise.one_run_host)} in the host's times, by ${percent(report.noise.one_run_device)} in the device's.`));
}

// ---- advice --------------------------------------------------------------------------------------

const PAID = { within: 'within the prediction', less: 'less than predicted', more: 'more than predicted', 'outside-within-noise': 'outside the prediction, but within noise' };
const PREDICTED = { set: 'the best set', one: 'one finding', parts: 'parts of the best set', unknown: 'findings whose saving is not known' };

function payoffs({ report }) {
  const { predicted, payoffs: all } = report.advice;
  if (!all.length) return section('advice', 'Did the advice pay?', h('p', {}, predicted === 'nothing' ? 'None of what was advised before is followed after.' : 'What was followed saves what is not known.'));
  const rows = all.map((payoff, i) => ({ payoff, at: `report.advice.payoffs.${i}` }));
  return section('advice', 'Did the advice pay?', h('p', {}, `Followed: ${PREDICTED[predicted] ?? predicted}.`), table({
    caption: 'Predicted and achieved', rows, columns: [
      { title: 'of', text: ({ payoff }) => (payoff.phase === null ? 'the run' : `phase ${payoff.phase}`) },
      { title: 'predicted', number: ({ payoff }) => payoff.predicted_s.likely, cell: ({ at }) => [figure(`${at}.predicted_s.likely`, 's'), ' (', figure(`${at}.predicted_s.low`, 's'), ' to ', figure(`${at}.predicted_s.high`, 's'), ')'] },
      { title: 'achieved', number: ({ payoff }) => payoff.achieved_s, cell: ({ at }) => figure(`${at}.achieved_s`) },
      { title: '', text: ({ payoff }) => PAID[payoff.paid] ?? 'not known' },
    ],
  }));
}

const STANDS = { gone: 'gone', idle: 'no longer advice', stays: 'stays', new: 'new' };

function compared_findings({ report }) {
  const rows = report.findings.map((finding, i) => ({ finding, at: `report.findings.${i}` }));
  if (!rows.length) return section('findings', 'Findings', h('p', {}, 'None, before and after.'));
  const saving = (side) => ({ title: `saves, ${side}`, number: ({ finding }) => finding[side]?.saving_s.likely ?? null, cell: ({ finding, at }) => (finding[side] ? figure(`${at}.${side}.saving_s.likely`, 's') : '-') });
  const sites = ({ finding }) => (finding.after ?? finding.before).sites;
  return section('findings', 'Findings', table({
    caption: 'Findings before and after', rows, columns: [
      { title: 'finding', text: ({ finding }) => (Object.hasOwn(KINDS, finding.kind) ? KINDS[finding.kind] : finding.kind), cell: ({ finding }) => [name(Object.hasOwn(KINDS, finding.kind) ? KINDS[finding.kind] : finding.kind), ' ', h('span', { class: 'tag' }, finding.kind)] },
      { title: 'stands', text: ({ finding }) => `${STANDS[finding.stands] ?? finding.stands}${finding.followed ? ', followed' : ''}` },
      saving('before'), saving('after'),
      { title: 'at', text: (row) => few(sites(row)) },
    ],
  }));
}

// ---- transfers -----------------------------------------------------------------------------------

function compared_transfers({ report }) {
  const rows = report.transfers.map((row, i) => ({ row, change: row.time, at: `report.transfers.${i}.time`, i }));
  const of = ({ row }) => row.after ?? row.before;
  const count = (side) => ({ title: `count, ${side}`, number: ({ row }) => row[side]?.transfers ?? null, cell: ({ row, i }) => (row[side] ? figure(`report.transfers.${i}.${side}.transfers`, 'count') : '-') });
  return section('transfers', 'Transfers by site', table({
    caption: 'Transfers by site and kind, the largest change first', rows, filter: 'Filter by site, function or kind', id: ({ i }) => `transfer-${i + 1}`, columns: [
      { title: 'call site', text: (row) => of(row).site },
      { title: 'function', text: (row) => of(row).function },
      { title: 'transfer', text: ({ row }) => `${row.direction} ${[row.before, row.after].filter(Boolean).map(({ src_memory: from, dst_memory: to }) => `${from} to ${to}`).filter((text, k, all) => all.indexOf(text) === k).join(', then ')}` },
      { title: 'in', text: ({ row }) => (row.in === 'both' ? `both${row.differs.length ? `; other ${row.differs.join(', ')}` : ''}` : row.in === 'before' ? 'gone' : 'new') },
      count('before'), count('after'), ...CHANGE,
    ],
  }));
}

function compared_notes({ report }) {
  const { fail_on: limit } = report;
  const lossy = [...report.before.runs, ...report.after.runs].filter((run) => run.lossy).map(({ trace }) => `${trace}: something of the run was lost`);
  const lines = [limit ? `${limit.failed ? 'Failed' : 'Passed'}: ${percent(limit.limit)} more is allowed${limit.failed ? `, ${limit.by} took more` : ''}` : null, ...report.warnings, ...lossy].filter(Boolean);
  return section('notes', 'What else differs', lines.length ? h('ul', {}, lines.map((line) => h('li', {}, shown(line)))) : h('p', {}, `Nothing that is known of the ${plural(report.before.runs.length + report.after.runs.length, 'run')}.`));
}

export const COMPARISON = [run_changes, payoffs, compared_findings, compared_transfers, compared_notes];

export function comparison_foot({ report }) {
  return add(h('footer'), h('p', {}, `xferscope comparison, format ${report.schema.version}.`));
}

export const comparison_name = ({ report }) => `${side_name(report.after)}: before and after`;
