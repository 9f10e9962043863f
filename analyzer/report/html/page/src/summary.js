// The top of the page: what the run is, where its time went, and what it would take with the best fixes.
import { add, bounds, figure, facts, h, may_cost, name, redrawn, section, value_at } from './dom.js';
import { base_name, command_line, percent, plural, run_name, shown, text_of } from './format.js';
import { copy_button } from './copy.js';
import { title_of } from './titles.js';

function counted(list) {
  const times = new Map();
  for (const entry of list) times.set(entry, (times.get(entry) ?? 0) + 1);
  return few([...times].map(([entry, count]) => (count > 1 ? `${count} x ${entry}` : entry)));
}

// The first few of a long list.
function few(list) {
  const most = 4;
  return list.length > most ? `${list.slice(0, most).join(', ')} and ${list.length - most} more` : list.join(', ');
}

function started(run) {
  return run.started ? `${run.started.slice(0, 19).replace('T', ' ')} UTC` : 'not known';
}

function timing(run) {
  const names = { cupti: 'device timestamps (CUPTI)', events: 'CUDA events', none: 'host clock alone' };
  return counted(run.processes.map((process) => names[process.timing] ?? process.timing ?? 'not known'));
}

function moved(run) {
  const directions = Object.keys(run.directions);
  if (!directions.length) return 'nothing';
  return directions.map((direction, i) => {
    const at = `report.run.directions.${direction}`;
    return [i ? ', ' : '', `${direction} `, figure(`${at}.bytes`), ' in ', figure(`${at}.transfers`)];
  });
}

// As the other formats lead with it: what the part of the run that the GPUs work in would save.
function headline() {
  const text = document.querySelector('meta[name="headline"]')?.content;
  return text && h('p', { class: 'headline' }, shown(text));
}

function applied({ whatif }) {
  const saving = whatif?.apply_saving_s;
  if (!saving) return null;
  const at = 'report.whatif.apply_saving_s';
  return h('p', {}, 'Without an edit: ', h('code', {}, 'xferscope apply'), ' would save ', figure(`${at}.likely`), ' (', bounds(at, saving), ').');
}

// With --site, --kind, --rank or --phase only a part of findings and transfers is here.
function part_shown({ filter }) {
  if (!filter) return null;
  const asked = [['site', filter.site], ['kind', filter.kind], ['rank', filter.ranks?.join(', ')], ['phase', filter.phase]].filter(([, value]) => value);
  return h('p', { class: 'warning' }, `Only a part is shown, ${asked.map(([word, value]) => `${word} ${shown(value)}`).join(', ')}: ${filter.transfers} of ${plural(filter.of_transfers, 'row')} of transfers, ${filter.findings} of ${plural(filter.of_findings, 'finding')}.`,
    filter.nothing ? ` ${shown(filter.nothing)}` : '');
}

export function run_head(report, theme) {
  const { run, machine } = report;
  const watched = run.host_access.asked && h('p', { class: 'warning' }, 'Recorded with --host-access: the program was slower, and so are the times; a usual run has its own.');
  const verified = run.verify && h('p', { class: 'warning' }, 'Recorded with --verify: the program was much slower, and so are the times; a usual run has its own.');
  const simulated = run.simulated && h('p', { class: 'warning' }, 'The GPU of this run was the simulated one: its times are no figures of a real machine.');
  const gpus = run.gpus.map((gpu) => gpu.name ?? 'unknown GPU');
  return h('header', {},
    h('div', { class: 'bar' }, h('span', { class: 'brand' }, 'xferscope'), theme),
    h('h1', {}, name(run_name(run))),
    h('p', { class: 'command' }, h('code', {}, command_line(run.command.length ? run.command : [run.program ?? run.trace]))),
    headline(),
    applied(report),
    simulated,
    watched,
    verified,
    part_shown(report),
    run.mixed && h('p', { class: 'warning' }, `Warning: ${shown(run.mixed)}`),
    facts({},
      [gpus.length > 1 ? 'GPUs' : 'GPU', gpus.length ? name(counted(gpus)) : 'none seen'],
      [run.hosts.length > 1 ? 'Hosts' : 'Host', name(few(run.hosts.map((host) => host ?? 'not recorded')))],
      ['Started', started(run)],
      ['Wall time', [figure('report.run.wall_s'), `, ${run.processes.length === 1 ? '1 process' : `${run.processes.length} processes`}`]],
      ['Moved', moved(run)],
      ['Device times', timing(run)],
      ['Machine profile', machine.profile ? name(base_name(machine.profile)) : 'none given: nothing is known of what was achievable']));
}

