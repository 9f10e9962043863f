// How the timeline is drawn: a canvas, since it may hold some hundred thousand slices.
import { scaleLinear } from 'd3-scale';
import { shown, text_of } from './format.js';
import { first_from, largest } from './slices.js';
import { colour } from './theme.js';

const ROW = 18;
const GAP = 4;
const HEAD = 26;
const AXIS = 28;
const NAMED = 60; // of a slice, to have its name in it
const NARROW = 640; // below it the labels stand over the tracks

const measure = document.createElement('canvas').getContext('2d');

// Room for the longest label, within reason.
function label_room(versions) {
  measure.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const widths = versions.flatMap((version) => version.tracks.map((track) => measure.measureText(shown(track.label)).width));
  return Math.ceil(Math.min(largest(widths, 110), 260)) + 16;
}

// Where things are at this width: rows with their tracks, heads of the versions.
export function layout(versions, width, most) {
  const narrow = width < NARROW;
  const rows = [];
  const heads = [];
  let y = 0;
  for (const version of versions) {
    heads.push({ y, version, hidden: Math.max(0, version.tracks.length - most) });
    y += HEAD;
    for (const track of version.tracks.slice(0, most)) {
      const top = y + (narrow ? 14 : 0);
      rows.push({ track, version, label: narrow ? y + 7 : top + ROW / 2, top, bottom: top + ROW });
      y = top + ROW + GAP;
    }
    y += 6;
  }
  return { rows, heads, narrow, height: y + AXIS, left: narrow ? 0 : label_room(versions), right: 8 };
}

export function row_at(state, y) {
  return state.rows.find((row) => y >= row.top && y <= row.bottom) ?? null;
}

function prepare({ canvas, width, height }) {
  const ratio = Math.min(3, Math.max(2, devicePixelRatio || 1));
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.aspectRatio = `${width} / ${height}`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.textBaseline = 'middle';
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return context;
}

// As much of a text as there is room for.
function fitted(context, text, room) {
  let words = shown(text);
  if (context.measureText(words).width <= room) return words;
  while (words.length > 1 && context.measureText(`${words}...`).width > room) words = words.slice(0, -1 - (words.length >> 3));
  return `${words}...`;
}

function draw_axis(context, state, x, colours) {
  const bottom = state.height - AXIS;
  const ticks = x.ticks(Math.max(2, Math.floor((x.range()[1] - x.range()[0]) / 110)));
  context.textAlign = 'center';
  for (const tick of ticks) {
    const at = Math.round(x(tick)) + 0.5;
    context.fillStyle = colours.line;
    context.fillRect(at - 0.5, HEAD - 6, 1, bottom - HEAD + 6);
    context.fillStyle = colours.dim;
    const text = tick_text(tick, ticks);
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(at, half), state.width - half), bottom + 13);
  }
}

