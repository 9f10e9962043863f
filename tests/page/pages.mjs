// Pages to be tested: made by the command, opened in one Chromium for all tests.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const scratch = mkdtempSync(join(tmpdir(), 'xferscope-page-'));

// Runs the command; 3, "reported, but something was lost", is no failure here.
export function command(program, ...words) {
  try {
    return execFileSync(program, words, { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    if (error.status !== 3) throw error;
    return error.stdout;
  }
}

// { file, json }: the page that analyze writes with these arguments, and its JSON of the same run.
export function make_page(xferscope, name, ...options) {
  const file = join(scratch, `${name}.html`);
  command(xferscope, 'analyze', ...options, '--format', 'html', '-o', file);
  return { file, json: JSON.parse(command(xferscope, 'analyze', ...options, '--format', 'json')) };
}

const escaped = (text) => text.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

// A page whose blocks of data were changed: what(block, id) of each.
export function with_blocks(page, name, what) {
  const file = join(scratch, `${name}.html`);
  const html = readFileSync(page.file, 'utf8').replace(/(<script type="application\/json" id="(\w+)">)(.*?)(<\/script>)/gs, (_, before, id, json, after) => before + escaped(JSON.stringify(what(JSON.parse(json), id))) + after);
  writeFileSync(file, html);
  return { file };
}

// The first site of a finding has these lines.
export function with_source(page, name, line, lines, of = () => true) {
  return with_blocks(page, name, (block, id) => {
    const finding = id === 'report' ? block.findings.find(of) : null;
    if (finding) Object.assign(finding.sites[0], { file: '/work/upload.py', line: line + 1, source: { line, lines } });
    return block;
  });
}

// The same, with what(value, key) of every text in them.
export function with_texts(page, name, what) {
  const change = (value, key) => {
    if (typeof value === 'string') return what(value, key);
    if (Array.isArray(value)) return value.map((one) => change(one, key));
    return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, change(v, k)])) : value;
  };
  return with_blocks(page, name, (block) => change(block));
}

let browser = null;

export async function start_browser(modules, chromium) {
  const playwright = createRequire(join(modules, 'x.js'))('playwright-core');
  browser = await playwright.chromium.launch({ executablePath: chromium, args: ['--no-sandbox', '--headless=new', '--disable-gpu'] });
}

export async function end_browser({ keep_files = false } = {}) {
  await browser?.close();
  if (!keep_files) rmSync(scratch, { recursive: true, force: true });
}

// What was there when the page said that it can be read: window.first.
function watch_first() {
  new MutationObserver((_, observer) => {
    if (!('ready' in document.documentElement.dataset)) return;
    observer.disconnect();
    window.first = { at: performance.now(), nodes: document.querySelectorAll('*').length, sections: [...document.querySelectorAll('main > *')].map((node) => node.id), complete: 'complete' in document.documentElement.dataset };
  }).observe(document, { attributes: true, subtree: true, attributeFilter: ['data-ready'] });
}

// Opens it, without a network. What must not happen is gathered in page.wrong: errors, messages on the
// console, dialogs, requests for anything but the file; and parts that cannot be shown, unless options.damaged.
export async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true, reducedMotion: 'reduce', ...options, damaged: undefined, timeout: undefined });
  const page = await context.newPage();
  page.setDefaultTimeout(options.timeout ?? 30000);
  const url = pathToFileURL(file).href;
  page.wrong = [];
  page.broken = []; // what the page says that it cannot show
  page.on('console', (message) => page.wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => page.wrong.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    page.wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => request.url() !== url && page.wrong.push(`request: ${request.url()}`));
  await page.addInitScript(watch_first);
  await page.goto(url);
  await page.waitForFunction(() => ['ready', 'complete'].every((mark) => mark in document.documentElement.dataset));
  await drawn(page);
  for (const line of await page.$$eval('.broken', (nodes) => nodes.map((node) => node.textContent))) page.broken.push(line);
  if (!options.damaged) page.wrong.push(...page.broken);
  return page;
}

// Until what observers and animation frames are to draw is drawn.
export async function drawn(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
}