// ---- where the time went -----------------------------------------------------------------------

const PARTS = [
  ['compute', 'Compute', 'kernels ran, and no transfer beside them'],
  ['hidden', 'Hidden transfers', 'transfers beside kernels of the same GPU'],
  ['exposed', 'Exposed transfers', 'transfers while no kernel ran, or that a kernel waited for'],
  ['waits', 'Waits', 'the GPU had nothing to do, and a thread waited'],
  ['launches', 'Launches', 'the GPU had nothing to do, no thread waited, and one was launching a kernel'],
  ['host', 'Host', 'the GPU had nothing to do, and no thread waited or launched a kernel'],
];

// Without a record of a kernel neither the compute time is known nor what it hid.
const WITHOUT_KERNELS = { exposed: ['exposed', 'Transfers', 'transfers, hidden or not: no kernel was recorded'] };

function parts_of(shares) {
  return shares.compute === null ? PARTS.filter(([key]) => shares[key] !== null).map((part) => WITHOUT_KERNELS[part[0]] ?? part) : PARTS;
}

function bar(shares, whole, label) {
  const parts = parts_of(shares).filter(([key]) => shares[key] > 0);
  return h('div', { class: 'shares', 'aria-hidden': 'true' },
    h('span', { class: 'shares-label' }, label),
    h('div', { class: 'track' }, parts.map(([key, title]) =>
      h('div', { class: `share ${key}`, style: `width:${(shares[key] / whole) * 100}%`, title: `${title}: ${text_of(shares[key], 'ns')}` }))));
}

// led: by a phase, which all percentages are of.
function share_rows(shares, total, advised_at, led) {
  const cell = (key) => [h('td', {}, figure(`timeline.shares.${key}`, 'ns')), led ? null : h('td', {}, percent(shares[key] / total))];
  return parts_of(shares).map(([key, title, what]) => h('tr', {},
    h('th', { scope: 'row' }, h('span', { class: `key ${key}`, 'aria-hidden': 'true' }), title),
    cell(key), advised_at && h('td', {}, figure(`${advised_at}.${key}`, 'ns')), h('td', { class: 'words' }, what)));
}

// The same without what a process does before its first work for a GPU and after the last: only the host's
// part is longer than that. With several processes such stretches are added up, and tell nothing here.
function inner({ report, timeline, choice }) {
  const span = report.whatif?.span;
  const of = (shares, seconds) => {
    const rest = sum_of(shares) - shares.host;
    return shares && seconds !== null && seconds * 1e9 >= rest ? { ...shares, host: seconds * 1e9 - rest } : null;
  };
  if (!(span?.recorded_s > 0) || report.run.processes.length !== 1 || !(span.recorded_s < 0.8 * report.run.wall_s)) return null;
  const recorded = of(timeline.shares, span.recorded_s);
  if (!recorded) return null;
  const advised = choice.now.kind === 'all' && timeline.shares.advised && of(timeline.shares.advised, span.with_set_s);
  const whole = Math.max(sum_of(recorded), sum_of(advised));
  return [h('p', { class: 'dim part' }, 'Of it, from the first work for a GPU to the last wait, ', figure('report.whatif.span.recorded_s'), ':'),
    bar(recorded, whole, advised ? 'as recorded' : ''), advised && bar(advised, whole, 'as advised')];
}