// All ticks in one unit, with as many digits as their distance asks for.
function tick_text(tick, ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(tick) || 1;
  const most = Math.abs(ticks[ticks.length - 1]);
  const [of, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us']].find(([least]) => most >= least) ?? [1, 'ns'];
  return `${(tick / of).toFixed(Math.max(0, -Math.floor(Math.log10(step / of) + 1e-9)))} ${unit}`;
}

function draw_heads(context, state, colours) {
  context.textAlign = 'left';
  for (const { y, version, hidden } of state.heads) {
    context.fillStyle = colours.ink;
    context.font = context.font.replace(/^(bold )?/, 'bold ');
    context.fillText(version.name, 0, y + HEAD / 2);
    const after = context.measureText(version.name).width + 10;
    context.font = context.font.replace('bold ', '');
    context.fillStyle = colours.dim;
    context.fillText(`${text_of(version.length, 'ns')}${hidden ? `; ${hidden} more tracks` : ''}`, after, y + HEAD / 2);
  }
}

// Slices of a pixel and more are rectangles: pale, and solid for as much of them as was busy. Finer ones are
// summed up per pixel.
function draw_track(context, state, row, x, tint, colours) {
  const { track } = row;
  const { dur, busy } = track.slices;
  const wide = [];
  const [left, right] = x.range();
  const { t0, t1 } = state.view;
  const scale = (right - left) / (t1 - t0); // x itself takes three times as long, of some ten thousand slices
  const fine = new Float32Array(Math.ceil(right - left) + 2);
  context.fillStyle = tint;
  for (let i = first_from(track.starts, t0 - track.longest); i < track.starts.length && track.starts[i] <= t1; i++) {
    const begin = left + (track.starts[i] - t0) * scale;
    const from = Math.max(left, begin);
    const end = begin + dur[i] * scale;
    const to = Math.min(right, track.kind === 'ranges' && end - from > 4 ? end - 1 : end); // ranges follow each other closely
    if (to < left || from > right) continue;
    const part = dur[i] > 0 && busy ? Math.min(1, busy[i] / dur[i]) : 1;
    if (to - from < 1) {
      fine[Math.floor(from - left)] += Math.max(to - from, 0.05) * part;
      continue;
    }
    if (to - from > NAMED && wide.length < 500) wide.push([from, to, i]);
    context.globalAlpha = part < 0.995 ? 0.3 : 1;
    context.fillRect(from, row.top, to - from, ROW);
    if (part < 0.995) {
      context.globalAlpha = 1;
      context.fillRect(from, row.bottom - ROW * part, to - from, ROW * part);
    }
  }
  for (let pixel = 0; pixel < fine.length; pixel++) {
    if (fine[pixel] === 0) continue;
    context.globalAlpha = Math.min(1, 0.3 + fine[pixel] * 0.7);
    context.fillRect(left + pixel, row.top, 1, ROW);
  }
  context.globalAlpha = 1;
  draw_names(context, state, row, wide, colours);
}

// What the wide ones are, in them.
function draw_names(context, state, row, wide, colours) {
  const { name, count } = row.track.slices;
  const on = { host: colours.ink, ranges: colours.ink, waits: '#1b2025' }[row.track.kind] ?? colours.paper;
  context.fillStyle = on;
  context.textAlign = 'left';
  for (const [from, to, i] of wide) {
    if (!(name?.[i] >= 0) || count?.[i] > 1) continue;
    context.fillText(fitted(context, state.names[name[i]], to - from - 10), from + 5, row.top + ROW / 2 + 0.5);
  }
}

// Its ground: as far as this version goes.
function draw_ground(context, state, row, x, colours) {
  const end = Math.min(x(row.version.length), state.width - state.right);
  context.fillStyle = colours.panel;
  if (end > state.left) context.fillRect(state.left, row.top, end - state.left, ROW);
}

function draw_row(context, state, row, x, colours) {
  draw_track(context, state, row, x, colours[row.track.kind] ?? colours.host, colours);
  context.fillStyle = colours.ink;
  context.textAlign = 'left';
  context.fillText(fitted(context, row.track.label, state.narrow ? state.width : state.left - 12), 0, row.label);
}

function draw_chosen(context, state, x, colours) {
  if (!state.chosen) return;
  const row = state.rows[state.chosen.row];
  const from = x(row.track.starts[state.chosen.slice]);
  const to = x(row.track.starts[state.chosen.slice] + row.track.slices.dur[state.chosen.slice]);
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  context.strokeRect(from - 2, row.top - 1, Math.max(to - from, 1) + 4, ROW + 2);
}

export function draw_timeline(state) {
  const context = prepare(state);
  const names = ['ink', 'dim', 'line', 'panel', 'paper'];
  const kinds = ['ranges', 'copies', 'kernels', 'exposed', 'waits', 'host', 'migrations'];
  const colours = Object.fromEntries([...names.map((name) => [name, colour(name)]), ...kinds.map((kind) => [kind, colour(`track-${kind}`)])]);
  const x = scaleLinear([state.view.t0, state.view.t1], [state.left, state.width - state.right]);
  for (const row of state.rows) draw_ground(context, state, row, x, colours);
  draw_axis(context, state, x, colours);
  for (const row of state.rows) draw_row(context, state, row, x, colours);
  draw_heads(context, state, colours);
  draw_chosen(context, state, x, colours);
  Object.assign(state.canvas.dataset, { from: state.view.t0, to: state.view.t1 });
}
