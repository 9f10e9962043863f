// The fix of a finding as a patch of its source, where that is mechanical: where the lines that the trace has are
// enough to make lines of them that are certain to be right in their language. Everywhere else null.
import { structuredPatch, formatPatch } from 'diff';
import { arguments_of, bare, closing, is_statement, times } from './code.js';
import { base_name } from './format.js';
import { sources_of } from './source.js';

const CUT = 200; // bytes: a line of that length may have been longer (docs/trace-format.md)

const PINS = new Set(['pin', 'pin-asynchronous', 'pin-for-async']);

// ---- PyTorch ------------------------------------------------------------------------------------

// .to(device) -> .to(device, non_blocking=True); .cuda() too, but not of modules, which do not have it.
function to_without_blocking({ line, text }) {
  const found = [...text.matchAll(/\.(to|cuda)\s*\(/g)];
  if (found.length !== 1) return null;
  const [{ 0: call, 1: which, index }] = found;
  const open = index + call.length - 1;
  const end = closing(text, open);
  const given = end < 0 ? null : arguments_of(line, text, open + 1, end, 'python');
  if (!given) return null;
  if (which === 'cuda') return given.length ? null : `${line.slice(0, index)}.to("cuda", non_blocking=True)${line.slice(end + 1)}`;
  const positional = given.filter(({ name }) => name === null);
  if (positional.length !== 1 || /cpu/.test(positional[0].text) || given.some(({ name }) => name && !['dtype', 'copy', 'memory_format'].includes(name))) return null;
  return `${line.slice(0, open + 1)}${given.map((one) => one.text).join(', ')}, non_blocking=True${line.slice(end)}`;
}

function pytorch({ remedy, sites }, { own, all }) {
  if (!(PINS.has(remedy) || remedy === 'asynchronous') || sites.some(({ direction }) => direction !== 'H2D')) return null;
  const changed = to_without_blocking(own);
  if (!changed) return null;
  const loaders = all.map((at) => pinned_loader(at));
  const pinned = loaders.some(Boolean);
  const note = remedy === 'asynchronous' || pinned ? null : 'with the tensor in pinned memory: made so once by tensor.pin_memory(), or by DataLoader(..., pin_memory=True)';
  return { edits: [[own, [changed]], ...all.map((at, i) => [at, loaders[i] && at !== own ? [loaders[i]] : null])], note };
}

function pinned_loader({ line, text }) {
  const found = text ? [...text.matchAll(/\bDataLoader\s*\(/g)] : [];
  if (found.length !== 1) return null;
  const open = found[0].index + found[0][0].length - 1;
  const end = closing(text, open);
  const given = end < 0 ? null : arguments_of(line, text, open + 1, end, 'python');
  if (!given?.length || given.some(({ name }) => name === 'pin_memory')) return null;
  return `${line.slice(0, open + 1)}${given.map((one) => one.text).join(', ')}, pin_memory=True${line.slice(end)}`;
}

// ---- CuPy, Numba: the array that is copied, where it is made ---------------------------------------

const MADE = /^\s*([A-Za-z_]\w*)\s*=\s*((?:np|numpy)\.(empty_like|empty|zeros_like|zeros))\s*\(/;

// made: what each of NumPy's functions becomes.
function pinned_array(own, all, made) {
  for (const at of all) {
    const [found, name, what, which] = MADE.exec(at.text ?? '') ?? [];
    if (!found || !Object.hasOwn(made, which) || at === own || !times(own.text, name)) continue;
    const open = found.length - 1;
    const given = at.text.slice(open).trim() && closing(at.text, open) === at.text.trimEnd().length - 1 ? arguments_of(at.line, at.text, open + 1, closing(at.text, open), 'python') : null;
    const positional = given?.filter((one) => one.name === null).length;
    if (!positional || positional > (which.endsWith('_like') ? 1 : 2) || given.some((one) => one.name !== null && (which.endsWith('_like') || !['dtype', 'order'].includes(one.name)))) continue;
    const from = at.text.indexOf(what);
    return [at, [`${at.line.slice(0, from)}${made[which]}${at.line.slice(from + what.length)}`]];
  }
  return null;
}

function cupy({ remedy }, { own, all }) {
  const edit = PINS.has(remedy) && pinned_array(own, all, { empty: 'cupyx.empty_pinned', zeros: 'cupyx.zeros_pinned', empty_like: 'cupyx.empty_like_pinned', zeros_like: 'cupyx.zeros_like_pinned' });
  return edit ? { edits: [edit], note: 'with "import cupyx"; the array is made once and filled in place' } : null;
}

function numba({ remedy }, { own, all, before }) {
  if (!/\bcuda\s*\./.test(own.text)) return null; // what `cuda` is, the program says itself
  const edit = PINS.has(remedy) && pinned_array(own, all, { empty: 'cuda.pinned_array', empty_like: 'cuda.pinned_array_like' });
  if (edit) return { edits: [edit], note: 'the array is made once and filled in place' };
  const copied = /^\s*(?:[A-Za-z_]\w*\s*=\s*)?cuda\.to_device\(\s*([A-Za-z_]\w*)\s*[,)]/.exec(own.text);
  if (remedy !== 'pin-per-use' || !copied || !is_statement(own.text, before, 'python')) return null;
  const indent = /^\s*/.exec(own.line)[0];
  return { edits: [[own, [`${indent}with cuda.pinned(${copied[1]}):`, `${indent}    ${own.line.trimStart()}`]]], note: null };
}

// ---- JAX -----------------------------------------------------------------------------------------

// device_put() does not wait: jax.device_put(x).block_until_ready() and jax.block_until_ready(jax.device_put(x)) do.
function put_without_waiting({ line, text }) {
  const found = [...text.matchAll(/\bdevice_put\s*\(/g)];
  if (found.length !== 1) return null;
  const end = closing(text, found[0].index + found[0][0].length - 1);
  const behind = end < 0 ? null : /^\s*\.\s*block_until_ready\s*\(\s*\)/.exec(text.slice(end + 1));
  if (behind) return line.slice(0, end + 1) + line.slice(end + 1 + behind[0].length);
  const around = /\bjax\s*\.\s*block_until_ready\s*\(\s*(?:[A-Za-z_]\w*\s*\.\s*)?device_put\s*\(/.exec(text);
  const open = around && around.index + around[0].indexOf('(');
  const closed = end < 0 || !around ? -1 : closing(text, open);
  if (closed < 0 || text.slice(end + 1, closed).trim()) return null;
  return line.slice(0, around.index) + line.slice(open + 1, closed).trim() + line.slice(closed + 1);
}

function jax({ remedy, sites }, { own }) {
  if (!(PINS.has(remedy) || remedy === 'asynchronous') || sites.some(({ direction }) => direction !== 'H2D')) return null;
  const changed = put_without_waiting(own);
  return changed === null ? null : { edits: [[own, [changed]]], note: remedy === 'asynchronous' ? null : 'with the array passed a step before its use' };
}

// ---- C -------------------------------------------------------------------------------------------

const MALLOC = /^(\s*)((?:const\s+)?(?:(?:unsigned|signed|struct)\s+)?[A-Za-z_][\w:]*\s*\*+)\s*([A-Za-z_]\w*)\s*=\s*(?:\([^()]*\)\s*)?(?:std::)?malloc\s*\(/;
const PLAIN = /^[\w\s.>[\]+*-]*$/; // of an expression that may be written twice: no call, no assignment
const changes_something = (text) => /\+\+|--|=/.test(text) || !PLAIN.test(text);

// A pointer that malloc() is given to, and free() of it.
function pinned_malloc(own, all, befores) {
  for (const [i, at] of all.entries()) {
    const [found, indent, type, name] = MALLOC.exec(at.text ?? '') ?? [];
    if (!found || !times(own.text, name) || at === own || /^\s*const\b/.test(type) || !is_statement(at.text, befores[i], 'c')) continue;
    const end = closing(at.text, found.length - 1);
    if (end < 0 || at.text.slice(end + 1).trim() !== ';') continue;
    const size = at.line.slice(found.length, end).trim();
    const made = `${indent}${type.trimEnd().replace(/\s*(\*+)$/, ' $1')}${name};`;
    const edits = [[at, [made, `${indent}cudaMallocHost((void **)&${name}, ${size});${at.line.slice(end + 1).replace(/^\s*;/, '')}`]]];
    const freed = all.filter((one) => new RegExp(`^\\s*free\\s*\\(\\s*${name}\\s*\\)\\s*;\\s*$`).test(one.text ?? ''));
    for (const one of freed) edits.push([one, [one.line.replace(/\bfree\b/, 'cudaFreeHost')]]);
    return { edits, note: freed.length ? null : `free(${name}) becomes cudaFreeHost(${name})` };
  }
  return null;
}

// cudaMemcpy() as a statement, maybe as the only argument of a macro that checks it.
function locked_around(own, before) {
  const [found, indent, check] = /^(\s*)(?:([A-Za-z_]\w*)\s*\(\s*)?cudaMemcpy\s*\(/.exec(own.text) ?? [];
  if (!found || !is_statement(own.text, before, 'c') || (check && /^(if|while|for|switch|return)$/.test(check))) return null;
  const end = closing(own.text, found.length - 1);
  if (end < 0 || !(check ? /^\s*\)\s*;\s*$/ : /^\s*;\s*$/).test(own.text.slice(end + 1))) return null;
  const given = arguments_of(own.line, own.text, found.length, end, 'c');
  const host = { cudaMemcpyHostToDevice: 1, cudaMemcpyDeviceToHost: 0 }[given?.[3]?.text];
  if (given?.length !== 4 || host === undefined || changes_something(given[host].text) || changes_something(given[2].text.replace(/sizeof\s*\(\s*[\w\s*]+\)|sizeof\s+\w+/g, '1'))) return null;
  const call = (text) => `${indent}${check ? `${check}(${text})` : text};`;
  const memory = `(void *)(${given[host].text})`;
  return { edits: [[own, [call(`cudaHostRegister(${memory}, ${given[2].text}, cudaHostRegisterDefault)`), own.line, call(`cudaHostUnregister(${memory})`)]]], note: null };
}

function c({ remedy }, { own, all, before, befores }) {
  if (!/\bcudaMemcpy\w*\s*\(/.test(own.text)) return null;
  if (remedy === 'pin-per-use') return locked_around(own, before);
  return PINS.has(remedy) ? pinned_malloc(own, all, befores) : null;
}

// ---- the patch -------------------------------------------------------------------------------------

// Whose words the fix has: the analyzer speaks in terms of what the call site is written with.
const DIALECTS = [[/pin_memory|non_blocking=/, 'python', pytorch], [/cupyx\.|cupy\./, 'python', cupy], [/cuda\.(pinned|to_device)/, 'python', numba], [/\bjax\.|block_until_ready/, 'python', jax], [/cudaMallocHost|cudaHostRegister/, 'c', c]];
const ENDINGS = { python: /\.py$/, c: /\.(c|cc|cpp|cxx|cu|h|hh|hpp|cuh)$/ };

function as_patch({ file, first, lines }, edits) {
  const changed = new Map(edits.filter(([, by]) => by).map(([at, by]) => [at.number, by]));
  const after = lines.flatMap((line, i) => changed.get(i) ?? [line]);
  const name = base_name(file);
  const patch = structuredPatch(`a/${name}`, `b/${name}`, `${lines.join('\n')}\n`, `${after.join('\n')}\n`, undefined, undefined, { context: 2 });
  for (const hunk of patch.hunks) {
    hunk.oldStart += first - 1;
    hunk.newStart += first - 1;
  }
  return formatPatch(patch).replace(/^(Index: .*|=+)\n/gm, '');
}

// { text, note }, the patch and what else it takes; null: it is not mechanical.
export function fix_diff(finding) {
  const [, language, make] = DIALECTS.find(([words]) => words.test(finding.fix)) ?? [];
  const sources = sources_of(finding.sites);
  if (!make || sources.length !== 1 || !ENDINGS[language].test(sources[0].file)) return null;
  const [source] = sources;
  const size = new TextEncoder();
  if (source.lines.some((line) => size.encode(line).length >= CUT)) return null;
  const all = source.lines.map((line, number) => ({ number, line, text: bare(line, language) }));
  const own = all[source.line - source.first];
  if (!own?.text) return null;
  if (all.some(({ text }) => text === null)) return null; // a text or a comment over several lines: what is code is not certain
  const befores = all.map(({ number }) => all[number - 1]?.text ?? null);
  const made = make(finding, { own, all, before: befores[own.number], befores });
  return made && { text: as_patch(source, made.edits), note: made.note };
}
