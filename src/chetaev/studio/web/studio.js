/* The studio: requests to the server, and the views that show its answers. */

const PRINCIPLES = { hamilton: "Hamilton", dalembert: "d'Alembert", chetaev: "Chetaev", "virtual-work": "virtual work", vakonomic: "vakonomic", herglotz: "Herglotz" };
const PAUSE = { derive: 20, motion: 350 }; // milliseconds without a keystroke before a request
const ENDINGS = { numpy: "py", casadi: "py", javascript: "mjs", c: "c" };
const now = { serial: 0, principle: "", branch: null, file: "", saved: "", files: [], own: [], extra: {}, panel: "motion", done: {}, ok: false, shown: -1 };
const latest = {};
const waiting = { derive: 0, motion: 0 };
const faults = { derive: [], motion: [] };

/* ---- the server ---- */

/* Ask about the text; null if the text has changed since, or the same was asked again for the view `view`. */
async function ask(verb, more = {}, view = verb) {
  const serial = now.serial, mine = (latest[view] = {});
  const body = { text: area.value, client, serial, ...more };
  if (now.principle && more.principle === undefined) body.principle = now.principle;
  if (now.branch !== null) body.branch = now.branch;
  const answer = await call(verb, body);
  return answer.cancelled || serial !== now.serial || latest[view] !== mine ? null : answer;
}

/* Show the result of the user's last action. Answers about the text are shown elsewhere, because they may arrive at any time. */
const say = (text) => { find("status").textContent = text; };
const tellReading = (text) => { find("reading").textContent = text; };

/* ---- from a keystroke to equations ---- */

function changed() {
  now.serial++;
  find("motion").setAttribute("aria-busy", "true"); // until the frame shows the motion of the present text
  clearTimeout(waiting.derive);
  clearTimeout(waiting.motion);
  waiting.derive = setTimeout(refresh, PAUSE.derive);
}

function typed() {
  now.branch = null;
  say("");
  paintText();
  changed();
}

async function refresh() {
  const since = performance.now(), answer = await ask("derive");
  if (!answer) return;
  now.ok = answer.ok;
  faults.derive = answer.errors || [];
  faults.motion = [];
  showFaults();
  find("equations").classList.toggle("stale", !answer.ok);
  find("motion").classList.toggle("stale", !answer.ok);
  if (!answer.ok) {
    tellReading("the text has an error");
    if (find("motion").hidden) find("motion-note").textContent = "The motion follows once the text has no error.";
    return;
  }
  showEquations(find("equations"), answer.rows);
  document.title = `${answer.name || "model"} \u00b7 chetaev studio`;
  tellReading(`${answer.count} \u00b7 ${Math.round(performance.now() - since)} ms`);
  own(answer.principles);
  offerSweeps(answer.ranges, answer.unknowns);
  waiting.motion = setTimeout(follow, PAUSE.motion);
}

/* Request the answers that take longer than equations: the analysis, and the open view. */
function follow() {
  now.done = {};
  analyse();
  if (now.panel !== "analysis") panels[now.panel]();
}

function showFaults() {
  showErrors([...faults.derive, ...faults.motion], act);
}

/* Apply a fix. */
function act(error, fix) {
  if (fix.replacement !== undefined) replaceAt(error, fix.replacement);
  else if (fix.parameter !== undefined) rewrite(declared(area.value, fix.parameter));
  else if (fix.branch !== undefined) choose(fix.branch);
  else if (fix.kind === "SetInitial") rewrite(begun(area.value, fix.names));
  else if (/^[a-z-]+$/.test(fix.principle) && principled(area.value, fix.principle) !== null) rewrite(principled(area.value, fix.principle));
  else {
    const select = find("principle");
    if (![...select.options].some((option) => option.value === fix.principle)) make(select, "option", { value: fix.principle, text: fix.principle });
    select.value = now.principle = fix.principle;
    changed();
  }
}

function choose(branch) {
  now.branch = branch;
  changed();
}

/* ---- views ---- */

