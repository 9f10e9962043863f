// A line of C or Python, as far as a fix has to understand it: what is text or comment in it, and where a call
// ends. What is not certain is null.

// The line with texts blanked and comments left out, of the same length; null: a text goes on beyond it, or
// may have begun before it.
export function bare(line, language) {
  let out = '';
  let quote = null;
  if (language === 'python' ? /"""|'''/.test(line) : /\/\*|\*\/|R"/.test(line)) return null;
  for (let i = 0; i < line.length; i++) {
    const char = line[i];
    if (quote) {
      const escaped = char === '\\';
      out += char === quote ? char : ' ';
      if (char === quote) quote = null;
      if (escaped) out += line[++i] === undefined ? '' : ' ';
    } else if (char === '"' || char === "'") {
      quote = char;
      out += char;
    } else if (language === 'python' ? char === '#' : line.startsWith('//', i)) {
      out += ' '.repeat(line.length - i);
      break;
    } else {
      out += char;
    }
  }
  return quote ? null : out;
}

const OPENS = '([{';
const CLOSES = ')]}';

// Of the bracket at `at`: where it closes; -1: not in this line.
export function closing(text, at) {
  const open = [];
  for (let i = at; i < text.length; i++) {
    if (OPENS.includes(text[i])) open.push(text[i]);
    else if (CLOSES.includes(text[i]) && OPENS[CLOSES.indexOf(text[i])] !== open.pop()) return -1;
    if (open.length === 0) return i;
  }
  return -1;
}

// The arguments between two brackets: [{ text, name }], name of keyword arguments; null: * or ** among them.
export function arguments_of(line, text, from, to, language) {
  const parts = [];
  let begin = from;
  for (let i = from; i <= to; i++) {
    if (i < to && OPENS.includes(text[i])) i = closing(text, i);
    if (i < 0 || (language === 'python' && text.slice(begin, to).trim().startsWith('*'))) return null;
    if (i !== to && text[i] !== ',') continue;
    if (text.slice(begin, i).trim()) parts.push({ text: line.slice(begin, i).trim(), name: language === 'python' ? /^\s*([A-Za-z_]\w*)\s*=(?!=)/.exec(text.slice(begin, i))?.[1] ?? null : null });
    begin = i + 1;
  }
  return parts;
}

const balanced = (text) => text !== null && closing(`(${text})`, 0) === text.length + 1;

// Whether the line is one whole statement: it neither ends in the next one nor began in the one before it.
export function is_statement(text, before, language) {
  if (text === null || !text.trim() || !balanced(text)) return false;
  const last = before === null ? null : before.trimEnd();
  if (language === 'python') return !/[\\,:]$/.test(text.trimEnd()) && last !== null && !/[-+*/%|&^=<>,\\([{]$/.test(last);
  return /;\s*$/.test(text) && last !== null && /[;{}]$/.test(last);
}

// How often a name stands in it by itself.
export const times = (text, name) => [...text.matchAll(/[A-Za-z_]\w*/g)].filter(([word]) => word === name).length;
