// The timeline: as recorded, and below it, on the same scale, as advised.
import { add, h, section } from './dom.js';
import { bytes, gbps, plural, text_of } from './format.js';
import { draw_timeline, layout, row_at } from './timeline_draw.js';
import { first_from, largest, slice_at, total, unpack } from './slices.js';
import { table } from './table.js';
import { on_colours } from './theme.js';
import { hide_tip, show_tip } from './tooltip.js';
import { follow_pointers, follow_wheel, make_view } from './view.js';

const TRACKS = 24; // of a version at first

const DEVICE = new Set(['copies', 'kernels', 'migrations', 'exposed', 'waits']);

function unpacked(version, name = version.name) {
  return {
    name, length: version.end_ns - version.begin_ns, resolution: version.resolution_ns,
    tracks: version.tracks.map((track) => unpack(track, version.begin_ns)).filter((track) => track.starts.length > 0),
  };
}

// As recorded, and below it what the ticked fixes make of it.
function shown_versions(recorded, choice) {
  const { version } = choice.now;
  const other = version ? [unpacked(version, choice.words())] : [];
  return [recorded, ...other].filter((one) => one.tracks.length);
}

// From the first to the last work of any version, with a little room around it.
function busy_span(versions, whole) {
  const tracks = versions.flatMap((version) => version.tracks).filter((track) => DEVICE.has(track.kind));
  if (!tracks.length) return whole;
  const first = Math.min(...tracks.map((track) => track.starts[0]));
  const last = Math.max(...tracks.map((track) => track.starts[track.starts.length - 1] + track.slices.dur[track.slices.dur.length - 1]));
  const room = (last - first) * 0.01;
  return [Math.max(whole[0], first - room), Math.min(whole[1], last + room)];
}

// The same for the phase in the headline: from its first range to its last; null: the headline has no phase.
function phase_span([recorded], { focus, names }, whole) {
  if (!focus) return null;
  let [first, last] = [Infinity, -Infinity];
  for (const { kind, starts, slices } of recorded.tracks) {
    if (kind !== 'ranges') continue;
    for (let i = 0; i < starts.length; i++) {
      if (names[slices.name?.[i]] !== focus.phase) continue;
      first = Math.min(first, starts[i]);
      last = Math.max(last, starts[i] + slices.dur[i]);
    }
  }
  const room = (last - first) * 0.01;
  return last > first ? [Math.max(whole[0], first - room), Math.min(whole[1], last + room)] : null;
}

function slice_lines(track, i, { names, links }) {
  const finding = links.finding_of(track, i);
  const { dur, count, bytes: moved, busy, name } = track.slices;
  const ops = count?.[i] ?? 1;
  const worked = busy?.[i] ?? dur[i];
  const known = name?.[i] >= 0 ? names[name[i]] : null;
  const what = ops > 1 ? (known ? `${ops} x ${known}` : plural(ops, 'operation')) : known ?? track.kind;
  const size = moved?.[i] ?? 0;
  return [what, track.label,
    `at ${text_of(track.starts[i], 'ns')}, ${text_of(dur[i], 'ns')}${ops > 1 ? `, busy ${text_of(worked, 'ns')}` : ''}`,
    size > 0 ? `${bytes(size)}${worked > 0 ? `, ${gbps(size / worked)} GB/s` : ''}` : null,
    finding >= 0 ? `finding ${finding + 1}: click, or Enter` : null];
}

function figures(versions) {
  const rows = versions.flatMap((version) => version.tracks.map((track) => ({ version, track })));
  return h('details', {}, h('summary', {}, 'The timeline in figures'), table({
    caption: 'What each track holds', rows, columns: [
      { title: 'track', text: ({ track }) => track.label },
      { title: 'version', text: ({ version }) => version.name },
      { title: 'operations', number: ({ track }) => (track.slices.count ? total(track.slices.count) : track.starts.length) },
      { title: 'busy', number: ({ track }) => total(track.slices.busy ?? track.slices.dur), show: ({ track }) => text_of(total(track.slices.busy ?? track.slices.dur), 'ns') },
      { title: 'bytes', number: ({ track }) => total(track.slices.bytes ?? []), show: ({ track }) => (total(track.slices.bytes ?? []) ? bytes(total(track.slices.bytes)) : '-') },
    ],
  }));
}

const HELP = 'Drag to move, Ctrl and wheel (or two fingers) to zoom. With the keyboard: + and - zoom, left and right move, up and down choose a track, N and P go to the next and the previous operation, Enter to its finding, 0 shows all.';

