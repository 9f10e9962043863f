// One box for all drawings, shown at the pointer or at what has the focus. What it says is also the label
// of what it is about, so screen readers pass it by.
import { h } from './dom.js';

const box = h('div', { class: 'tooltip', 'aria-hidden': 'true', hidden: true });

export function tooltip_box() {
  addEventListener('keydown', (event) => event.key === 'Escape' && hide_tip());
  return box;
}

// At a place of the window; lines: texts, the first of them the heading.
export function show_tip(x, y, lines) {
  box.replaceChildren(...lines.filter(Boolean).map((line, i) => h(i ? 'div' : 'strong', {}, line)));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = x + 14 + width > innerWidth - 8 ? x - 14 - width : x + 14;
  const top = y + 14 + height > innerHeight - 8 ? y - 14 - height : y + 14;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${Math.max(8, top)}px`;
}

export function hide_tip() {
  box.hidden = true;
}

// An element shows these lines while the pointer is on it or it has the focus.
export function with_tip(node, lines) {
  node.addEventListener('pointermove', (event) => show_tip(event.clientX, event.clientY, lines));
  node.addEventListener('pointerleave', hide_tip);
  node.addEventListener('focus', () => {
    const { right, bottom } = node.getBoundingClientRect();
    show_tip(right, bottom, lines);
  });
  node.addEventListener('blur', hide_tip);
  return node;
}