const panels = { motion: showMotion, analysis: analyse, compare: compareNow, sweep: sweepNow, code: writeCode };

function once(name) {
  if (now.done[name] === now.serial) return false;
  now.done[name] = now.serial;
  return now.ok;
}

async function showMotion() {
  if (!once("motion")) return;
  const frame = find("motion"), note = find("motion-note");
  note.textContent = "computing the motion \u2026";
  const answer = await ask("motion");
  if (!answer) return;
  faults.motion = answer.errors || [];
  showFaults();
  frame.hidden = !answer.ok;
  frame.classList.remove("stale");
  if (!answer.ok) {
    find("moved").hidden = true;
    note.textContent = `No motion yet: ${answer.errors[0].message}`;
    return;
  }
  const ended = ["finished", "event"].includes(answer.outcome) ? "" : `${answer.outcome}: ${answer.message}`;
  note.textContent = [ended, answer.certified ? "" : "The checks of this motion doubt it.", answer.note].filter(Boolean).join("\n");
  now.shown = now.serial;
  showPage(frame, answer);
  find("moved").hidden = !answer.sliders.length;
  if (!answer.sliders.length) frame.style.height = ""; // such a page does not tell its height
  forgetSliders();
}

async function analyse() {
  if (!once("analysis")) return;
  const target = find("analysis");
  if (!target.childElementCount) make(target, "p", { class: "note", text: "computing \u2026" });
  const answer = await ask("analyze");
  if (!answer) return;
  target.replaceChildren();
  if (!answer.ok) {
    find("kinds").textContent = "";
    for (const error of answer.errors) listError(target, error, act);
    return;
  }
  find("kinds").textContent = answer.classification.map((line) => line.trim()).filter((line) => !line.includes("none stated")).join("\n");
  const head = make(target, "p", { class: "verdict" });
  make(head, "strong", { text: answer.verdict });
  make(head, "span", { text: answer.sentence });
  const list = make(target, "ul", { class: "facts" });
  const end = answer.facts.findIndex((line) => /^(branch \d+|motions remain):/.test(line));
  for (const line of answer.facts.slice(1, end < 0 ? undefined : end)) make(list, "li", { text: line });
  branches(target, answer);
  make(target, "h3", { text: "Constraints" });
  const kinds = make(target, "ul", { class: "facts" });
  for (const line of answer.classification) make(kinds, "li", { text: line.trim() });
}

function branches(target, answer) {
  if (!answer.branches.length) return;
  const set = make(target, "fieldset", { class: "choices" });
  const free = answer.branches.some((branch) => branch.selectable);
  make(set, "legend", { text: free ? "Branches: choose the manifold of the motion" : "Special motions that remain" });
  const entries = free ? [{ number: null, relations: "by the start", verdict: "", facts: [] }, ...answer.branches] : answer.branches;
  for (const branch of entries) {
    const label = make(set, "label");
    if (free) {
      const input = make(label, "input", { type: "radio", name: "branch", value: String(branch.number) });
      input.checked = branch.number === now.branch;
      input.addEventListener("change", () => choose(branch.number));
    }
    const words = branch.number === null ? branch.relations : `branch ${branch.number}: ${branch.relations} \u2014 ${branch.verdict}` + (branch.dimension === null ? "" : `, ${branch.dimension} free initial value${branch.dimension === 1 ? "" : "s"}`);
    make(label, "span", { text: words });
  }
}

/* The principles of the file come first, and are compared unless others are chosen. */
function own(words) {
  if (JSON.stringify(words) === JSON.stringify(now.own)) return;
  now.own = words;
  const all = [...new Set([...words, ...Object.keys(PRINCIPLES)])], target = find("principles");
  const chosen = words.length > 1 ? words : [...new Set([...words, words[0] === "vakonomic" ? "dalembert" : "vakonomic"])];
  target.replaceChildren();
  for (const word of all) {
    const label = make(target, "label"), input = make(label, "input", { type: "checkbox", name: "principles", value: word });
    input.checked = chosen.includes(word);
    make(label, "span", { text: PRINCIPLES[word] || word });
    input.addEventListener("change", () => { delete now.done.compare; compareNow(); });
  }
}