// The drawing with what it listens to. Returns its element.
function drawing(versions, { timeline, links }, longest, changed) {
  const whole = [0, Math.max(1, longest, ...versions.map((version) => version.length))];
  const busy = busy_span(versions, whole);
  const canvas = h('canvas', { tabindex: 0, role: 'img', 'aria-describedby': 'timeline-help' });
  const status = h('p', { class: 'dim', role: 'status' });
  const state = { canvas, names: timeline.names ?? [], links, width: 0, rows: [], chosen: null, versions };
  state.view = make_view(whole, () => schedule());
  let waiting = false;
  function schedule() {
    if (waiting || !state.width) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw_timeline(state);
    });
  }
  function lay(width) {
    state.width = width;
    Object.assign(state, layout(state.versions, width, state.all ? Infinity : TRACKS));
    draw_timeline(state);
  }
  const phase = phase_span(versions, timeline, whole);
  state.view.set(...(phase ?? busy));
  const described = () => canvas.setAttribute('aria-label', `Timeline of ${state.versions.map((version) => `the run ${version.name}, ${text_of(version.length, 'ns')}`).join(' and ')}. The same in figures: below the drawing.`);
  described();
  changed((now) => {
    Object.assign(state, { versions: now, chosen: null });
    hide_tip();
    described();
    if (state.width) lay(state.width);
  });
  const box = h('div', { class: 'chart' }, canvas);
  new ResizeObserver(([entry]) => Math.round(entry.contentRect.width) && lay(Math.round(entry.contentRect.width))).observe(box);
  on_colours(() => state.width && draw_timeline(state));
  listen(state, status);
  links.on_show((i) => show_finding(state, status, i, lay));
  const button = (text, what) => h('button', { type: 'button', class: 'plain', onclick: what }, text);
  const many = versions.some((version) => version.tracks.length > TRACKS);
  const all = many && button('All tracks', () => {
    state.all = true;
    all.remove();
    lay(state.width);
  });
  return h('div', {}, h('div', { class: 'controls' },
    button('Zoom in', () => state.view.zoom(2)), button('Zoom out', () => state.view.zoom(0.5)),
    button('Earlier', () => state.view.pan(-0.5)), button('Later', () => state.view.pan(0.5)),
    phase && button('Phase', () => state.view.set(...phase)),
    button('GPU work', () => state.view.set(...busy)), button('Whole run', () => state.view.set(...whole)), all),
  box, status);
}

function listen(state, status) {
  const { canvas, view } = state;
  const place = (event) => {
    const { left } = canvas.getBoundingClientRect();
    return (event.clientX - left - state.left) / (state.width - state.left - state.right);
  };
  const moving = follow_pointers(canvas, view, place);
  follow_wheel(canvas, view, place);
  canvas.addEventListener('pointermove', (event) => {
    const row = row_at(state, event.clientY - canvas.getBoundingClientRect().top);
    const part = place(event);
    if (moving() && event.pointerType === 'mouse') return hide_tip();
    const reach = ((view.t1 - view.t0) / state.width) * 3;
    const i = row && part >= 0 && part <= 1 ? slice_at(row.track, view.t0 + part * (view.t1 - view.t0), reach) : -1;
    if (i < 0) return hide_tip();
    show_tip(event.clientX, event.clientY, slice_lines(row.track, i, state));
  });
  let down = null;
  canvas.addEventListener('pointerdown', (event) => (down = [event.clientX, event.clientY]));
  canvas.addEventListener('click', (event) => {
    if (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return; // it was moved
    const row = row_at(state, event.clientY - canvas.getBoundingClientRect().top);
    const i = row ? slice_at(row.track, view.t0 + place(event) * (view.t1 - view.t0), ((view.t1 - view.t0) / state.width) * 3) : -1;
    if (i >= 0) go_to_finding(state.links.finding_of(row.track, i));
  });
  canvas.addEventListener('pointerleave', hide_tip);
  canvas.addEventListener('blur', () => {
    state.chosen = null;
    hide_tip();
    draw_timeline(state);
  });
  canvas.addEventListener('keydown', (event) => press(event, state, status));
}

function press(event, state, status) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { view } = state;
  const keys = {
    '+': () => view.zoom(2), '=': () => view.zoom(2), '-': () => view.zoom(0.5), 0: () => view.set(-Infinity, Infinity),
    ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2),
    ArrowUp: () => choose(state, status, -1, 0), ArrowDown: () => choose(state, status, 1, 0),
    Enter: () => state.chosen && go_to_finding(state.links.finding_of(state.rows[state.chosen.row].track, state.chosen.slice)),
    n: () => choose(state, status, 0, 1), p: () => choose(state, status, 0, -1),
  };
  const what = keys[event.key] ?? keys[event.key.toLowerCase()];
  if (!what) return;
  event.preventDefault();
  what();
}

