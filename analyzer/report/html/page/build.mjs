// Makes the page of the HTML report: one file with our script and style in it, and placeholders for
// the data, @HEADLINE@, @REPORT@ and @TIMELINE@, each of them there once.
//
//   node build.mjs NODE_MODULES OUT
//
// NODE_MODULES: where `npm ci` put what package.json names. No network. The licences of the packages whose
// code is in the page are kept in a comment before it. Scripts that are not this one are forbidden to the
// page by its Content-Security-Policy, which names ours by its hash. What the kinds of findings are called
// is taken from analyzer/findings/kinds.def. OUT.d tells make and Ninja what the page was made of.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

function fail(message) {
  console.error(`build.mjs: ${message}`);
  process.exit(1);
}

const KINDS = join(here, '../../../findings/kinds.def');

// { word: what it is in a line }
function kinds() {
  const rows = readFileSync(KINDS, 'utf8');
  const found = [...rows.matchAll(/^XFA_FINDING\(\w+, \w+, "([^"]+)",\s*((?:"[^"]*"\s*)+)\)/gm)];
  if (found.length !== rows.match(/^XFA_FINDING/gm).length) fail('kinds.def is not as it was');
  return Object.fromEntries(found.map(([, word, title]) => [word, title.replace(/"\s*"/g, '').slice(1).replace(/"\s*$/, '')]));
}

async function bundle(modules) {
  const esbuild = createRequire(join(modules, 'x.js'))('esbuild');
  const result = await esbuild.build({
    entryPoints: { page: join(here, 'src/main.js'), style: join(here, 'src/style.css') },
    bundle: true,
    minify: true,
    format: 'iife',
    target: ['chrome100', 'firefox100', 'safari15'],
    charset: 'ascii',
    legalComments: 'none', // gathered below, from the packages' own files
    nodePaths: [modules],
    define: { KINDS: JSON.stringify(kinds()) },
    outdir: 'out',
    write: false,
    metafile: true,
    logLevel: 'warning',
  });
  const text = (end) => result.outputFiles.find((file) => file.path.endsWith(end)).text.trim();
  // Style sheets that packages bring are left out: ours has what is needed of them.
  return { script: text('/page.js'), style: text('/style.css'), inputs: Object.keys(result.metafile.inputs) };
}

// Of each package of which a file is in the bundle: name, version, licence. Those with the same text share it.
function licences(modules, inputs) {
  const names = new Set(inputs.map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]));
  names.delete(undefined);
  const by_text = new Map();
  for (const name of [...names].sort()) {
    const folder = join(modules, name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) fail(`${name} has no licence file`);
    const text = readFileSync(join(folder, file), 'utf8').trim();
    const version = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
    by_text.set(text, [...(by_text.get(text) ?? []), `${name} ${version}`]);
  }
  const parts = [...by_text].map(([text, of]) => `${of.join(', ')}\n\n${text}`);
  return `/*! In this script there is code of\n\n${parts.join('\n\n').replaceAll('*/', '* /')}\n*/\n`;
}

// What stands within <script> and <style> must not end them.
function within(tag, text) {
  if (new RegExp(`</${tag}|<!--|\r`, 'i').test(text)) fail(`the ${tag} holds what would end it`);
  return text;
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
if (!out) fail('usage: node build.mjs NODE_MODULES OUT');
const { script, style, inputs } = await bundle(modules);
const whole_script = within('script', `${licences(modules, inputs)}${script}`);
const parts = {
  '@POLICY@': `default-src 'none'; script-src ${hash(whole_script)}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`,
  '@STYLE@': within('style', style),
  '@SCRIPT@': whole_script,
};
const frame = join(here, 'src/page.html');
let page = readFileSync(frame, 'utf8');
for (const [name, text] of Object.entries(parts)) {
  if (page.split(name).length !== 2) fail(`${name} is not there once`);
  page = page.replace(name, () => text);
}
for (const name of ['@HEADLINE@', '@REPORT@', '@TIMELINE@']) if (page.split(name).length !== 2) fail(`${name} is not there once`);
writeFileSync(out, page);
const made_of = [KINDS, frame, ...inputs.map((input) => resolve(input)).filter((file) => existsSync(file))];
writeFileSync(`${out}.d`, `${out.replaceAll(' ', '\\ ')}: ${made_of.map((file) => file.replaceAll(' ', '\\ ')).join(' \\\n  ')}\n`);
