// Pages with damaged data in Chromium: whatever the two blocks of JSON hold, no script of theirs runs, nothing
// leaves, no error goes uncaught, nothing hangs, and the page shows what it can or says that it cannot.
//
//   node fuzz.mjs XFERSCOPE MAKE_TRACE DATA NODE_MODULES CHROMIUM [--seconds N | --pages N] [--seed S [--from PAGE]] [--keep DIR]
//
// Begins with the pages of tests/data and of hostile traces; each page has a few mutations, by a generator that
// is the same everywhere. What is found is kept in DIR (here), and named; --from makes it again.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command, drawn, end_browser, make_page, open, scratch, start_browser, with_source } from './pages.mjs';

const [xferscope, make_trace, data, modules, chromium, ...words] = process.argv.slice(2);
const option = (name, otherwise) => (words.includes(name) ? words[words.indexOf(name) + 1] : otherwise);
const seed = Number(option('--seed', 1));
const from = Number(option('--from', 0));
const pages = from + Number(option('--pages', words.includes('--seconds') ? Infinity : 20));
const until = performance.now() + 1000 * Number(option('--seconds', Infinity));
const keep = option('--keep', '.');
const LIMIT_MS = 120000; // only ends what hangs

// ---- chance ------------------------------------------------------------------------------------

let state = 0;
const next = () => { // mulberry32
  state = (state + 0x6d2b79f5) >>> 0;
  let z = Math.imul(state ^ (state >>> 15), state | 1);
  z = (z + Math.imul(z ^ (z >>> 7), z | 61)) ^ z;
  return (z ^ (z >>> 14)) >>> 0;
};
const below = (count) => next() % count;
const one_of = (list) => list[below(list.length)];

// ---- mutations ---------------------------------------------------------------------------------

const SCRIPT = '</script><script>window.struck=1</script>';
const EVIL = [SCRIPT, '<img src=x onerror="window.struck=2">', '<svg onload=window.struck=3>', 'javascript:window.struck=4', '"><b onclick=window.struck=5>', '{{constructor.constructor("window.struck=6")()}}', "'-window.struck-'",
  '__proto__', 'constructor', 'toString', 'url(https://example.invalid/x)', 'https://example.invalid/', '\u202e\u0000\ud800', '<!--<script>', 'x'.repeat(100000), 'a\n'.repeat(2000), '', ' ', '-1', 'NaN', '#main', '%s%n', '0'.repeat(400)];
const NUMBERS = [0, -0, -1, 1, 0.5, 1e-320, 5e-324, 1e21, 1.7e308, -1.7e308, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, -(2 ** 63), 2 ** 64, 1e15, 3];
const deep = (kind, levels = 500) => { let value = 1; for (let i = 0; i < levels; i++) value = kind ? [value] : { a: value }; return value; };
const polluted = () => JSON.parse('{"__proto__":{"struck":7,"length":9},"constructor":{"prototype":{"struck":8}},"hasOwnProperty":1,"toString":2,"then":3}');
const ANY = [() => null, () => true, () => [], () => ({}), () => one_of(NUMBERS), () => one_of(EVIL), () => deep(0), () => deep(1), polluted, () => [null], () => [[]], () => Array(5000).fill(one_of(NUMBERS)), () => [polluted()]];

// Every place in it: its holder and its key.
function places(value, found = []) {
  for (const key of Object.keys(value)) {
    found.push([value, key]);
    if (value[key] && typeof value[key] === 'object') places(value[key], found);
  }
  return found;
}

function like(value) {
  if (typeof value === 'number') return one_of([...NUMBERS, -value, value * 1e9, value + 1]);
  if (typeof value === 'string') return below(2) ? one_of(EVIL) : value + one_of(EVIL);
  if (Array.isArray(value)) return one_of([() => [], () => value.slice(0, below(value.length + 1)), () => [...value].reverse(), () => [...value, ...value, ...value], () => Array(2000).fill(value[0] ?? null)])();
  return one_of(ANY)();
}

// Everywhere that a key of this name stands.
function everywhere(block, key, what) {
  for (const [holder, name] of places(block)) if (name === key) holder[name] = what(holder[name]);
}

function mutate(block) {
  const all = places(block);
  if (!all.length) return;
  const [holder, key] = one_of(all);
  switch (below(9)) {
    case 0: delete holder[key]; break;
    case 1: case 2: holder[key] = one_of(ANY)(); break;
    case 3: case 4: case 5: holder[key] = like(holder[key]); break;
    case 6: holder[key] = structuredClone(one_of(all).reduce((of, name) => of[name])); break;
    case 7: everywhere(block, key, like); break;
    default: Object.defineProperty(holder, one_of(EVIL), { value: holder[key], enumerable: true, configurable: true, writable: true });
  }
}

