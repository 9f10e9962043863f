// Findings, those of the best set first, each unfolding to what to change, what that saves, where, and how that is known.
import { bounds, figure, facts, h, name, s, section } from './dom.js';
import { bytes, gbps, plural, text_of } from './format.js';
import { at_size } from './curves.js';
import { largest, smallest } from './slices.js';
import { fix_diff } from './fix_diff.js';
import { patch_view, source_listings } from './source.js';
import { table } from './table.js';
import { title_of } from './titles.js';

const WIDTH = 120; // of the mark for low, likely, high

// Low to high as a line, likely as a dot; all findings on one scale, from the least (or 0) to the most.
function range_mark(saving, [least, most]) {
  if (saving.low === null || saving.likely === null || most === least) return null;
  const x = (value) => 4 + ((value - least) / (most - least)) * (WIDTH - 8);
  return s('svg', { class: 'range', width: WIDTH, height: 14, viewBox: `0 0 ${WIDTH} 14`, 'aria-hidden': 'true' },
    s('line', { class: 'zero', x1: x(0), x2: x(0), y1: 1, y2: 13 }),
    s('line', { class: 'span', x1: x(saving.low), x2: x(saving.high), y1: 7, y2: 7 }),
    s('circle', { cx: x(saving.likely), cy: 7, r: 3.5 }));
}

function scale_of(findings) {
  const all = findings.flatMap(({ saving_s: saving }) => [saving.low, saving.high]).filter((value) => value !== null);
  return [smallest(all, 0), largest(all, 0)];
}

// In the best set another fix may have some of its transfers.
const in_part = (finding) => finding.sites.some((site) => site.in_set !== null && site.in_set < site.transfers);

// Of what is not in the best set: which finding of it is made instead. Finding N is the page's number.
function role_of(finding, findings) {
  const { order, idle, instead_of } = finding.saving_s;
  if (order || idle || !findings.some(({ saving_s: saving }) => saving.order)) return null;
  const place = findings.findIndex(({ saving_s: saving }) => instead_of && saving.order === instead_of);
  return place < 0 ? 'adds nothing to the best set' : `instead of ${place + 1}`;
}

function headline(finding, i, scale, findings) {
  const at = `report.findings.${i}`;
  const saving = finding.saving_s;
  const more = finding.sites.length - 1;
  const gain = saving.likely !== null
    ? [h('span', { class: 'gain' }, 'saves ', figure(`${at}.saving_s.likely`)), h('span', { class: 'bounds' }, bounds(`${at}.saving_s`, saving)), range_mark(saving, scale)]
    : [h('span', { class: 'gain' }, 'lost ', figure(`${at}.lost_s`)), h('span', { class: 'bounds' }, saving.high !== null ? ['saves up to ', figure(`${at}.saving_s.high`)] : 'saving not known')];
  return h('summary', {},
    h('span', { class: 'number' }, `${i + 1}`),
    h('span', { class: 'what' },
      h('span', { class: 'title' }, title_of(finding)), h('span', { class: 'tag kind' }, finding.kind), saving.order ? h('span', { class: 'tag' }, `fix ${saving.order} of the best set${in_part(finding) ? ', in part' : ''}`) : null, role_of(finding, findings) ? h('span', { class: 'tag' }, role_of(finding, findings)) : null,
      h('span', { class: 'where' }, name(finding.sites[0].text), more ? ` and ${plural(more, 'more site')}` : '')),
    h('span', { class: 'saving' }, gain));
}

const BASIS = { modelled: 'modelled: the run replayed with the profile\'s figures', measured: 'measured', played: 'played: the run made again on GPUs', replayed: 'replayed' };

