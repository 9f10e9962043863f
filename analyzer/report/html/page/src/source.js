// Lines of source around call sites, as the trace has them.
import { copy_button } from './copy.js';
import { h, name } from './dom.js';
import { base_name, plural, shown } from './format.js';

const SHOWN = 3; // sites at first

// Code as a text node: what is hidden in it is made visible as elsewhere, but tabs stay.
export const code_text = (line) => document.createTextNode(String(line).split('\t').map(shown).join('\t'));

// Different lines, each once: [{ file, line, first, lines }].
export function sources_of(sites) {
  const seen = new Map();
  for (const { file, line, source } of sites) {
    if (!source?.lines?.length || !file || !line) continue;
    const key = `${file}:${line}`;
    if (!seen.has(key)) seen.set(key, { file, line, first: source.line, lines: source.lines.map(String) });
  }
  return [...seen.values()];
}

function listing({ file, line, first, lines }) {
  const where = `${base_name(file)}:${line}`;
  return h('figure', { class: 'source' }, h('figcaption', {}, name(where, { title: file })),
    h('div', { class: 'code', tabindex: 0, role: 'group', 'aria-label': `Source around ${where}` }, lines.map((text, i) => {
      const own = first + i === line;
      return h('div', { class: own ? 'line own' : 'line' }, h('span', { class: 'line-number', 'aria-hidden': own ? null : 'true' }, String(first + i)), h('code', {}, code_text(text)));
    })));
}

// A unified diff, to be read and to be copied.
export function patch_view({ text, note }) {
  const kind = { '+': 'added', '-': 'removed', '@': 'dim' };
  return h('figure', { class: 'source patch' }, h('figcaption', {}, 'The fix as a patch', note ? `, ${note}` : '', ' ', copy_button(text, 'Copy the patch')),
    h('div', { class: 'code', tabindex: 0, role: 'group', 'aria-label': 'Patch' }, text.replace(/\n$/, '').split('\n').slice(2).map((line) => h('code', { class: kind[line[0]] ?? null }, code_text(line)))));
}

// The lines around the sites of a finding; null: the trace has none.
export function source_listings(sites) {
  const all = sources_of(sites);
  if (!all.length) return null;
  const rest = all.slice(SHOWN);
  return h('div', { class: 'sources' }, all.slice(0, SHOWN).map(listing),
    rest.length ? h('details', {}, h('summary', {}, `${plural(rest.length, 'more line')} of source`), rest.map(listing)) : null);
}
