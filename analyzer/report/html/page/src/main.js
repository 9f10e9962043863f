// The page of a report: reads the two blocks of data, draws the sections.
import { add, h, section, set_data } from './dom.js';
import { run_name, shown } from './format.js';
import { bandwidth_section } from './bandwidth.js';
import { make_choice } from './chosen.js';
import { COMPARISON, comparison_foot, comparison_head, comparison_name } from './compared.js';
import { findings_section } from './findings.js';
import { make_links } from './links.js';
import { buffers_section, managed_section } from './memory.js';
import { notes_section } from './notes.js';
import { stacks_section } from './stacks.js';
import { best_set, run_head, where_time_went } from './summary.js';
import { messages_section } from './messages.js';
import { phases_section, ranks_section, transfers_section, waits_section } from './tables.js';
import { theme_switch, watch_print } from './theme.js';
import { timeline_section } from './timeline.js';
import { tooltip_box } from './tooltip.js';
import { traffic_section } from './traffic.js';

const SECTIONS = [where_time_went, best_set, findings_section, timeline_section, bandwidth_section, traffic_section, managed_section, buffers_section, stacks_section, transfers_section, waits_section, phases_section, messages_section, ranks_section, notes_section];

// The section's id as a word.
const label = (id) => id[0].toUpperCase() + id.slice(1).replace(/-.*/, '');

const contents_line = (node) => h('li', {}, h('a', { href: `#${node.id}`, title: node.querySelector('h2').textContent }, label(node.id)));

// A link to something folded unfolds it; to a row that is not shown, shows it.
function unfold() {
  const find = () => document.getElementById(location.hash.slice(1));
  if (!find()) for (const table of document.querySelectorAll('.table')) table.reveal?.();
  const target = find();
  for (let node = target; node; node = node.parentElement) if (node.tagName === 'DETAILS') node.open = true;
  for (const old of document.querySelectorAll('.here')) old.classList.remove('here');
  target?.classList.add('here'); // :target does not know what was made after it was asked for
  target?.scrollIntoView();
}

// Data that is not as xferscope writes it (damaged, changed by hand, of another version): what cannot be
// shown of it is said in its place, and the rest is shown.
const not_shown = (what, error) => h('p', { class: 'warning broken' }, `${what} cannot be shown, its data is not as it should be: ${String(error?.message ?? error).slice(0, 200)}`);

function made(what, make, or_else) {
  try {
    return make();
  } catch (error) {
    return or_else(not_shown(what, error));
  }
}

function section_of(make, data, i) {
  const words = make.name.replace('_section', '').replaceAll('_', ' ');
  return made(`The part "${words}"`, () => make(data), (line) => section(`part-${i}`, label(words), line));
}

const REPORT = {
  sections: SECTIONS,
  head: ({ report }, theme) => run_head(report, theme),
  foot: ({ report }) => h('footer', {}, h('p', {}, `xferscope report, format ${report.schema.version}. Trace: `, h('bdi', {}, report.run.trace), '.')),
  title: ({ report }) => run_name(report.run),
};
const COMPARED = { sections: COMPARISON, head: comparison_head, foot: comparison_foot, title: comparison_name };

function show(data) {
  set_data(data);
  const kind = data.report?.schema?.name === 'xferscope-comparison' ? COMPARED : REPORT;
  data.choice = made('Which fixes there are', () => make_choice(data), () => make_choice({ report: { findings: [] }, timeline: {} }));
  data.links = made('What belongs to which finding', () => make_links(data), () => make_links({ report: { findings: [] }, timeline: {} }));
  const same = (line) => line;
  const main = h('main', { id: 'main' });
  const lines = h('ul', {});
  add(document.body, h('a', { class: 'skip', href: '#main' }, 'To the report'), made('What the run is', () => kind.head(data, theme_switch()), same), h('nav', { 'aria-label': 'Sections' }, lines), main,
    made('The trace', () => kind.foot(data), same), tooltip_box());
  made('The name', () => { document.title = `xferscope: ${shown(kind.title(data))}`; }, (line) => document.body.append(line));
  const finish = in_steps(kind.sections.length, (i) => {
    const node = section_of(kind.sections[i], data, i);
    add(main, node);
    add(lines, node && contents_line(node));
  });
  addEventListener('beforeprint', finish);
  watch_print();
  addEventListener('hashchange', () => {
    finish();
    unfold();
  });
  if (location.hash) {
    finish();
    unfold();
  }
}

const FIRST = 3; // sections: where the time went, what to do, the findings

// What is read first is made first, and shown before the rest is made, a section at a time (main.js marks the page
// with data-ready and data-complete). Returns what makes the rest at once.
function in_steps(count, put) {
  let next = 0;
  const until = (end) => {
    while (next < end) put(next++);
    if (next >= count) root.dataset.complete = '';
  };
  const step = () => {
    if (next < count) until(next + 1);
    if (next < count) setTimeout(step);
  };
  until(Math.min(FIRST, count));
  if (document.hidden) setTimeout(step);
  else requestAnimationFrame(() => setTimeout(step));
  return () => until(count);
}

const root = document.documentElement;
const block = (id) => JSON.parse(document.getElementById(id).textContent);

// What is drawn later, too. (An event without an error is a remark of the browser's.)
addEventListener('error', (event) => {
  if (event.error && !document.querySelector('.late')) document.body.prepend(h('div', { class: 'late' }, not_shown('Something on this page', event.error)));
  if (event.error) event.preventDefault();
});
made('The report', () => show({ report: block('report'), timeline: block('timeline') ?? {} }), (line) => {
  document.body.replaceChildren(line);
  root.dataset.complete = '';
});
root.dataset.ready = '';