function savings(finding, i, findings) {
  const at = `report.findings.${i}.saving_s`;
  const saving = finding.saving_s;
  if (saving.likely === null) return facts({}, ['Saving', ['not known', saving.why_not ? `: ${saving.why_not}` : '']], ['At most', saving.high !== null ? figure(`${at}.high`) : null], ['Assuming', saving.assumed]);
  return facts({},
    ['Of the run, likely', [figure(`${at}.likely`), ' (', figure(`${at}.share`, 'part'), saving.share_of === 'the run' ? '' : ` of ${saving.share_of}`, ')']],
    ['Low to high', bounds(at, saving)],
    ['In the best set', saving.order ? ['adds ', figure(`${at}.added`), ', would cost ', figure(`${at}.last`), ' to leave out'] : `no: ${role_of(finding, findings) ?? 'it saves too little'}`],
    ['How it is known', BASIS[saving.basis] ?? 'not known'],
    ['Assuming', saving.assumed]);
}

const ACHIEVED = { device: 'device timestamps', host: 'the host\'s time in the call: at least that', mixed: 'device timestamps and the host\'s time', modelled: 'modelled from the profile' };
const ACHIEVABLE = { measured: 'measured by the probe', interpolated: 'between sizes that the probe measured', modelled: 'the profile\'s model' };

// Allocations and the like are calls, not transfers: they have no direction.
const called = (finding) => (finding.sites.every((site) => site.direction === null) ? 'calls' : 'transfers');

function evidence(finding, i) {
  const at = `report.findings.${i}`;
  const { basis } = finding;
  const known = (value, words, error) => (words && value !== null ? `, ${words}${error !== null && error !== undefined ? `, +-${(error * 100).toFixed(1)} %` : ''}` : '');
  return facts({},
    [called(finding) === 'calls' ? 'Calls' : 'Transfers', [figure(`${at}.transfers`), ', ', figure(`${at}.bytes`)]],
    ['Achieved', [figure(`${at}.achieved_gbps`), known(finding.achieved_gbps, ACHIEVED[basis.achieved])]],
    ['Achievable', [figure(`${at}.achievable_gbps`), known(finding.achievable_gbps, ACHIEVABLE[basis.achievable], basis.achievable_error), basis.other_machine && finding.achievable_gbps !== null ? '; of another machine' : '']],
    ['Lost', [figure(`${at}.lost_s`), basis.note ? `: ${basis.note}` : '']]);
}

// "D2H, GPU 1": which GPUs, where sites of one direction differ in that.
const gpus_of = (site) => [...new Set([site.src_device, site.dst_device])].filter((gpu) => gpu !== null).join(' to ');
function way(site, all) {
  const several = new Set(all.filter(({ direction }) => direction === site.direction).map(gpus_of)).size > 1;
  return [site.direction ?? '-', several && gpus_of(site) && `GPU ${gpus_of(site)}`].filter(Boolean).join(', ');
}

function sites(finding, i) {
  const rows = finding.sites.map((site, k) => ({ site, at: `report.findings.${i}.sites.${k}` }));
  const earlier = rows.some(({ site }) => site.earlier);
  return table({
    caption: 'Sites', rows, shown: 10, columns: [
      { title: 'call site', text: ({ site }) => site.text, cell: ({ site }) => place(site) },
      { title: 'function', text: ({ site }) => site.runtime_function ?? site.called ?? '-' },
      { title: 'direction', text: ({ site }) => way(site, finding.sites) },
      { title: called(finding), number: ({ site }) => site.transfers, at: ({ at }) => `${at}.transfers` },
      { title: 'bytes', number: ({ site }) => site.bytes, at: ({ at }) => `${at}.bytes` },
      { title: 'lost', number: ({ site }) => site.lost_s, at: ({ at }) => `${at}.lost_s` },
      in_part(finding) && { title: 'in the best set', number: ({ site }) => site.in_set, at: ({ at }) => `${at}.in_set` },
      earlier && { title: 'had moved the same before', text: ({ site }) => site.earlier ?? '-' },
    ].filter(Boolean),
  });
}

