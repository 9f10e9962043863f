// Figures and names as they are shown. The same rules as analyzer/base/units.c and common/text.c, so that
// the page, the terminal and the JSON never differ by more than rounding.

const NONE = '-';

// Three significant digits, no exponent.
function decimals(value) {
  return value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
}

export function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    unit++;
  }
  const whole = unit === 0 || value === Math.floor(value);
  return `${value.toFixed(whole ? 0 : decimals(value))} ${units[unit]}`;
}

function nanoseconds(ns) {
  if (Math.abs(ns) < 0.005) return '0 ns';
  const size = Math.abs(ns);
  const [of, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']].find(([least]) => size >= least) ?? [1, 'ns'];
  const value = size / of;
  return `${ns < 0 ? '-' : ''}${value.toFixed(decimals(value))} ${unit}`;
}

export function gbps(value) {
  return value < 0.01 ? String(Number(value.toPrecision(2))) : value.toFixed(decimals(value));
}

export function percent(part) {
  const value = part * 100;
  return `${Math.abs(value) < 0.05 ? '0.0' : value.toFixed(Math.abs(value) >= 9.95 ? 0 : 1)} %`;
}

const UNITS = {
  s: (value) => nanoseconds(value * 1e9),
  ns: nanoseconds,
  bytes,
  gbps: (value) => `${gbps(value)} GB/s`,
  cost: (value) => nanoseconds(-value * 1e9), // of a saving below nothing
  part: percent,
  count: (value) => String(value),
};

// The text of a figure; null, which is not known, is "-".
export function text_of(value, unit) {
  return value === null || value === undefined || Number.isNaN(value) ? NONE : UNITS[unit](value);
}

// What has no looks of its own, or takes others theirs, is to be seen: <U+202E>.
const HIDDEN = /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\p{Bidi_Control}\u2028\u2029]/gu;

export function shown(text) {
  const hex = (char) => char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
  return String(text).replace(HIDDEN, (char) => `<U+${hex(char)}>`);
}

// "1 transfer", "3 transfers"
export function plural(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

export function base_name(path) {
  return path.replace(/\/+$/, '').split('/').pop() || path;
}

// What a run is called by: its program, of an interpreter the script that it was given.
export function run_name({ program, command, trace }) {
  const of = base_name(program ?? trace);
  const script = /^python[\d.]*$/.test(of) ? command.slice(1).find((word) => word.endsWith('.py')) : null;
  return script ? base_name(script) : of;
}

// A command as a shell would take it.
export function command_line(words) {
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  return words.map(quoted).join(' ');
}
