/* Plays animations of chetaev. One global name, chetaevAnimations; the painters (plane.js, space.js) stand before it in one function. */
const waiting = window.chetaevAnimations || [];
if (waiting.ready) return;

const STYLE = `
  :host { display: block; }
  .box { font: 14px/1.3 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #2b333c; background: #fff; border: 1px solid #d7dce1;
    border-radius: 8px; overflow: hidden; margin: 0 auto; outline: none; }
  .box:focus-visible { border-color: #0b6bb8; }
  .head { display: flex; gap: 1em; align-items: baseline; padding: 7px 12px 5px; }
  .name { font-weight: 600; flex: 1; }
  .time { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
  .stage { position: relative; overflow: hidden; }
  .stage canvas { display: block; width: 100%; height: 100%; }
  .space canvas { touch-action: none; cursor: grab; }
  .space canvas:active { cursor: grabbing; }
  .words { position: absolute; left: 0; top: 0; white-space: pre; pointer-events: none; }
  .hint { position: absolute; right: 10px; top: 2px; font-size: 12px; color: #7f8b97; pointer-events: none; }
  .legend { position: absolute; left: 12px; top: 4px; font-size: 13px; pointer-events: none; }
  .caption { position: absolute; left: 0; right: 0; bottom: 4px; text-align: center; font-size: 12px; color: #7f8b97; pointer-events: none; }
  .bar { display: flex; align-items: center; gap: 10px; padding: 6px 12px; border-top: 1px solid #e8ebee; }
  .bar input { flex: 1; min-width: 60px; accent-color: #0b6bb8; margin: 0; height: 20px; }
  .bar button { font: inherit; border: 1px solid #d7dce1; background: #f6f8fa; color: inherit; border-radius: 6px; height: 28px; padding: 0 9px;
    cursor: pointer; display: inline-flex; align-items: center; justify-content: center; }
  .bar button:hover { background: #e9eef3; }
  .play { width: 36px; }
  .pace { min-width: 48px; font-variant-numeric: tabular-nums; }
  svg { width: 14px; height: 14px; fill: currentColor; }
  @media print { .bar, .hint { display: none; } }`;
const PLAY = '<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M3 1l10 6-10 6z"/></svg>';
const PAUSE = '<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M2 1h4v12H2zM8 1h4v12H8z"/></svg>';
const PACES = [1, 2, 0.25, 0.5];

function show(id, data) {
  const host = document.getElementById(id);
  if (!host || host.shadowRoot) return;
  const root = host.attachShadow({ mode: "open" });
  element(root, "style").textContent = STYLE;
  const box = element(root, "div", "box");
  box.tabIndex = 0;
  const head = element(box, "div", "head");
  element(head, "span", "name").textContent = data.title;
  const time = element(head, "span", "time");
  const stage = element(box, "div", "stage" + (data.space ? " space" : ""));
  const canvas = element(stage, "canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "animation: " + data.title);
  if (data.legend.length) {
    const legend = element(stage, "div", "legend");
    for (const [name, colour] of data.legend) {
      const entry = element(legend, "div");
      entry.textContent = "\u25cf " + name;
      entry.style.color = colour;
    }
  }
  if (data.caption) element(stage, "div", "caption").textContent = data.caption;
  const bar = element(box, "div", "bar");
  const play = element(bar, "button", "play", PLAY);
  const slide = element(bar, "input");
  Object.assign(slide, { type: "range", min: 0, max: data.n - 1, step: "any", value: 0 });
  slide.setAttribute("aria-label", "time");
  const pace = element(bar, "button", "pace");
  pace.title = "speed";

  let f = 0, playing = false, visible = true, before = 0, rest = 0, chosen = 0, painter = null, wide = 0, tall = 0;

  function paint() {
    if (!painter) return;
    painter.draw(f);
    time.textContent = "t = " + (data.t[0] + ((data.t[1] - data.t[0]) * f) / (data.n - 1)).toFixed(data.digits) + data.clock;
    slide.value = f;
  }
  function step(now) {
    if (!playing || !visible) { before = 0; return; }
    const passed = before ? Math.min(0.5, (now - before) / 1000) : 0;
    before = now;
    if (f >= data.n - 1) {
      rest += passed;
      if (rest > 1) { f = 0; rest = 0; }
    } else {
      f = Math.min(data.n - 1, f + (passed * PACES[chosen] * (data.n - 1)) / data.seconds);
    }
    paint();
    requestAnimationFrame(step);
  }
  function set(on) {
    if (on && !playing && f >= data.n - 1) f = 0;
    const started = on && !playing;
    playing = on;
    play.innerHTML = on ? PAUSE : PLAY;
    play.setAttribute("aria-label", on ? "pause" : "play");
    if (started && visible) { before = 0; requestAnimationFrame(step); }
  }
  function fit() {
    const most = Math.max(220, window.innerHeight - 96);
    let w = host.clientWidth - 2;
    if (w <= 0) return;
    let h = w / data.ratio;
    if (h > most) { h = most; w = h * data.ratio; }
    if (Math.abs(w - wide) < 0.5 && Math.abs(h - tall) < 0.5) return;
    wide = w;
    tall = h;
    box.style.width = w + "px";
    stage.style.height = h + "px";
    if (!painter) {
      try {
        painter = data.space ? space(data, canvas, stage, paint) : plane(data, canvas);
      } catch (fault) {
        stage.style.height = "auto";
        element(stage, "p").textContent = "This picture in space needs WebGL, which this browser does not offer: " + fault.message;
        throw fault;
      }
    }
    painter.size(w, h);
    paint();
  }

  play.onclick = () => set(!playing);
  pace.onclick = () => { chosen = (chosen + 1) % PACES.length; label(); };
  function label() { pace.textContent = PACES[chosen] + "\u00d7"; }
  slide.oninput = () => { set(false); f = Number(slide.value); paint(); };
  box.onkeydown = (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1 };
    if (event.key === " " && event.composedPath()[0] !== play) { set(!playing); event.preventDefault(); }
    else if (event.key in moves && event.composedPath()[0] !== slide) {
      set(false);
      f = Math.min(data.n - 1, Math.max(0, Math.round(f) + moves[event.key]));
      paint();
      event.preventDefault();
    }
  };
  label();
  set(false);
  new ResizeObserver(fit).observe(host);
  window.addEventListener("resize", fit);
  fit();
  const calm = window.matchMedia && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  let begun = false;
  new IntersectionObserver((entries) => {
    visible = entries[entries.length - 1].isIntersecting;
    if (visible && !begun && data.autoplay && !calm) { begun = true; set(true); }
    else if (visible && playing) { before = 0; requestAnimationFrame(step); }
  }).observe(host);
  host.chetaev = { seek(fraction) { begun = true; set(false); f = fraction * (data.n - 1); paint(); } };
}

window.chetaevAnimations = { ready: true, push: (entry) => show(entry[0], entry[1]) };
for (const entry of waiting) show(entry[0], entry[1]);
