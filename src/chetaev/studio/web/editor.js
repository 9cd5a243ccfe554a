/* The editor: a text area over a coloured copy of its text, in which the characters of an error are underlined. */

const area = find("model"), backdrop = find("backdrop"), editor = find("editor"), errorList = find("errors");
let marked = [];

/* Paint the text again, with errors underlined. */
function paintText() {
  const text = area.value, ranges = marked.map((error) => rangeOf(text, error)).sort((a, b) => a[0] - b[0]);
  const fragment = document.createDocumentFragment();
  let at = 0, next = 0;
  for (const [kind, piece] of coloured(text)) {
    let rest = piece;
    while (rest) {
      while (next < ranges.length && Math.max(ranges[next][1], ranges[next][0] + 1) <= at) next++;
      const range = ranges[next], inside = range && range[0] <= at;
      const stop = !range ? Infinity : inside ? Math.max(range[1], range[0] + 1) : range[0];
      const part = rest.slice(0, Math.min(rest.length, stop - at));
      const parent = inside ? make(fragment, "mark") : fragment;
      if (kind) make(parent, "span", { class: kind, text: part }); else parent.append(part);
      at += part.length;
      rest = rest.slice(part.length);
    }
  }
  if (ranges.some(([from]) => from >= text.length)) make(fragment, "mark", { text: " " });
  fragment.append("\n"); // a last empty line has its height too
  backdrop.replaceChildren(fragment);
  followScroll();
}

function followScroll() {
  backdrop.parentElement.scrollTop = area.scrollTop;
}

function select(error) {
  const [from, to] = rangeOf(area.value, error);
  area.focus();
  area.setSelectionRange(from, to);
  const mark = backdrop.querySelector("mark");
  if (mark) area.scrollTop = Math.max(0, mark.offsetTop - area.clientHeight / 3);
}

/* Replace the part of the text that differs from `next`, as typing would, so that undo works. */
function rewrite(next) {
  const text = area.value, most = Math.min(text.length, next.length);
  let from = 0, back = 0;
  while (from < most && text[from] === next[from]) from++;
  while (back < most - from && text[text.length - 1 - back] === next[next.length - 1 - back]) back++;
  if (from === text.length && text === next) return;
  area.focus();
  area.setSelectionRange(from, text.length - back);
  document.execCommand("insertText", false, next.slice(from, next.length - back));
  if (area.value !== next) { // browsers that do not type into this field, or not now
    area.value = next;
    area.dispatchEvent(new Event("input"));
  }
}

/* Put a replacement at the characters of an error. */
function replaceAt(error, replacement) {
  const [from, to] = rangeOf(area.value, error);
  rewrite(area.value.slice(0, from) + replacement + area.value.slice(to));
}

/* Show errors beside and below the text; `act` is called with a fix that the page can make. */
function showErrors(errors, act) {
  marked = errors.filter((error) => !["Timeout", "Memory", "InternalError", "Offline"].includes(error.kind));
  editor.classList.toggle("wrong", errors.length > 0);
  area.setAttribute("aria-invalid", String(marked.length > 0));
  errorList.replaceChildren();
  for (const error of errors) listError(errorList, error, act);
  paintText();
}

function listError(parent, error, act) {
  const box = make(parent, "div", { class: "error" }), first = make(box, "p");
  if (!["Timeout", "Memory", "InternalError", "Offline"].includes(error.kind)) {
    const place = make(first, "button", { type: "button", class: "place", text: `line ${error.line}, column ${error.column}` });
    place.addEventListener("click", () => select(error));
    first.append(error.where ? ` \u00b7 ${error.where}` : "");
    const [from, to] = rangeOf(area.value, error), quoted = area.value.slice(from, to).trim();
    if (error.kind === "NotationError" && quoted && quoted.length <= 40) {
      first.append(" \u00b7 ");
      make(first, "code", { class: "quoted", text: quoted });
    }
  } else make(first, "strong", { text: error.kind });
  make(box, "p", { class: "what", text: error.message });
  if (error.hint) make(box, "p", { class: "hint", text: `\u2192 ${error.hint}` });
  const able = (error.fixes || []).filter((fix) => [fix.replacement, fix.principle, fix.branch, fix.parameter].some((way) => way !== undefined) || fix.kind === "SetInitial");
  if (!able.length) return;
  const row = make(box, "div", { class: "fixes" });
  for (const fix of able) {
    const words = fix.replacement !== undefined ? `replace by ${fix.replacement}` : fix.parameter !== undefined ? fix.text
      : fix.principle !== undefined ? `use ${fix.principle}` : fix.branch !== undefined ? `use branch ${fix.branch}`
      : "write initial values to change";
    make(row, "button", { type: "button", text: words }).addEventListener("click", () => act(error, fix));
  }
}

area.addEventListener("scroll", followScroll);
new ResizeObserver(followScroll).observe(area);
