// From what ran in the timeline to the finding that it belongs to, and back: by function and call site, which a
// slice has as its name.

const CUT = 150; // of a name: longer ones end in the data, too

const key_of = (text) => String(text ?? '').slice(0, CUT);

function entries_of({ findings }) {
  const by_name = new Map();
  findings.forEach(({ sites = [] }, i) => {
    for (const { text, called, runtime_function: runtime, direction } of sites) {
      for (const name of [`${called}, ${text}`, `${runtime}, ${text}`, text]) {
        const key = key_of(name);
        if (!by_name.has(key)) by_name.set(key, []);
        by_name.get(key).push({ i, direction });
      }
    }
  });
  return by_name;
}

// finding_of(track, slice): its place in the report's findings, the worst first; -1: none. show(i), on_show: the
// timeline listens. has(i): whether something in the timeline is of it.
export function make_links({ report, timeline }) {
  const by_name = entries_of(report);
  const of_name = (timeline.names ?? []).map((name) => by_name.get(key_of(name)) ?? []);
  const listeners = [];
  function finding_of(track, slice) {
    const all = of_name[track.slices.name?.[slice]] ?? [];
    const own = all.find(({ direction }) => !track.direction || !direction || direction === track.direction);
    return own ? own.i : -1;
  }
  const belongs = (track, slice, i) => (of_name[track.slices.name?.[slice]] ?? []).some((entry) => entry.i === i && (!track.direction || !entry.direction || entry.direction === track.direction));
  const some = new Set(of_name.flat().map(({ i }) => i));
  return { finding_of, belongs, has: (i) => some.has(i), on_show: (show) => listeners.push(show), show: (i) => listeners.forEach((show) => show(i)) };
}
