// Which fixes of the best set are ticked, and what the run would take with just these: as recorded with none,
// as advised with all, else what the analyzer played of parts of the set. It is said of a part that was not played.

// The best set in its order: [{ finding, i }], i its place in the report's findings.
export function members_of({ findings }) {
  return findings.map((finding, i) => ({ finding, i })).filter(({ finding }) => finding.saving_s?.order).sort((a, b) => a.finding.saving_s.order - b.finding.saving_s.order);
}

// kind: none, all, part, unknown. shares_at, version: where in the data they are; null: nowhere.
function looked_up(orders, ticked, timeline, whole) {
  if (ticked.size === 0 && whole) return { kind: 'none', shares_at: null, version: null };
  if (ticked.size === orders.length) return { kind: 'all', shares_at: timeline.shares?.advised ? 'timeline.shares.advised' : null, version: timeline.versions?.[1] ?? null };
  const sets = timeline.sets ?? [];
  const at = sets.findIndex(({ members }) => members.length === ticked.size && members.every((one) => ticked.has(one)));
  return at < 0 ? { kind: 'unknown', shares_at: null, version: null } : { kind: 'part', at: `timeline.sets.${at}`, shares_at: `timeline.sets.${at}.shares`, version: sets[at].version };
}

export function make_choice({ report, timeline }) {
  const members = members_of(report);
  const orders = members.map(({ finding }) => finding.saving_s.order);
  const ticked = new Set(orders);
  const listeners = [];
  // Of a part of the report not all members are here: then none can be left out.
  const choice = { members, whole: !report.filter, now: looked_up(orders, ticked, timeline, !report.filter), has: (order) => ticked.has(order), tick, on: (draw) => listeners.push(draw) };
  function tick(order, on) {
    if (on) ticked.add(order);
    else ticked.delete(order);
    choice.now = looked_up(orders, ticked, timeline, !report.filter);
    for (const draw of listeners) draw();
  }
  // "with all fixes", "with fixes 1 and 3"
  choice.words = () => {
    const some = orders.filter((order) => ticked.has(order));
    if (choice.now.kind === 'all') return 'as advised';
    return some.length === 1 ? `with fix ${some[0]}` : `with fixes ${some.slice(0, -1).join(', ')} and ${some[some.length - 1]}`;
  };
  return choice;
}
