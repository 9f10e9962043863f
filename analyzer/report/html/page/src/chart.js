// What the SVG drawings share: drawn to the width that there is, anew when that changes; axes; one tab
// stop for all points of a drawing, and the arrow keys among them.
import { axisBottom, axisLeft } from 'd3-axis';
import { select } from 'd3-selection';
import { h, s } from './dom.js';

// draw(width) returns the <svg>.
export function chart(draw) {
  const box = h('div', { class: 'chart' });
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now === width || now === 0) return;
    width = now;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}

export function frame(width, height, label) {
  return s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': label });
}

// Axes with grid lines at the ticks. x and y: { scale, ticks, format, title }.
export function axes(svg, box, x, y) {
  const bottom = s('g', { class: 'axis', transform: `translate(0,${box.bottom})`, 'aria-hidden': 'true' });
  const left = s('g', { class: 'axis', transform: `translate(${box.left},0)`, 'aria-hidden': 'true' });
  select(bottom).call(axisBottom(x.scale).tickValues(x.ticks).tickFormat(x.format).tickSizeInner(box.top - box.bottom).tickSizeOuter(0).tickPadding(6));
  select(left).call(axisLeft(y.scale).tickValues(y.ticks).tickFormat(y.format).tickSizeInner(box.left - box.right).tickSizeOuter(0).tickPadding(6));
  bottom.append(s('text', { class: 'title', x: box.right, y: 34, 'text-anchor': 'end' }, x.title));
  left.append(s('text', { class: 'title', x: 4 - box.left, y: box.top - 10, 'text-anchor': 'start' }, y.title));
  svg.append(bottom, left);
}

// Powers of a base within a domain, every so many that at most `most` are left.
export function powers([low, high], base, most) {
  const exponent = (value) => Math.log(value) / Math.log(base);
  const first = Math.ceil(exponent(low) - 1e-9);
  const last = Math.floor(exponent(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const all = [];
  for (let at = first; at <= last; at += step) all.push(base ** at);
  return all.filter((value) => value > 0 && value < Infinity); // others have no place on the scale
}

// Of these elements one can be reached by Tab; arrow keys, Home and End go from there to the others.
export function roving(nodes) {
  nodes.forEach((node, i) => {
    node.setAttribute('tabindex', i === 0 ? 0 : -1);
    node.addEventListener('keydown', (event) => {
      const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: nodes.length - 1 }[event.key];
      if (to === undefined || !nodes[to]) return;
      event.preventDefault();
      for (const other of nodes) other.setAttribute('tabindex', -1);
      nodes[to].setAttribute('tabindex', 0);
      nodes[to].focus();
    });
  });
}