// The text itself: as a file is damaged.
function tear(text) {
  const at = below(text.length);
  return one_of([text.slice(0, at), text.slice(at), '', 'null', '[]', '{}', '1', '"x"', text.replace(/\d+/, 'NaN'), text.slice(0, at) + '\u0000' + text.slice(at + 1), text.slice(0, at) + one_of(['<', '&', '\ufeff', '}', '"']) + text.slice(at), `${text}${text}`]);
}

const escaped = (text) => text.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

function damaged(html) {
  const which = below(8) ? null : below(2);
  let i = 0;
  return html.replace(/(<script type="application\/json" id="\w+">)(.*?)(<\/script>)/gs, (_, before, json, after) => {
    if (which !== null) return before + (i++ === which ? escaped(tear(json)) : json) + after;
    const block = JSON.parse(json);
    for (let times = below(4); times > 0; times--) mutate(block);
    return before + escaped(JSON.stringify(block)) + after;
  });
}

// ---- a page ------------------------------------------------------------------------------------

// Uses it as a reader would.
async function used(page) {
  await page.$$eval('details', (nodes) => nodes.slice(0, 200).forEach((node) => (node.open = true)));
  await page.$$eval('button', (nodes) => nodes.slice(0, 40).forEach((node) => node.click()));
  const canvas = await page.$('canvas');
  if (canvas) {
    await canvas.focus();
    for (const key of ['+', 'n', 'ArrowDown', 'n', '-', '0', 'p']) await page.keyboard.press(key);
    await canvas.hover({ force: true, timeout: 2000 }).catch(() => {});
  }
  await page.$$eval('input[type=search]', (nodes) => nodes.forEach((node) => { node.value = 'a'; node.dispatchEvent(new Event('input', { bubbles: true })); }));
  await page.evaluate(() => (location.hash = '#transfer-1'));
  await drawn(page);
}

async function look(file) {
  const page = await open(file, { damaged: true, timeout: LIMIT_MS });
  await used(page);
  const seen = await page.evaluate(() => ({
    struck: window.struck ?? {}.struck, scripts: document.scripts.length, text: document.body.innerText.length,
    strange: document.querySelectorAll('img, iframe, object, embed, form, [onerror], [onload], [onclick], a[href^="javascript:" i]').length,
  }));
  const found = [...page.wrong];
  if (seen.struck !== undefined) found.push(`a script of the data ran: ${seen.struck}`);
  if (seen.strange) found.push(`${seen.strange} elements that the page does not have`);
  if (seen.text < 20) found.push('an empty page');
  await page.context().close();
  return { found, broken: page.broken.length > 0 };
}

async function within(file) {
  let timer;
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error('it hangs')), LIMIT_MS); });
  try {
    return await Promise.race([look(file), late]);
  } catch (error) {
    await end_of_browser(error);
    return { found: [error.message.split('\n')[0]], broken: false };
  } finally {
    clearTimeout(timer);
  }
}

async function end_of_browser() {
  await end_browser({ keep_files: true }).catch(() => {});
  await start_browser(modules, chromium);
}

function sources() {
  const profile = join(data, 'h200.json');
  const made = [['pytorch', join(data, 'h200-pytorch.xft'), '-p', profile], ['static', join(data, 'h200-static.xft'), '-p', profile], ['bare', join(data, 'h200-static.xft')]];
  for (const kind of ['markup', 'killed']) {
    command(make_trace, kind, join(scratch, `${kind}.trace`));
    made.push([kind, join(scratch, `${kind}.trace`)]);
  }
  const pages = made.map(([name, ...of]) => make_page(xferscope, name, ...of));
  const lines = ['for step in range(9):', '    x = images[step].to(device)', ''];
  pages.push(with_source(pages[0], 'source', 60, lines, (finding) => /^pin/.test(finding.remedy) && finding.sites[0].direction === 'H2D'));
  return pages.map(({ file }) => readFileSync(file, 'utf8'));
}

await start_browser(modules, chromium);
const begin = sources();
let count = from, broken = 0, wrong = 0;
for (; count < pages && performance.now() < until; count++) {
  state = (seed * 1000003 + count) >>> 0;
  const file = join(scratch, `fuzz-${seed}-${count}.html`);
  writeFileSync(file, damaged(one_of(begin)));
  const result = await within(file);
  broken += result.broken;
  if (!result.found.length) continue;
  wrong++;
  mkdirSync(keep, { recursive: true });
  copyFileSync(file, join(keep, `fuzz-${seed}-${count}.html`));
  console.log(`seed ${seed}, page ${count}: ${[...new Set(result.found)].slice(0, 3).join(' | ').slice(0, 600)}`);
}
console.log(`${count - from} damaged pages opened, ${broken} said that a part of them cannot be shown, ${wrong} did wrong`);
await end_browser();
process.exit(wrong ? 1 : 0);