// What the headline is of, where that is a phase: while its ranges were open, in any thread.
function of_focus({ focus }) {
  const whole = sum_of(focus?.shares);
  if (!(whole > 0)) return null;
  return [h('p', { class: 'dim part' }, 'In phase ', name(focus.phase), ', as recorded:'), bar(focus.shares, whole, ''),
    h('p', { class: 'dim' }, parts_of(focus.shares).filter(([key]) => focus.shares[key] > 0).map(([key, title], i) => [i ? ', ' : '', h('span', { class: `key ${key}`, 'aria-hidden': 'true' }), `${title} `, figure(`timeline.focus.shares.${key}`, 'ns'), ` (${percent(focus.shares[key] / whole)})`])),
    h('p', { class: 'dim part' }, 'The whole run:')];
}

const sum_of = (shares) => PARTS.reduce((all, [key]) => all + (shares?.[key] ?? 0), 0);

export function where_time_went({ report, timeline, choice }) {
  const { shares } = timeline;
  const total = sum_of(shares);
  if (!(total > 0) || parts_of(shares).length < 2) return section('time', 'Where the time went', h('p', {}, 'Not known: the trace has no events with times.'));
  return section('time', 'Where the time went', redrawn(choice, () => {
    const at = choice.now.shares_at;
    const advised = at && value_at(at);
    const whole = Math.max(total, sum_of(shares.advised), sum_of(advised));
    const led = of_focus(timeline);
    return [led, bar(shares, whole, advised ? 'as recorded' : ''),
      advised && bar(advised, whole, choice.words()),
      inner({ report, timeline, choice }),
      h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Where the time went, in figures' }, h('table', { class: 'legend' },
        h('caption', { class: 'unseen' }, 'Where the time of the run went'),
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'part'), h('th', { scope: 'col' }, 'as recorded'), led ? null : h('th', { scope: 'col' }, 'of the run'), advised && h('th', { scope: 'col' }, choice.words()), h('th', { scope: 'col', class: 'words' }, 'when'))),
        h('tbody', {}, share_rows(shares, total, advised && at, led))))];
  }));
}

// ---- the best set of fixes ---------------------------------------------------------------------

const W = 'report.whatif';

function believed(whatif) {
  const how = whatif.set_saving_s.basis === 'played' ? 'played on GPUs' : 'modelled';
  return h('p', { class: 'dim' }, `How this is known: ${how}; the run replayed unchanged is `, figure(`${W}.error`, 'part'), ' off the recorded one',
    whatif.uncertain ? ', which makes all savings uncertain' : '',
    whatif.together ? ['; its ', figure(`${W}.together.processes`, 'count'), ' processes are replayed together, by ', figure(`${W}.together.messages`, 'count'), ' messages'] : '',
    whatif.recording_known ? '; what recording cost is taken out.' : '; what recording cost is taken out as far as it is known.');
}

// Ticked are those that the figures above are for.
function set_list(choice) {
  return h('ol', { class: 'set' }, choice.members.map(({ finding, i }, place) => {
    const order = finding.saving_s.order;
    const box = h('input', { type: 'checkbox', checked: true, 'aria-label': `Fix ${order}: ${title_of(finding)}`, onchange: () => choice.tick(order, box.checked) });
    return h('li', {}, choice.whole ? [box, ' '] : null, h('a', { href: `#finding-${i + 1}` }, title_of(finding)), ' at ', name(finding.sites[0].text), ': saves ', figure(`report.findings.${i}.saving_s.added`), place ? ' more' : '');
  }));
}

// The phase that the headline is of, before and after; with all fixes alone, since only that was played of it.
function phase_before_after(whatif, focus, choice) {
  const i = whatif.phases.findIndex(({ name: known }) => known === focus?.phase);
  const at = `${W}.phases.${i}`;
  if (choice.now.kind !== 'all' || i < 0 || whatif.phases[i].with_set_s === null) return null;
  const part = (term, ...of) => h('div', {}, h('dt', {}, term), h('dd', {}, of));
  const saved = `${at}.alone_s - ${at}.with_set_s`;
  return h('dl', { class: 'verdict' }, part(['Phase ', name(focus.phase)], figure(`${at}.alone_s`)), part('With the best fixes', figure(`${at}.with_set_s`, 's')),
    part('Saves', figure(saved, 's'), h('small', {}, `${percent((whatif.phases[i].alone_s - whatif.phases[i].with_set_s) / whatif.phases[i].alone_s)} of the phase`)));
}