async function compareNow() {
  if (!once("compare")) return;
  const target = find("compare"), words = [...document.querySelectorAll("#principles input:checked")].map((input) => input.value);
  target.setAttribute("aria-busy", "true");
  if (!target.childElementCount) make(target, "p", { class: "note", text: "computing \u2026" });
  const answer = await ask("compare", { principle: words, start: now.extra });
  if (!answer) return;
  target.removeAttribute("aria-busy");
  const missing = (answer.errors || []).flatMap((error) => error.fixes).filter((fix) => fix.kind === "SetInitial").flatMap((fix) => fix.names).filter((name) => !(name in now.extra));
  if (missing.length) {
    for (const name of missing) now.extra[name] = 0;
    extras();
    delete now.done.compare;
    compareNow();
    return;
  }
  target.replaceChildren();
  for (const error of answer.errors || []) listError(target, error, act);
  if (answer.sides) sides(target, answer);
}

/* Initial values that a principle needs and the file does not give. */
function extras() {
  const target = find("extra");
  target.replaceChildren();
  for (const [name, value] of Object.entries(now.extra)) {
    const label = make(target, "label", { class: "inline", text: `${name} at the start ` });
    const input = make(label, "input", { type: "number", step: "any", value: String(value) });
    input.addEventListener("input", () => {
      if (!Number.isFinite(input.valueAsNumber)) return;
      now.extra[name] = input.valueAsNumber;
      now.serial++;
      delete now.done.compare;
      compareNow();
    });
  }
}

function sides(target, answer) {
  if (answer.pairs) make(target, "pre", { class: "report", text: answer.pairs.map((line) => line.trim()).join("\n") });
  const moved = answer.sides.filter((side) => side.t), row = make(target, "div", { class: "sides" });
  answer.sides.forEach((side) => {
    const box = make(row, "div", { class: "side" }), head = make(box, "h3"), k = moved.indexOf(side);
    if (k >= 0) {
      const swatch = make(head, "span", { class: k % 2 ? "swatch dashed" : "swatch" });
      swatch.style.borderColor = colourOf(k);
    }
    make(head, "span", { text: side.words });
    if (side.ok) showEquations(make(box, "div"), side.rows);
    else for (const error of side.errors) listError(box, error, act);
  });
  if (!moved.length) return;
  const names = Object.keys(moved[0].values).filter((name) => moved.every((side) => name in side.values) && !name.startsWith("lambda"));
  const charts = make(target, "div", { class: "curves" });
  for (const name of names.slice(0, 12)) {
    const figure = make(charts, "figure");
    make(figure, "figcaption", { text: name });
    const canvas = make(figure, "canvas", { role: "img", "aria-label": `${name} over time under ${moved.map((side) => side.principle).join(" and ")}` });
    keepDrawn(canvas, moved.map((side) => ({ t: side.t, v: side.values[name] })));
  }
}

async function writeCode() {
  if (!once("code")) return;
  const note = find("code-note"), answer = await ask("code", { language: find("language").value });
  if (!answer) return;
  note.textContent = answer.ok ? "" : answer.errors[0].message;
  find("code").textContent = answer.ok ? answer.code : "";
}

function show(name) {
  now.panel = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    find(tab.getAttribute("aria-controls")).hidden = !on;
  }
  if (now.ok) panels[name]();
}

/* ---- files ---- */

const unsaved = () => area.value !== now.saved;

function take(text, file) {
  area.value = text;
  now.saved = text;
  now.file = file;
  find("file").value = file;
  Object.assign(now, { branch: null, principle: "", extra: {}, own: [] });
  find("principle").value = "";
  extras();
  area.scrollTop = 0;
  area.setSelectionRange(0, 0);
  showErrors([], act);
  changed();
}

const mayLeave = () => !unsaved() || window.confirm("Discard the changes of this text?");

