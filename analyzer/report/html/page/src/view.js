// What part of a span of time is seen: moved and zoomed by pointers, wheel and keys.

// span: [first, last] that can be seen; changed(): called after each change.
export function make_view(span, changed) {
  const least = Math.max(10, (span[1] - span[0]) * 1e-9);
  const view = { t0: span[0], t1: span[1], set, zoom, pan };
  function set(t0, t1) {
    const width = Math.min(Math.max(t1 - t0, least), span[1] - span[0]);
    view.t0 = Math.min(Math.max(t0, span[0]), span[1] - width);
    view.t1 = view.t0 + width;
    changed();
  }
  // Around a place, 0 to 1 of what is seen.
  function zoom(factor, at = 0.5) {
    const centre = view.t0 + (view.t1 - view.t0) * at;
    set(centre - (centre - view.t0) / factor, centre + (view.t1 - centre) / factor);
  }
  function pan(part) {
    const by = (view.t1 - view.t0) * part;
    set(view.t0 + by, view.t1 + by);
  }
  return view;
}

// One finger or the mouse moves, two fingers zoom; up and down still scrolls the page. place(event): 0 to 1
// across what is seen.
export function follow_pointers(node, view, place) {
  const down = new Map();
  node.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, place(event));
    if (event.pointerType === 'mouse') node.setPointerCapture(event.pointerId);
  });
  node.addEventListener('pointermove', (event) => {
    const before = down.get(event.pointerId);
    if (before === undefined) return;
    const now = place(event);
    down.set(event.pointerId, now);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other === undefined) view.pan(before - now);
    else if (Math.abs(before - other) > 0.01 && Math.abs(now - other) > 0.01) view.zoom(Math.abs(now - other) / Math.abs(before - other), other);
  });
  for (const end of ['pointerup', 'pointercancel']) node.addEventListener(end, (event) => down.delete(event.pointerId));
  return () => down.size > 0;
}

// The wheel zooms with Ctrl held or when the drawing has the focus, so that the page can be scrolled past
// it; sideways it moves.
export function follow_wheel(node, view, place) {
  node.addEventListener('wheel', (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== node) return;
    event.preventDefault();
    if (sideways) view.pan(event.deltaX / node.clientWidth);
    else view.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), place(event));
  }, { passive: false });
}
