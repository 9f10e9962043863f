// A track's slices as the drawing wants them: starts from the run's begin, searched by time.

// The numbers of a text in base64, seven bits a byte (analyzer/timeline/pack.h); exact up to 2^53.
function reader(text) {
  const bytes = atob(text);
  let at = 0;
  return {
    more: () => at < bytes.length,
    next() {
      for (let value = 0, of = 1; at < bytes.length; of *= 128) {
        const byte = bytes.charCodeAt(at++);
        value += (byte & 127) * of;
        if (byte < 128) return value;
      }
      throw new Error('slices end within a number');
    },
  };
}

const COLUMNS = ['start', 'dur', 'count', 'bytes', 'busy', 'name'];

// The columns of a packed track; starts are times of the run.
export function columns_of(packed) {
  const all = Object.fromEntries(COLUMNS.map((column) => [column, []]));
  const kinds = [];
  const { more, next } = reader(packed);
  let at = 0;
  while (more()) {
    all.start.push(at += next());
    const long = next();
    const which = next();
    const known = which < 2 ? { count: next(), bytes: next(), name: next() - 1 } : kinds[Math.floor(which / 2) - 1];
    if (!known) throw new Error('slices of a kind that is not there');
    if (which < 2) kinds.push(known);
    all.dur.push(long);
    all.count.push(known.count);
    all.bytes.push(known.bytes);
    all.name.push(known.name);
    all.busy.push(which % 2 ? next() : long);
  }
  return all;
}

// ns up to 2^53 are exact, which is three months.
export function unpack(track, begin) {
  const { start, ...slices } = columns_of(track.slices);
  const starts = Float64Array.from(start, (at) => at - begin);
  return { ...track, slices, starts, longest: largest(slices.dur, 0) };
}

// The first slice that begins at or after t.
export function first_from(starts, t) {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The slice that is nearest to t within `reach`; -1: none. Slices of a track may overlap (threads, streams).
export function slice_at(track, t, reach) {
  const { starts, slices: { dur } } = track;
  let best = -1;
  let nearest = reach;
  for (let i = first_from(starts, t + reach) - 1; i >= 0 && starts[i] + track.longest >= t - reach; i--) {
    const away = Math.max(0, starts[i] - t, t - starts[i] - dur[i]);
    if (away < nearest || (away === nearest && best < 0)) {
      best = i;
      nearest = away;
      if (away === 0) break;
    }
  }
  return best;
}

export function total(list) {
  let sum = 0;
  for (const one of list) sum += one ?? 0;
  return sum;
}

// Of lists of any length, which Math.max(...list) does not take.
export const largest = (list, at_least) => list.reduce((most, one) => (one > most ? one : most), at_least);
export const smallest = (list, at_most) => list.reduce((least, one) => (one < least ? one : least), at_most);
