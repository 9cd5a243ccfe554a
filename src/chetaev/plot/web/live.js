/* A page with sliders. Above it in the same script stand the module of the model (simulate, outputsAt, ...), the painters and recipes.js;
   DATA has the drawing, the sliders and the columns. One global name, chetaev. */

const find = (name) => document.querySelector("[data-chetaev=" + name + "]");
const drawn = DATA.items.map((item) => (item.strokes ? { ...item, strokes: item.strokes.map((k) => DATA.strokes[k]) } : item));
const data = { ...DATA, recipes: drawn, meshes: unpacked(DATA) }, sliders = DATA.sliders, inputs = [...document.querySelectorAll("[data-chetaev-slider]")];
const shown = [...document.querySelectorAll("[data-chetaev-value]")], stage = find("stage"), canvas = find("canvas"), play = find("play");
const slide = find("time"), clock = find("clock"), pace = find("pace"), link = find("link"), choose = find("choose"), said = find("said");
const framed = window.parent !== window; // the picture must not grow with a frame whose height follows this page
const [begin, end] = data.t, count = (data.n - 1) * data.finer + 1;
const times = Array.from({ length: count }, (_, i) => (i === count - 1 ? end : begin + ((end - begin) * i) / (count - 1)));
const now = sliders.map((slider) => slider.value), milliseconds = [], PACES = [1, 2, 0.25, 0.5];
const charts = ["curve", "curve-energy"].map((name) => ({ ctx: find(name).getContext("2d"), w: 0, h: 0, density: 1 }));
const energyShown = find("energy"), driftShown = find("drift");
const LONG = 10, REST = 150, MOST = 2000, COARSE = 1e-5;
// milliseconds: LONG, above which a motion is coarse during a drag; REST of a slider before a fine one; MOST, the longest computation
const SLOW = 50, MANY = 6; // milliseconds from a picture in space to the next frame, and how many slow ones make pictures simpler
let spent = 0, later = 0, heavy = 0;
let motion = null, painter = null, first = null, f = 0, last = data.n - 1, playing = false, before = 0, rest = 0, chosen = 0, wide = 0;

/* ---- the motion ---- */

function settings() {
  const found = { start: {}, parameters: {} };
  sliders.forEach((slider, k) => { found[slider.kind][slider.name] = now[k]; });
  return found;
}

/* The motion at the present values; its picture, unless the values contradict the constraints. A motion that takes long is computed with a
   coarse tolerance while a slider is dragged, and with its own tolerance when the slider rests. */
function moved(coarse) {
  let run;
  const since = performance.now(), rough = coarse && spent > LONG;
  try {
    const most = since + (coarse ? MOST / 4 : MOST), stop = () => performance.now() > most;
    run = simulate({ t: [begin, end], times, dense: true, stop, tolerance: rough ? Math.max(tolerance, COARSE) : tolerance, ...settings() });
    if (!rough) spent = performance.now() - since;
    clearTimeout(later);
    if (rough || (coarse && run.outcome === "interrupted")) later = setTimeout(() => update(), REST);
    if (run.outcome === "interrupted") run.message = `the motion takes too long to compute: shown up to t = ${number(run.nodes.t[run.nodes.t.length - 1])}.`;
  } catch (error) {
    motion = { t: [], states: [], nodes: { t: [], states: [] }, outcome: null, message: error.message, energy: [], drift: null };
    stage.classList.add("stale");
    return;
  }
  stage.classList.remove("stale");
  const values = parametersFrom(settings().parameters), signs = (t, s) => (SURFACES.length ? withModes(t, s, values) : values);
  const formulas = DATA.columns.some((entry) => entry === null);
  const columns = columnsOf(DATA.columns, count, (i) => {
    if (i >= run.states.length || !formulas) return null;
    const p = signs(run.t[i], run.states[i]), solved = OUTPUTS_NEED ? solvedWith(run.t[i], run.states[i], p) : [];
    return solved && outputsAt(run.t[i], run.states[i], p, solved);
  });
  motion = { ...run, ...measured(run.nodes, values) };
  last = run.states.length >= count ? data.n - 1 : Math.max(0, (run.states.length - 1) / data.finer);
  const meshes = followed(data, columns, data.finer);
  if (!first) {
    first = boxOf(data);
    if (!data.space) Object.assign(first, { half: data.half, mid: data.follow ? [0, 0] : [at(data.cx, 0), at(data.cy, 0)] });
  }
  if (!data.quantities) refitted(data, first);
  if (painter && painter.changed) painter.changed(meshes);
}