// The run before and after, as three figures. led: by those of a phase, which all percentages are of.
function before_after(whatif, choice, led) {
  const [before, saving] = [`${W}.alone_s`, `${W}.set_saving_s`];
  const { kind, at } = choice.now;
  const part = (term, ...of) => h('div', {}, h('dt', {}, term), h('dd', {}, of));
  const first = part('The run by itself', figure(before));
  if (kind === 'none') return h('dl', { class: led ? 'verdict after' : 'verdict' }, first, part('With no fix', figure(before)));
  if (kind === 'unknown') return h('dl', { class: led ? 'verdict after' : 'verdict' }, first, part('With these fixes', 'not known', h('small', {}, 'this set was not played: tick the first ones, one after the other, or all')));
  if (kind === 'part') return h('dl', { class: led ? 'verdict after' : 'verdict' }, first, part(choice.words(), figure(`${at}.with_s`), h('small', {}, 'likely; low and high are known for all together, and for each by itself')),
    part('Saves', figure(`${at}.saved_s`), led ? null : h('small', {}, figure(`${at}.saved_s / ${before}`), ' of the run')));
  return h('dl', { class: led ? 'verdict after' : 'verdict' }, first,
    part('With the best fixes', figure(`${before} - ${saving}.likely`, 's'),
      h('small', {}, may_cost(whatif.set_saving_s)
        ? ['at best ', figure(`${before} - ${saving}.high`, 's'), ', may cost up to ', figure(`${saving}.low`, 'cost')]
        : [figure(`${before} - ${saving}.high`, 's'), ' to ', figure(`${before} - ${saving}.low`, 's')])),
    part('Saves', figure(`${saving}.likely`),
      h('small', {}, led ? null : [figure(`${saving}.likely / ${before}`), ' of the run; '], bounds(saving, whatif.set_saving_s))));
}

function played(whatif) {
  const run = whatif.played;
  if (!run) return null;
  if (!run.known) return h('p', {}, `Not played: ${run.why_not ?? 'no reason is known'}`);
  const at = `${W}.played`;
  return h('p', {}, `Played ${plural(run.times, 'time')} on this machine${run.whole ? '' : ', the first part of it'}: `, figure(`${at}.recorded_s`), ' (', figure(`${at}.error`, 'part'), ' off)',
    run.advised_s === null ? '' : [', with the best set ', figure(`${at}.advised_s`)], '.', run.note ? ` ${run.note}` : '');
}

function times_rows(whatif) {
  const rows = [['From the first work for a GPU to the last wait', `${W}.span`, whatif.span],
    ...whatif.phases.map((phase, i) => [['in phase ', name(phase.name)], `${W}.phases.${i}`, phase])];
  return rows.filter(([, , times]) => times.with_set_s !== null).map(([title, at]) => h('li', {}, title, ': ', figure(`${at}.alone_s`), ' -> ', figure(`${at}.with_set_s`)));
}

// Yes and no, of which one may be ticked. say(null): neither is.
function answer(key, say) {
  const boxes = ['yes', 'no'].map((word) => h('input', { type: 'checkbox', value: word, 'aria-label': `${key}: ${word}`, onchange: ({ target }) => {
    for (const box of boxes) if (box !== target) box.checked = false;
    say(target.checked ? word : null);
  } }));
  return boxes.map((box) => h('label', {}, box, ` ${box.value} `));
}

// What is likely is said where it reads otherwise than the most (described.c).
const MUCH_OF_MOST = 0.95;

// The screen compares with the span: what a question saves of the run outside of it is left to the report.
const shown_likely = ({ likely_s, likely_span_s }) => (likely_span_s !== null && likely_span_s < likely_s ? 'likely_span_s' : 'likely_s');
const shown_most = ({ up_to_s, up_to_span_s }) => (up_to_span_s !== null && up_to_span_s < up_to_s ? 'up_to_span_s' : 'up_to_s');

