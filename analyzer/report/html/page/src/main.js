// The page of a report: reads the two blocks of data, draws the sections.
import { add, h, set_data } from './dom.js';
import { run_name, shown } from './format.js';
import { bandwidth_section } from './bandwidth.js';
import { findings_section } from './findings.js';
import { buffers_section, managed_section } from './memory.js';
import { notes_section } from './notes.js';
import { best_set, run_head, where_time_went } from './summary.js';
import { phases_section, ranks_section, transfers_section, waits_section } from './tables.js';
import { theme_switch, watch_print } from './theme.js';
import { timeline_section } from './timeline.js';
import { tooltip_box } from './tooltip.js';
import { traffic_section } from './traffic.js';

const SECTIONS = [where_time_went, best_set, findings_section, timeline_section, bandwidth_section, traffic_section, managed_section, buffers_section, transfers_section, waits_section, phases_section, ranks_section, notes_section];

// The section's id as a word.
const label = (id) => id[0].toUpperCase() + id.slice(1).replace(/-.*/, '');

function contents(sections) {
  return h('nav', { 'aria-label': 'Sections' }, h('ul', {}, sections.map((node) => h('li', {}, h('a', { href: `#${node.id}`, title: node.querySelector('h2').textContent }, label(node.id))))));
}

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

function show(data) {
  set_data(data);
  const { run } = data.report;
  document.title = `xferscope: ${shown(run_name(run))}`;
  const sections = SECTIONS.map((make) => make(data)).filter(Boolean);
  add(document.body, h('a', { class: 'skip', href: '#main' }, 'To the report'), run_head(data.report, theme_switch()), contents(sections), h('main', { id: 'main' }, sections),
    h('footer', {}, h('p', {}, `xferscope report, format ${data.report.schema.version}. Trace: `, h('bdi', {}, run.trace), '.')), tooltip_box());
  watch_print();
  addEventListener('hashchange', unfold);
  if (location.hash) unfold();
  document.documentElement.dataset.ready = '';
}

const block = (id) => JSON.parse(document.getElementById(id).textContent);

show({ report: block('report'), timeline: block('timeline') });