async function listFiles() {
  const answer = await call("files"), select = find("files");
  now.files = answer.files || [];
  select.length = 1;
  for (const name of now.files) make(select, "option", { value: name, text: name });
}

async function listGallery() {
  const answer = await call("gallery");
  for (const system of answer.systems || []) make(find("gallery"), "option", { value: system.name, text: `${system.name} \u2014 ${system.title}`, title: system.about });
}

async function openFrom(select, load) {
  const name = select.value;
  select.value = "";
  if (!name || !mayLeave()) return;
  const answer = await load(name);
  if (answer.ok) take(answer.text, answer.file || ""); else showErrors(answer.errors, act);
  if (answer.ok && !answer.file) find("file").value = `${name}.toml`;
}

async function save() {
  let file = find("file").value.trim();
  if (!file) {
    find("file").focus();
    say("give the file a name");
    return;
  }
  if (!file.endsWith(".toml")) file += ".toml";
  if (file !== now.file && now.files.includes(file) && !window.confirm(`Replace the file ${file}?`)) return;
  const text = area.value, answer = await call("save", { file, text });
  if (!answer.ok) {
    say(`not saved: ${answer.errors[0].message}`);
    return;
  }
  Object.assign(now, { file, saved: text });
  find("file").value = file;
  say(`saved ${file}`);
  listFiles();
}

function download(name, content, kind) {
  const link = make(null, "a", { download: name, href: URL.createObjectURL(new Blob([content], { type: kind })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

async function exportAs(kind) {
  const stem = (find("file").value.trim() || "model").replace(/\.toml$/, "").split("/").pop();
  if (kind === "toml") return download(`${stem}.toml`, area.value, "application/toml");
  say("writing \u2026");
  const answer = await ask(kind === "page" ? "motion" : kind, {}, "export");
  if (!answer) return say("not written: the text was changed meanwhile");
  if (!answer.ok) return say(`not written: ${answer.errors[0].message}`);
  if (kind === "film") download(`${stem}.gif`, Uint8Array.from(atob(answer.gif), (c) => c.charCodeAt(0)), "image/gif");
  else download(`${stem}-${kind === "page" ? "motion" : kind}.html`, await pageText(answer), "text/html");
  return say("written");
}

/* ---- events ---- */

area.addEventListener("input", typed);
find("motion").addEventListener("load", () => { if (now.shown === now.serial) find("motion").removeAttribute("aria-busy"); });
find("principle").addEventListener("change", (event) => { now.principle = event.target.value; now.branch = null; changed(); });
find("gallery").addEventListener("change", (event) => openFrom(event.target, (name) => call(`gallery/${encodeURIComponent(name)}`)));
find("files").addEventListener("change", (event) => openFrom(event.target, (file) => call("open", { file })));
find("export").addEventListener("change", (event) => { const kind = event.target.value; event.target.value = ""; if (kind) exportAs(kind); });
find("saving").addEventListener("submit", (event) => { event.preventDefault(); save(); });
find("adopt").addEventListener("click", () => {
  const [text, left] = adopted(area.value, slid());
  if (left.length) say(`not found in the text: ${left.join(", ")}`);
  rewrite(text);
});
find("language").addEventListener("change", () => { delete now.done.code; writeCode(); });
find("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(find("code").textContent);
    say("copied");
  } catch (error) {
    say("the browser does not allow copying; select the text instead");
  }
});
find("download").addEventListener("click", () => download(`model.${ENDINGS[find("language").value]}`, find("code").textContent, "text/plain"));
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
    event.preventDefault();
    save();
  }
});
for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => show(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const names = Object.keys(panels), at = names.indexOf(tab.id.slice(4));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = names[(to + names.length) % names.length];
    show(name);
    find(`tab-${name}`).focus();
  });
}
window.addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });

(async () => {
  const first = await call("first");
  if (first.ok) take(first.text, first.file); else showErrors(first.errors, act);
  await Promise.all([listGallery(), listFiles()]);
})();
