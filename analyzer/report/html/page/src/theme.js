// Light and dark: what the system wants, or from then on what the switch says. Drawings that cannot use the
// style sheet's colours ask for them here, and are drawn again when they change.
import { h } from './dom.js';

const root = document.documentElement;
const dark_system = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let chosen = null;

export function on_colours(draw) {
  listeners.push(draw);
}

// The style sheet's colour of that name.
export function colour(name) {
  return getComputedStyle(root).getPropertyValue(`--${name}`).trim();
}

function apply(theme) {
  root.dataset.theme = theme;
  for (const draw of listeners) draw();
}

const wanted = () => chosen ?? (dark_system.matches ? 'dark' : 'light');

export function theme_switch() {
  const button = h('button', { type: 'button', class: 'plain', onclick: () => {
    chosen = wanted() === 'dark' ? 'light' : 'dark';
    apply(chosen);
  } });
  on_colours(() => button.replaceChildren(wanted() === 'dark' ? 'Light' : 'Dark'));
  dark_system.addEventListener('change', () => apply(wanted()));
  apply(wanted());
  return button;
}

// Paper is light, whatever the screen is, and what is folded is printed too, but for asides: call stacks, and
// figures that are drawn.
export function watch_print() {
  let folded = null;
  addEventListener('beforeprint', () => {
    if (folded) return;
    folded = [...document.querySelectorAll('details:not([open]):not(.aside)')];
    for (const details of folded) details.open = true;
    apply('light');
  });
  addEventListener('afterprint', () => {
    for (const details of folded ?? []) details.open = false;
    folded = null;
    apply(wanted());
  });
}
