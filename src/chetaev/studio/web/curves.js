/* Curves of several motions over time in one picture. */

const PALETTE = { light: ["#0b6bb8", "#d1501c", "#00876c", "#7a3a92"], dark: ["#58a6e8", "#ff9a5c", "#4cc9a8", "#cf9ee6"] };
const shade = window.matchMedia("(prefers-color-scheme: dark)");
const colourOf = (k) => PALETTE[shade.matches ? "dark" : "light"][k % 4];

function niceStep(span, parts) {
  const raw = span / parts, power = 10 ** Math.floor(Math.log10(raw)), share = raw / power;
  return (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10) * power;
}

function tick(v, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const zero = Math.abs(v) < step / 1e6 ? 0 : v;
  return (Math.abs(zero) >= 1e5 || digits > 5 ? zero.toExponential(1) : zero.toFixed(digits)).replace(/-/g, "\u2212");
}

/* Draw curves now, and again when the picture changes its size or the colour scheme changes. */
function keepDrawn(canvas, lines) {
  requestAnimationFrame(() => drawCurves(canvas, lines));
  new ResizeObserver(() => drawCurves(canvas, lines)).observe(canvas);
  shade.addEventListener("change", () => drawCurves(canvas, lines));
}

/* `lines` is a list of {t, v}: times, and values or null. */
function drawCurves(canvas, lines) {
  const w = canvas.clientWidth, h = canvas.clientHeight, density = window.devicePixelRatio || 1;
  if (!w || !h) return;
  canvas.width = Math.round(w * density);
  canvas.height = Math.round(h * density);
  const ctx = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  ctx.setTransform(density, 0, 0, density, 0, 0);
  const ts = lines.flatMap((line) => line.t).filter(Number.isFinite), vs = lines.flatMap((line) => line.v).filter(Number.isFinite);
  if (!ts.length || !vs.length) return;
  const least = (a) => a.reduce((x, y) => Math.min(x, y)), most = (a) => a.reduce((x, y) => Math.max(x, y));
  let t0 = least(ts), t1 = most(ts), low = least(vs), high = most(vs);
  if (t1 === t0) t1 = t0 + 1;
  const size = Math.max(Math.abs(low), Math.abs(high)), slack = high - low > 1e-9 * size ? 0.06 * (high - low) : 0.5 * size || 1; // or a constant
  low -= slack;
  high += slack;
  const room = { left: 52, right: 10, top: 8, bottom: 22 };
  const X = (t) => room.left + ((t - t0) / (t1 - t0)) * (w - room.left - room.right);
  const Y = (v) => h - room.bottom - ((v - low) / (high - low)) * (h - room.top - room.bottom);
  ctx.font = '11px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
  ctx.fillStyle = style.getPropertyValue("--soft");
  ctx.strokeStyle = style.getPropertyValue("--edge");
  ctx.lineWidth = 1;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const step = niceStep(high - low, 3), across = niceStep(t1 - t0, Math.max(3, w / 90));
  for (let j = Math.ceil(low / step); j * step <= high; j++) {
    ctx.beginPath();
    ctx.moveTo(room.left, Y(j * step));
    ctx.lineTo(w - room.right, Y(j * step));
    ctx.stroke();
    ctx.fillText(tick(j * step, step), room.left - 5, Y(j * step));
  }
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (let j = Math.ceil(t0 / across); j * across <= t1; j++) ctx.fillText(tick(j * across, across), X(j * across), h - room.bottom + 5);
  lines.forEach((line, k) => {
    ctx.strokeStyle = colourOf(k);
    ctx.lineWidth = 1.8;
    ctx.setLineDash(k % 2 ? [6, 4] : []);
    ctx.beginPath();
    let pen = false;
    line.v.forEach((v, i) => {
      if (!Number.isFinite(v)) { pen = false; return; }
      if (pen) ctx.lineTo(X(line.t[i]), Y(v)); else ctx.moveTo(X(line.t[i]), Y(v));
      pen = true;
    });
    ctx.stroke();
  });
  ctx.setLineDash([]);
}
