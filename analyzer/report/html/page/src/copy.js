// A button that copies a text, and says whether it did.
import { h } from './dom.js';

// Where the browser has no clipboard for pages from disk.
function copy_selected(text) {
  const area = h('textarea', { class: 'unseen', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

export function copy_button(text, words = 'Copy') {
  const button = h('button', { type: 'button', class: 'plain copy' }, words);
  const said = h('span', { class: 'dim', role: 'status' });
  button.addEventListener('click', async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      done = copy_selected(text);
      button.focus();
    }
    said.textContent = done ? ' copied' : ' the browser does not let this page copy';
  });
  return [button, said];
}
