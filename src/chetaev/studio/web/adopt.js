/* Values of the sliders and the height, which the page of the motion sends, and functions that write values into the text. */

const TALLEST = 3000; // pixels of the frame of the motion; what is longer scrolls inside
const sliderValues = { first: null, last: null };

function forgetSliders() {
  Object.assign(sliderValues, { first: null, last: null });
  tellSliders();
}

/* The row keeps its position, so that the picture does not jump while a slider is dragged. */
function tellSliders() {
  const moved = slid();
  find("adopt").disabled = moved.length === 0;
  find("moved-values").textContent = moved.map(([name, value]) => `${name} = ${written(value)}`).join(", ") || "values of sliders that you move";
}

/* The values that were moved since the motion appeared. */
function slid() {
  const { first, last } = sliderValues;
  return first ? Object.entries(last).filter(([name, value]) => value !== first[name]) : [];
}

const written = (value) => String(Number(value.toPrecision(6)));

window.addEventListener("message", (event) => {
  if (event.source !== find("motion").contentWindow) return;
  const values = event.data && event.data.chetaev, height = event.data && event.data.chetaevHeight;
  if (height > 0) find("motion").style.height = `${Math.min(height, TALLEST)}px`; // the least height is in the style sheet
  if (typeof values !== "object" || values === null || !Object.values(values).every(Number.isFinite)) return;
  sliderValues.first = sliderValues.first || values;
  sliderValues.last = values;
  tellSliders();
});

/* The text with other values, and the names that were not found in it. */
function adopted(text, values) {
  const left = [];
  for (const [name, value] of values) {
    const word = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const next = inTable(text, "parameters", (part) => part
      .replace(new RegExp(`^(\\s*${word}\\s*=\\s*)(?:[-+0-9][-+0-9.eE_]*|"[^"\\n]*"|'[^'\\n]*')`, "m"), (_, before) => before + written(value))
      .replace(new RegExp(`^(\\s*${word}\\s*=\\s*\\{[^\\n]*?value\\s*=\\s*)(?:[-+0-9][-+0-9.eE_]*|"[^"\\n]*")`, "m"), (_, before) => before + written(value)));
    const there = next !== null ? next : inTable(text, "initial", (part) => part
      .replace(new RegExp(`(["'])(\\s*${word}\\s*=)[^"\\n]*?\\1`), (_, quote, before) => `${quote}${before} ${written(value)}${quote}`));
    if (there === null) left.push(name); else text = there;
  }
  return [text, left];
}

/* The text with one more parameter of value 1, at the end of its table. */
function declared(text, name) {
  const span = tableOf(text, "parameters");
  if (span) {
    const part = text.slice(span.from, span.to), kept = part.trimEnd();
    return `${text.slice(0, span.from)}${kept}\n${name} = 1.0\n${part.slice(kept.length).replace(/^\n/, "")}${text.slice(span.to)}`;
  }
  const first = /^\s*\[/m.exec(text), at = first ? first.index : text.length; // before the first table stand the keys of none
  return `${text.slice(0, at).trimEnd()}\n\n[parameters]\n${name} = 1.0\n\n${text.slice(at).trimStart()}`;
}

/* The text with one more line in a table: below its header, or in a new table at the end. */
function withLine(text, table, line) {
  const span = tableOf(text, table);
  return span ? `${text.slice(0, span.from)}\n${line}${text.slice(span.from)}` : `${text.trimEnd()}\n\n[${table}]\n${line}\n`;
}

/* Whether a table of the text has a key. */
function hasKey(text, table, key) {
  const span = tableOf(text, table);
  return span !== null && new RegExp(`^[ \\t]*${key}[ \\t]*=`, "m").test(text.slice(span.from, span.to));
}

/* The text with initial values to edit: 0 for positions, 1 for velocities, so that something moves. */
function begun(text, names) {
  const values = names.map((name) => `"${name} = ${name.includes("'") ? 1 : 0}"`).join(", ");
  if (!hasKey(text, "initial", "fixed")) return withLine(text, "initial", `fixed = [${values}]`);
  const found = inTable(text, "initial", (part) => part.replace(/^([ \t]*fixed[ \t]*=\s*\[)(\s*)(\]?)/m, (_, head, gap, end) => `${head}${values}${end || ", "}${gap && !end ? gap : ""}`));
  return found !== null ? found : text;
}

/* The text with a principle in its table, if that names none; null if it names one. */
function principled(text, word) {
  return hasKey(text, "principle", "name") ? null : withLine(text, "principle", `name = "${word}"`);
}

/* Where the lines of a table begin, at the end of its header, and end; null if the text has no such table. */
function tableOf(text, table) {
  const head = new RegExp(`^[ \\t]*\\[[ \\t]*${table}[ \\t]*\\][^\\n]*$`, "m").exec(text);
  if (!head) return null;
  const from = head.index + head[0].length, after = /^\s*\[/m.exec(text.slice(from));
  return { from, to: after ? from + after.index : text.length };
}

/* The text with one table changed by `change`; null if there is no such table, or nothing was changed in it. */
function inTable(text, table, change) {
  const span = tableOf(text, table);
  if (!span) return null;
  const part = text.slice(span.from, span.to), next = change(part);
  return next === part ? null : text.slice(0, span.from) + next + text.slice(span.to);
}
