// Tables: sorted by a click on a heading, filtered by a word, long ones shown in part.
import { figure, h, name } from './dom.js';
import { plural, shown } from './format.js';

const SHOWN = 30; // rows at first, by default

function cell_of(column, row) {
  if (column.cell) return column.cell(row);
  if (column.at) return figure(column.at(row), column.unit, column.before?.(row));
  if (column.show) return column.show(row);
  const value = column.number ? column.number(row) : column.text(row);
  return column.number ? String(value ?? '-') : name(value);
}

// What is not known comes last, whichever way.
function compare(column, falling) {
  return (a, b) => {
    const [x, y] = column.number ? [column.number(a.row), column.number(b.row)] : [column.text(a.row), column.text(b.row)];
    if ((x ?? null) === null || (y ?? null) === null) return ((x ?? null) === null) - ((y ?? null) === null);
    const order = column.number ? x - y : x.localeCompare(y);
    return falling ? -order : order;
  };
}

function heading(column, state, sort) {
  const button = h('button', { type: 'button' }, column.title);
  const cell = h('th', { scope: 'col', class: column.number ? 'number' : null }, button);
  button.addEventListener('click', () => {
    const falling = state.by === column ? !state.falling : !!column.number;
    Object.assign(state, { by: column, falling });
    for (const other of cell.parentNode.children) other.removeAttribute('aria-sort');
    cell.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
    sort();
  });
  return cell;
}

function row_node(columns, row, id) {
  return h('tr', { id: id?.(row) }, columns.map((column, i) => {
    const kind = i === 0 ? 'th' : 'td';
    return h(kind, { scope: i === 0 ? 'row' : null, class: column.number ? 'number' : null }, cell_of(column, row));
  }));
}

// caption, rows, columns: { title, text | number: of a row, for sorting; at: path of the figure; unit; show
// or cell: how it is drawn otherwise }; id: of a row; filter: a box for words; extra: more controls, each
// { node, keep(row) }, whose node fires "change"; shown: rows at first.
export function table({ caption, rows, columns, id, filter, shown: first = SHOWN, extra = [] }) {
  const entries = rows.map((row) => ({ row, node: null, words: null }));
  const state = { by: null, falling: false, words: [], all: entries.length <= first };
  const body = h('tbody');
  const status = h('p', { class: 'dim', role: filter ? 'status' : null });
  const more = h('button', { type: 'button', class: 'plain', hidden: true, onclick: () => (state.all = true, draw()) });

  function words_of(entry) {
    entry.words ??= columns.map((column) => (column.text ? column.text(entry.row) : '')).map(shown).join('\n').toLowerCase();
    return entry.words;
  }
  function nothing() {
    const why = !entries.length ? 'No rows.' : state.words.length ? `No row has "${state.words.join(' ')}"${extra.length ? ' with what is chosen beside it' : ''}.` : 'No row is of what is chosen above.';
    return h('tr', { class: 'nothing' }, h('td', { colspan: columns.length }, why));
  }
  function draw() {
    const kept = entries.filter((entry) => extra.every(({ keep }) => keep(entry.row)) && state.words.every((word) => words_of(entry).includes(word)));
    if (state.by) kept.sort(compare(state.by, state.falling));
    const visible = state.all ? kept : kept.slice(0, first);
    body.replaceChildren(...(visible.length ? visible.map((entry) => (entry.node ??= row_node(columns, entry.row, id))) : [nothing()]));
    status.textContent = kept.length === entries.length && !filter ? '' : `${kept.length} of ${plural(entries.length, 'row')}`;
    more.hidden = visible.length === kept.length;
    more.textContent = `Show all ${kept.length}`;
  }
  for (const { node } of extra) node.addEventListener('change', draw);
  const input = filter && h('input', { type: 'search', placeholder: filter, 'aria-label': filter, oninput: () => {
    state.words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    draw();
  } });
  draw();
  const box = h('div', { class: 'table' },
    input ? h('div', { class: 'controls' }, input, extra.map(({ node }) => node), status) : null,
    h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
      h('table', {}, h('caption', {}, caption), h('thead', {}, h('tr', {}, columns.map((column) => heading(column, state, draw)))), body)),
    more);  // All rows, for a link to one that is not shown.
  box.reveal = () => {
    Object.assign(state, { all: true, words: [] });
    if (input) input.value = '';
    for (const { node } of extra) node.value = '';
    draw();
  };
  return box;
}