/* The energy at every step, and the largest residual of a constraint relative to its terms. */
function measured(nodes, values) {
  const drift = { largest: 0 };
  const energies = nodes.t.map((t, i) => {
    const s = nodes.states[i], p = withModes(t, s, values), solved = ENERGY_NEEDS ? solvedWith(t, s, p) : [];
    if (constraintNames.length) drift.largest = Math.max(drift.largest, rowsAt(t, s, p, -1, sizesOf(s, null)).worst);
    return solved ? energyAt(t, s, p, solved) : NaN;
  });
  return { energy: energies, drift: drift.largest };
}

/* A value at a time between increasing or decreasing times. */
function valueAt(ts, vs, t) {
  if (!ts.length) return NaN;
  const way = ts[ts.length - 1] >= ts[0] ? 1 : -1;
  let low = 0, high = ts.length - 1;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if ((ts[mid] - t) * way <= 0) low = mid; else high = mid;
  }
  const w = ts[high] === ts[low] ? 0 : Math.min(1, Math.max(0, (t - ts[low]) / (ts[high] - ts[low])));
  return vs[low] * (1 - w) + vs[high] * w;
}

/* ---- the picture ---- */

const timeAt = (frame) => begin + ((end - begin) * frame) / (data.n - 1);

function paint() {
  if (!painter || !first) return;
  const since = performance.now();
  painter.draw(Math.min(f, last));
  if (painter.simpler && heavy < MANY) requestAnimationFrame(() => { if (performance.now() - since > SLOW && ++heavy === MANY) painter.simpler(); });
  clock.textContent = "t = " + timeAt(Math.min(f, last)).toFixed(data.digits).replace("-", "\u2212") + data.clock;
  slide.value = f;
  slide.setAttribute("aria-valuetext", clock.textContent);
  const energyNow = valueAt(motion.nodes.t, motion.energy, timeAt(Math.min(f, last)));
  energyShown.textContent = Number.isFinite(energyNow) ? energyNow.toPrecision(6).replace("-", "\u2212") : "\u2013";
  curves();
}

function curves() {
  const k = Number(choose.value), t = timeAt(Math.min(f, last));
  if (motion.column !== k) Object.assign(motion, { column: k, values: motion.states.map((s) => s[k]) });
  curve(charts[0], motion.t, motion.values, t, "#0b6bb8");
  curve(charts[1], motion.nodes.t, motion.energy, t, "#00876c");
}

/* A curve over time with ticks, and a mark at the present time. */
function curve(chart, ts, vs, t, colour) {
  const { w, h, density, ctx } = chart;
  if (!w) return;
  ctx.setTransform(density, 0, 0, density, 0, 0);
  ctx.fillStyle = ink("#ffffff");
  ctx.fillRect(0, 0, w, h);
  const room = { left: 56, right: 10, top: 8, bottom: 22 }, known = vs.filter(Number.isFinite);
  if (!known.length) return;
  let low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  const slack = Math.max(0.06 * (high - low), 1e-4 * Math.max(Math.abs(low), Math.abs(high)), 1e-12);
  low -= slack;
  high += slack;
  const X = (v) => room.left + ((v - begin) / (end - begin)) * (w - room.left - room.right);
  const Y = (v) => h - room.bottom - ((v - low) / (high - low)) * (h - room.top - room.bottom);
  ctx.font = '11px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
  ctx.fillStyle = ink("#6a7682");
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const step = niceStep(high - low, 3), sparse = niceStep(Math.abs(end - begin), Math.max(3, w / 90));
  for (let j = Math.ceil(low / step); j * step <= high; j++) {
    line(ctx, room.left, Y(j * step), w - room.right, Y(j * step), "#e8ebee", 1);
    ctx.fillText(tick(j * step, step), room.left - 5, Y(j * step));
  }
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (let j = Math.ceil(Math.min(begin, end) / sparse); j * sparse <= Math.max(begin, end); j++) ctx.fillText(tick(j * sparse, sparse), X(j * sparse), h - room.bottom + 5);
  ctx.strokeStyle = ink(colour);
  ctx.lineWidth = 1.6;
  ctx.lineJoin = "round";
  ctx.beginPath();
  const stride = Math.max(1, Math.floor(ts.length / 600));
  for (let i = 0, pen = false; i < ts.length; i = i === ts.length - 1 ? ts.length : Math.min(i + stride, ts.length - 1)) {
    if (!Number.isFinite(vs[i])) { pen = false; continue; }
    if (pen) ctx.lineTo(X(ts[i]), Y(vs[i])); else ctx.moveTo(X(ts[i]), Y(vs[i]));
    pen = true;
  }
  ctx.stroke();
  line(ctx, X(t), room.top, X(t), h - room.bottom, "#d1501c", 1);
  const here = valueAt(ts, vs, t);
  if (!Number.isFinite(here)) return;
  ctx.fillStyle = ink("#d1501c");
  ctx.beginPath();
  ctx.arc(X(t), Y(here), 3.5, 0, 2 * Math.PI);
  ctx.fill();
}

