/* Elements with texts, never with markup: every text of a model is data. */

function make(parent, tag, options = {}) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") found.textContent = value;
    else if (name === "class") found.className = value;
    else found.setAttribute(name, value);
  }
  if (parent) parent.append(found);
  return found;
}

const find = (id) => document.getElementById(id);

/* The position in a text (in UTF-16 units) of a line and a column, counted from 1 in characters. */
function offsetOf(text, line, column) {
  let at = 0;
  for (let k = 1; k < line; k++) {
    const next = text.indexOf("\n", at);
    if (next < 0) break;
    at = next + 1;
  }
  const end = text.indexOf("\n", at), rest = text.slice(at, end < 0 ? text.length : end);
  return at + Array.from(rest).slice(0, column - 1).join("").length;
}

/* The positions where an error begins and ends in a text. */
function rangeOf(text, error) {
  const from = offsetOf(text, error.line, error.column);
  const to = offsetOf(text, error.line, error.column + error.length);
  return [from, Math.max(to, from)];
}

const COLOURS = /(\s*\[\[?[^\]\n]*\]\]?)|(#[^\n]*)|("""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')|([A-Za-z0-9_.-]+)(?=\s*=)/y;

/* The pieces of a model text with the class of their colour. */
function coloured(text) {
  const pieces = [];
  let plain = "", at = 0, fresh = true;
  const flush = () => { if (plain) pieces.push(["", plain]); plain = ""; };
  while (at < text.length) {
    COLOURS.lastIndex = at;
    const found = COLOURS.exec(text);
    if (found && (found[1] === undefined || fresh)) {
      flush();
      pieces.push([found[1] !== undefined ? "h" : found[2] !== undefined ? "c" : found[3] !== undefined ? "s" : "k", found[0]]);
      at += found[0].length;
      fresh = false;
      continue;
    }
    plain += text[at];
    fresh = text[at] === "\n";
    at++;
  }
  flush();
  return pieces;
}