function go_to_finding(i) {
  if (i < 0) return;
  const id = `finding-${i + 1}`;
  if (location.hash === `#${id}`) location.hash = ''; // so that it is gone to again
  location.hash = id;
  document.querySelector(`#${id} > summary`)?.focus();
}

// The first of what belongs to a finding, as recorded.
function show_finding(state, status, i, lay) {
  const find = () => {
    for (const [at, row] of state.rows.entries()) {
      const slice = row.version === state.versions[0] ? row.track.starts.findIndex((_, k) => state.links.belongs(row.track, k, i)) : -1;
      if (slice >= 0) return { row: at, slice };
    }
    return null;
  };
  let found = find();
  if (!found && !state.all) {
    state.all = true; // its track may be one that was not drawn yet
    lay(state.width);
    found = find();
  }
  if (!found) return;
  const { track } = state.rows[found.row];
  const [start, long] = [track.starts[found.slice], track.slices.dur[found.slice]];
  state.view.set(start - long * 6, start + long * 7);
  state.chosen = { ...found };
  state.canvas.scrollIntoView({ block: 'center' });
  state.canvas.focus();
  choose(state, status, 0, 0);
}

// Goes by so many tracks and so many slices; the slice is brought into view and said.
function choose(state, status, tracks, slices) {
  const { view, rows } = state;
  if (!rows.length) return;
  const old = state.chosen;
  const at = old ? Math.min(Math.max(old.row + tracks, 0), rows.length - 1) : 0;
  const { track } = rows[at];
  let i = old && !tracks ? old.slice + slices : first_from(track.starts, view.t0);
  i = Math.min(Math.max(i, 0), track.starts.length - 1);
  state.chosen = { row: at, slice: i };
  const [start, end] = [track.starts[i], track.starts[i] + track.slices.dur[i]];
  const width = view.t1 - view.t0;
  if (start < view.t0 || end > view.t1) view.set(start - width * 0.3, start + width * 0.7);
  draw_timeline(state);
  const lines = slice_lines(track, i, state).filter(Boolean);
  status.replaceChildren();
  add(status, lines.join('; '));
  const box = state.canvas.getBoundingClientRect();
  const x = box.left + state.left + ((start - view.t0) / (view.t1 - view.t0)) * (state.width - state.left - state.right);
  show_tip(Math.max(box.left, Math.min(x, box.right)), box.top + rows[at].bottom, lines);
}

const KEYS = [['ranges', 'NVTX'], ['copies', 'copies'], ['kernels', 'kernels'], ['exposed', 'exposed transfers'], ['waits', 'waits'], ['host', 'host'], ['migrations', 'migrations']];

export function timeline_section({ timeline, choice, links }) {
  const all = (timeline.versions ?? []).map((version) => unpacked(version)).filter((version) => version.tracks.length);
  if (!all.length) return section('timeline-drawn', 'Timeline', h('p', {}, 'The trace has no events with times.'));
  const recorded = all[0];
  const kinds = new Set(all.flatMap((version) => version.tracks.map((track) => track.kind)));
  const merged = all.some((version) => version.tracks.some((track) => track.slices.count?.some((count) => count > 1)));
  const longest = largest([...all.map((version) => version.length), ...(timeline.sets ?? []).map(({ version }) => version.end_ns - version.begin_ns)], 1);
  return section('timeline-drawn', 'Timeline',
    h('ul', { class: 'keys' }, KEYS.filter(([kind]) => kinds.has(kind)).map(([kind, words]) => h('li', {}, h('span', { class: `key track-${kind}`, 'aria-hidden': 'true' }), words)),
      merged ? h('li', {}, `pale: operations nearer than ${text_of(Math.max(...all.map((version) => version.resolution)), 'ns')} as one, solid as far as they were busy`) : null),
    drawing(all, { timeline, links }, longest, (redraw) => choice.on(() => redraw(shown_versions(recorded, choice)))),
    h('p', { class: 'dim', id: 'timeline-help' }, HELP),
    figures(all));
}