/* A number on an axis, with as many decimals as the step needs. */
function tick(v, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), size = Math.abs(v);
  return (size >= 1e5 || digits > 5 ? v.toExponential(2) : v.toFixed(digits)).replace(/-/g, "\u2212");
}

function fit() {
  const w = stage.parentElement.clientWidth;
  if (w <= 0) return;
  const h = Math.min(w / data.ratio, Math.max(220, 0.62 * Math.min(window.innerHeight, framed ? 780 : Infinity)));
  stage.style.height = h + "px";
  if (!painter) {
    try {
      painter = data.space ? space(data, canvas, stage, paint) : plane(data, canvas);
    } catch (error) {
      painter = { draw() {}, size() {} };
      element(stage, "p", "trouble").textContent = "This picture in space needs WebGL, which this browser does not offer: " + error.message;
    }
  }
  wide = w;
  painter.size(w, h);
  for (const chart of charts) {
    const target = chart.ctx.canvas, density = window.devicePixelRatio || 1;
    Object.assign(chart, { w: target.clientWidth, h: target.clientHeight, density });
    target.width = Math.round(chart.w * density);
    target.height = Math.round(chart.h * density);
  }
  paint();
}

/* ---- time ---- */

function step(stamp) {
  if (!playing) return;
  const passed = before ? Math.min(0.5, (stamp - before) / 1000) : 0;
  before = stamp;
  if (f >= last) {
    rest += passed;
    if (rest > 1) { f = 0; rest = 0; }
  } else f = Math.min(last, f + (passed * PACES[chosen] * (data.n - 1)) / data.seconds);
  paint();
  requestAnimationFrame(step);
}

function run(on) {
  if (on && !playing && f >= last) f = 0;
  const begun = on && !playing;
  playing = on;
  play.classList.toggle("on", on);
  play.setAttribute("aria-label", on ? "pause" : "play");
  if (begun) { before = 0; rest = 0; requestAnimationFrame(step); }
}

function seek(t) {
  if (!Number.isFinite(Number(t))) return;
  run(false);
  f = Math.min(data.n - 1, Math.max(0, ((Number(t) - begin) / (end - begin)) * (data.n - 1)));
  paint();
}

/* ---- values ---- */

const given = (v) => String(Number(v.toPrecision(4))).replace("-", "\u2212");

/* Take values by name, as far as they are numbers and have a slider; true if any changed. */
function take(entries) {
  let changed = false;
  for (const [name, text] of entries) {
    const k = sliders.findIndex((slider) => slider.name === name), v = typeof text === "string" && !text.trim() ? NaN : Number(text);
    if (k < 0 || !Number.isFinite(v)) continue;
    const next = Math.min(sliders[k].high, Math.max(sliders[k].low, v));
    changed = changed || next !== now[k];
    now[k] = next;
  }
  return changed;
}

function told() {
  sliders.forEach((slider, k) => {
    inputs[k].value = now[k];
    inputs[k].setAttribute("aria-valuetext", given(now[k]));
    shown[k].textContent = given(now[k]);
  });
  link.href = "#" + sliders.map((slider, k) => encodeURIComponent(slider.name).replaceAll("'", "%27") + "=" + now[k]).join("&");
  driftShown.textContent = motion.drift === null ? "\u2013" : constraintNames.length ? motion.drift.toExponential(1).replace(/-/g, "\u2212") : "0 (no constraints)";
  if (framed) window.parent.postMessage({ chetaev: api.values() }, "*"); // a page around this one may show the values
  said.textContent = motion.outcome === "finished" ? "" : (motion.outcome ? motion.outcome + ": " : "no motion: ") + motion.message;
}