function question_figures(question, i) {
  const [likely, most] = [shown_likely(question), shown_most(question)];
  const said = question[likely] > 0 && question[likely] < MUCH_OF_MOST * question[most];
  const path = `report.findings.${i}.question`;
  return said ? [' ', figure(`${path}.${likely}`), ', up to ', figure(`${path}.${most}`), ', if '] : [' up to ', figure(`${path}.${most}`), ' if '];
}

// What decides, and the record cannot show: how much, if what. What is ticked becomes the command that counts
// with it: the run has to be replayed.
function questions({ findings, run, machine }) {
  const asked = findings.map(({ question }, i) => ({ question, i })).filter(({ question }) => question).sort((a, b) => b.question.up_to_s - a.question.up_to_s);
  if (!asked.length) return null;
  const answers = new Map();
  const suggested = h('div', { class: 'commands', role: 'status' });
  const say = (key) => (word) => {
    answers.delete(key);
    if (word) answers.set(key, word);
    const said = [...answers].flatMap(([of, is]) => ['--assume', `${of}=${is}`]);
    const line = command_line(['xferscope', 'analyze', run.trace, ...(machine.profile ? ['-p', machine.profile] : []), ...said, '-f', 'html', '--open']);
    suggested.replaceChildren();
    if (said.length) add(suggested, h('p', { class: 'dim' }, 'What the run would save with that:'), h('pre', {}, h('code', {}, shown(line))), copy_button(line, 'Copy the command'));
  };
  return [h('ul', { class: 'questions plain' }, asked.map(({ question, i }) => h('li', {},
    h('a', { href: `#finding-${i + 1}` }, '?'), ...question_figures(question, i), name(question.if), ': ', answer(question.key, say(question.key))))), suggested];
}

const moved_anything = ({ transfers, managed }) => transfers.length > 0 || managed?.sites?.length > 0;

function nothing_to_do(report, asked) {
  if (asked) return 'Nothing is worth changing for certain.';
  return moved_anything(report) ? 'Nothing worth changing.' : 'Nothing was moved: no transfer was seen.';
}

function no_profile({ run }) {
  const line = (...words) => h('pre', {}, h('code', {}, shown(command_line(['xferscope', ...words]))));
  return [h('p', {}, 'What the changes below would save is not known without a machine profile: measure it once, then analyze with it.'),
    h('div', { class: 'commands' }, line('probe', '-o', 'machine.json'), line('analyze', run.trace, '--profile', 'machine.json', '-f', 'html', '--open'))];
}

export function best_set({ report, timeline, choice }) {
  const { whatif, findings } = report;
  const worth = findings.filter((finding) => !finding.saving_s.idle);
  const asked = questions(report);
  const first = findings.some(({ question }) => question?.first);
  const part = (...children) => section('advice', 'What to do', ...(first ? asked : []), ...children, ...(first ? [] : asked ?? []));
  if (!worth.length) return part(h('p', { class: 'calm' }, nothing_to_do(report, asked)), whatif?.known ? believed(whatif) : null);
  if (!whatif?.known) return part(h('p', {}, `What the run would save is not known: ${whatif?.why_not ?? 'it was not replayed'}.`), h('p', {}, 'The findings below stand by what was lost.'));
  if (whatif.set_saving_s.likely === null && !report.machine.profile) return part(...no_profile(report), believed(whatif));
  if ((!choice.members.length && choice.whole) || whatif.set_saving_s.likely === null) return part(h('p', {}, 'No set of fixes is known to save time of the run.'), believed(whatif));
  return part(h('div', { role: 'status' }, redrawn(choice, () => {
    const phase = phase_before_after(whatif, timeline.focus, choice);
    return [phase, before_after(whatif, choice, phase)];
  })), set_list(choice),
    redrawn(choice, () => choice.now.kind === 'all' && h('ul', { class: 'plain dim' }, times_rows(whatif))), played(whatif), believed(whatif));
}