// A call site, with its whole path as a title.
export function place(site) {
  return name(site.text, { class: 'place', title: site.file ? `${site.file}${site.line ? `:${site.line}` : ''}` : site.module });
}

// What the profile has for other kinds of memory, for copies of the size of these.
function alternatives(finding, timeline) {
  const size = finding.bytes / finding.transfers;
  const directions = new Set(finding.sites.map((site) => site.direction));
  const rows = (timeline.curves ?? []).filter((curve) => directions.has(curve.direction)).map((curve) => ({ curve, rate: at_size(curve, size) })).filter(({ rate }) => rate);
  if (!rows.length) return null;
  return table({
    caption: `What the probe measured for copies of ${bytes(Math.round(size))}, the mean of these`, rows, columns: [
      { title: 'way', text: ({ curve }) => curve.label },
      { title: 'GB/s', number: ({ rate }) => rate.gb_s, show: ({ rate }) => gbps(rate.gb_s) },
      { title: 'low to high', text: ({ rate }) => (rate.low === null ? '-' : `${gbps(rate.low)} to ${gbps(rate.high)}`) },
      { title: 'each takes', number: ({ rate }) => size / rate.gb_s, show: ({ rate }) => text_of(size / rate.gb_s, 'ns') },
    ],
  });
}

// Back to where it happened.
function to_timeline(i, links) {
  return links.has(i) && h('p', {}, h('button', { type: 'button', class: 'plain', onclick: () => links.show(i) }, 'Show in the timeline'));
}

function body(finding, i, { report: { findings }, timeline, links }) {
  const parameters = Object.entries(finding.parameters);
  const patch = fix_diff(finding);
  return h('div', { class: 'body' },
    h('p', { class: 'about' }, KINDS[finding.kind] ?? null),
    h('p', { class: 'fix' }, h('strong', {}, 'Fix: '), finding.fix, finding.fix_note ? ` (${finding.fix_note})` : null),
    source_listings(finding.sites),
    patch ? patch_view(patch) : null,
    parameters.length ? h('p', { class: 'dim' }, parameters.map(([key, value]) => `${key.replaceAll('_', ' ')}: ${value}`).join(', ')) : null,
    h('div', { class: 'columns' }, h('div', {}, h('h3', {}, 'Saving'), savings(finding, i, findings)), h('div', {}, h('h3', {}, 'Evidence'), evidence(finding, i))),
    sites(finding, i), to_timeline(i, links), alternatives(finding, timeline));
}

function unfolding(finding, i, scale, data) {
  return h('details', { id: `finding-${i + 1}`, class: 'finding', open: i === 0 && !finding.saving_s.idle }, headline(finding, i, scale, data.report.findings), body(finding, i, data));
}

export function findings_section(data) {
  const { findings } = data.report;
  const scale = scale_of(findings);
  const all = findings.map((finding, i) => ({ idle: finding.saving_s.idle, member: finding.saving_s.order, node: unfolding(finding, i, scale, data) }));
  const worth = all.filter((entry) => !entry.idle).map((entry) => entry.node);
  const smaller = all.filter((entry) => entry.idle && entry.member).map((entry) => entry.node); // the headline's word
  const idle = all.filter((entry) => entry.idle && !entry.member).map((entry) => entry.node);
  return section('findings', 'Findings',
    worth.length ? h('p', { class: 'dim' }, 'The changes of the best set first, in its order, then what is instead of one of them. Each saving is that of the change alone: they are not to be added.') : h('p', {}, idle.length ? 'None that is worth a change.' : 'None.'),
    worth,
    smaller.length ? h('details', { class: 'idle' }, h('summary', {}, `${smaller.length} smaller, in the best set, too little to be advice alone`), smaller) : null,
    idle.length ? h('details', { class: 'idle' }, h('summary', {}, `${idle.length} more that would save less than 0.5 % of the run, or hardly more than a simpler fix`), idle) : null);
}
