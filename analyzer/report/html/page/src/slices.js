// A track's slices as the drawing wants them: starts from the run's begin, searched by time.

// The sums are exact up to 2^53 ns, which is three months.
export function unpack(track, begin) {
  const { start, dur } = track.slices;
  const starts = new Float64Array(start.length);
  let at = 0;
  for (let i = 0; i < start.length; i++) {
    at += start[i];
    starts[i] = at - begin;
  }
  const longest = largest(dur, 0);
  return { ...track, starts, longest };
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