function update(since, coarse) {
  moved(coarse);
  f = Math.min(f, data.n - 1);
  told();
  paint();
  if (since !== undefined) milliseconds.push(performance.now() - since);
}

function set(values) {
  const since = performance.now();
  if (take(Object.entries(values || {}))) update(since);
  return Promise.resolve(api.motion());
}

function fromAddress() {
  const entries = location.hash.slice(1).split("&").map((part) => {
    const cut = part.indexOf("=");
    try {
      return cut < 0 ? ["", ""] : [decodeURIComponent(part.slice(0, cut)), decodeURIComponent(part.slice(cut + 1))];
    } catch (error) {
      return ["", ""]; // not an encoded text
    }
  });
  return take(entries);
}

/* ---- the page ---- */

/* The state at a time by name, in the order of the module too. */
function state(t) {
  if (!((t - begin) * (end - t) >= 0)) return null;
  const found = simulate({ t: [begin, end], times: [Number(t)], ...settings() });
  if (!found.states.length) return null;
  const by = Object.create(null);
  stateNames.forEach((name, k) => { by[name] = found.states[0][k]; });
  return Object.assign({}, by);
}

const api = {
  ready: Promise.resolve(true),
  values: () => Object.fromEntries(sliders.map((slider, k) => [slider.name, now[k]])),
  set,
  state,
  motion: () => ({ t: motion.nodes.t.slice(), energy: motion.energy.slice(), drift: motion.drift, outcome: motion.outcome, message: motion.message }),
  time: () => timeAt(Math.min(f, last)),
  seek,
  playing: () => playing,
  milliseconds,
};

inputs.forEach((input, k) => {
  input.addEventListener("input", () => {
    const since = performance.now();
    if (take([[sliders[k].name, input.value]])) update(since, true);
  });
});
find("reset").addEventListener("click", () => {
  if (take(sliders.map((slider) => [slider.name, slider.value]))) update(performance.now());
});
find("copy").addEventListener("click", async () => {
  const address = location.href.split("#")[0] + link.getAttribute("href"), note = find("copied");
  try {
    await navigator.clipboard.writeText(address);
    note.textContent = "copied";
  } catch (error) {
    location.hash = link.getAttribute("href"); // no clipboard here: the address bar has it
    note.textContent = "now in the address bar";
  }
});
play.addEventListener("click", () => run(!playing));
pace.addEventListener("click", () => {
  chosen = (chosen + 1) % PACES.length;
  pace.textContent = PACES[chosen] + "\u00d7";
});
slide.max = data.n - 1;
slide.addEventListener("input", () => { run(false); f = Number(slide.value); paint(); });
choose.addEventListener("change", paint);
document.addEventListener("keydown", (event) => {
  const on = event.target instanceof Element ? event.target.closest("button, select, a, input") : null;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && (!on || on.tagName === "INPUT" || on.tagName === "A")) {
    run(!playing);
    event.preventDefault();
  } else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && !on) {
    run(false);
    f = Math.min(data.n - 1, Math.max(0, Math.round(f) + (event.key === "ArrowRight" ? 1 : -1)));
    paint();
    event.preventDefault();
  }
});
window.addEventListener("hashchange", () => { if (fromAddress()) update(performance.now()); });
const shade = window.matchMedia("(prefers-color-scheme: dark)");
dark = shade.matches;
shade.addEventListener("change", () => {
  dark = shade.matches;
  if (painter && painter.recoloured) painter.recoloured();
  paint();
});
stateNames.forEach((name, k) => {
  const option = element(choose, "option");
  option.value = k;
  option.textContent = DATA.names[k];
});
moved();
if (fromAddress()) moved();
told();
new ResizeObserver(() => { if (stage.parentElement.clientWidth !== wide) fit(); }).observe(stage.parentElement);
window.addEventListener("resize", fit);
fit();
if (framed) {
  const tell = () => window.parent.postMessage({ chetaevHeight: document.body.offsetHeight }, "*");
  new ResizeObserver(tell).observe(document.body);
  tell(); // browsers do not observe frames that are out of sight
}
if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) run(true);
window.chetaev = api;
