/* Drawings in the plane on a canvas, and functions that both painters share. */

/* A value between two samples; arrays of one sample are constant. */
function at(list, f) {
  if (list.length === 1) return list[0];
  const i = Math.min(Math.floor(f), list.length - 2), w = f - i;
  return list[i] * (1 - w) + list[i + 1] * w;
}

/* A colour of the drawing, which is made for a light ground; on a dark one with the opposite lightness. */
let dark = false;
const DARK_GROUND = [20, 24, 29];
function ink(colour) {
  if (!dark) return colour;
  const part = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255), shift = 1 - Math.max(...part) - Math.min(...part);
  return "rgb(" + part.map((v, i) => Math.round(DARK_GROUND[i] + (235 - DARK_GROUND[i]) * (v + shift))).join(",") + ")";
}

function number(v) {
  const text = Number(v.toPrecision(3));
  return (Math.abs(text) >= 1e5 || (text !== 0 && Math.abs(text) < 1e-4) ? text.toExponential() : String(text)).replace(/-/g, "\u2212");
}

function element(parent, tag, name, html) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (html) made.innerHTML = html;
  parent.appendChild(made);
  return made;
}

function plane(data, canvas) {
  const ctx = canvas.getContext("2d");
  const room = data.axes ? { left: 58, right: 16, top: 8, bottom: 42 } : { left: 0, right: 0, top: 0, bottom: 0 };
  let w = 0, h = 0, density = 1;

  function draw(f) {
    const inner = { w: w - room.left - room.right, h: h - room.top - room.bottom };
    const scale = Math.min(inner.w / (2 * data.half[0]), inner.h / (2 * data.half[1]));
    const mid = [at(data.cx, f), at(data.cy, f)], hx = inner.w / 2 / scale, hy = inner.h / 2 / scale;
    const X = (x) => room.left + inner.w / 2 + (x - mid[0]) * scale, Y = (y) => room.top + inner.h / 2 - (y - mid[1]) * scale;
    const view = { X, Y, w, h, left: mid[0] - hx, right: mid[0] + hx, bottom: mid[1] - hy, top: mid[1] + hy };
    ctx.setTransform(density, 0, 0, density, 0, 0);
    ctx.fillStyle = ink("#ffffff");
    ctx.fillRect(0, 0, w, h);
    ctx.lineCap = ctx.lineJoin = "round";
    if (data.floor) floor(ctx, data.floor, view);
    if (data.axes) graph(ctx, data.axes, view, room, inner);
    const size = Math.max(0.6, Math.min(1, w / 640));
    for (const item of data.items) ({ piece, dot, track, words: () => {} })[item.kind](ctx, item, f, view, size);
    for (const item of data.items) if (item.kind === "words") words(ctx, item, f, view, size);
  }
  return {
    draw,
    size(width, height) {
      density = window.devicePixelRatio || 1;
      w = width;
      h = height;
      canvas.width = Math.round(w * density);
      canvas.height = Math.round(h * density);
    },
  };
}

function piece(ctx, item, f, view, size) {
  const x = at(item.x, f), y = at(item.y, f), a = at(item.a, f), l = at(item.l, f), c = Math.cos(a), s = Math.sin(a);
  for (const stroke of item.strokes) {
    const p = stroke.p;
    ctx.beginPath();
    for (let i = 0; i < p.length; i += 3) {
      const along = p[i] * l + p[i + 1], across = p[i + 2];
      const X = view.X(x + c * along - s * across), Y = view.Y(y + s * along + c * across);
      if (i) ctx.lineTo(X, Y); else ctx.moveTo(X, Y);
    }
    if (stroke.closed) ctx.closePath();
    if (stroke.fill) { ctx.fillStyle = ink(stroke.fill); ctx.fill(); }
    if (stroke.edge) { ctx.strokeStyle = ink(stroke.edge); ctx.lineWidth = stroke.width * size; ctx.stroke(); }
  }
}

function dot(ctx, item, f, view, size) {
  ctx.beginPath();
  ctx.arc(view.X(at(item.x, f)), view.Y(at(item.y, f)), item.r * size, 0, 2 * Math.PI);
  ctx.fillStyle = ink(item.fill);
  ctx.fill();
  ctx.strokeStyle = ink(item.edge);
  ctx.lineWidth = 1.8;
  ctx.stroke();
}

function track(ctx, item, f, view, size) {
  const end = Math.floor(f * item.finer), first = item.steps ? Math.max(0, Math.floor((f - item.steps) * item.finer)) : 0;
  const chunks = item.steps ? 24 : 1;
  ctx.strokeStyle = ink(item.colour);
  ctx.lineWidth = item.width * size;
  const g = f * item.finer, tip = [view.X(at(item.x, Math.min(g, item.x.length - 1))), view.Y(at(item.y, Math.min(g, item.y.length - 1)))];
  for (let k = 0; k < chunks; k++) {
    const a = first + Math.floor(((end - first) * k) / chunks), b = first + Math.floor(((end - first) * (k + 1)) / chunks);
    ctx.globalAlpha = item.steps ? 0.85 * Math.max(0, 1 - (end - (a + b) / 2) / (item.steps * item.finer)) : 0.75;
    ctx.beginPath();
    ctx.moveTo(view.X(item.x[a]), view.Y(item.y[a]));
    for (let i = a + 1; i <= b; i++) ctx.lineTo(view.X(item.x[i]), view.Y(item.y[i]));
    if (k === chunks - 1) ctx.lineTo(tip[0], tip[1]);
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

function words(ctx, item, f, view, size) {
  ctx.font = item.size * Math.max(0.8, size) + 'px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
  ctx.fillStyle = ink(item.colour);
  ctx.textAlign = item.align;
  ctx.textBaseline = "middle";
  const text = item.text + (item.values ? number(at(item.values, f)) : "");
  ctx.fillText(text, view.X(at(item.x, f)) + item.shift[0] * size, view.Y(at(item.y, f)) - item.shift[1] * size);
}

function floor(ctx, ground, view) {
  if (ground.height !== null) {
    const y = view.Y(ground.height);
    ctx.fillStyle = ink(ground.pale);
    ctx.fillRect(0, y, view.w, view.h - y);
    line(ctx, 0, y, view.w, y, ground.colour, 2);
    return;
  }
  for (let k = Math.ceil(view.left / ground.spacing); k * ground.spacing < view.right; k++)
    line(ctx, view.X(k * ground.spacing), 0, view.X(k * ground.spacing), view.h, ground.pale, 1);
  for (let k = Math.ceil(view.bottom / ground.spacing); k * ground.spacing < view.top; k++)
    line(ctx, 0, view.Y(k * ground.spacing), view.w, view.Y(k * ground.spacing), ground.pale, 1);
}

function graph(ctx, axes, view, room, inner) {
  ctx.font = '12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
  ctx.fillStyle = ink("#7f8b97");
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  const foot = room.top + inner.h;
  for (const tick of axes.x) {
    const x = view.X(tick);
    if (x < room.left || x > room.left + inner.w) continue;
    line(ctx, x, room.top, x, foot, "#e8ebee", 1);
    ctx.fillText(number(tick), x, foot + 5);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const tick of axes.y) {
    const y = view.Y(tick);
    if (y < room.top || y > foot) continue;
    line(ctx, room.left, y, room.left + inner.w, y, "#e8ebee", 1);
    ctx.fillText(number(tick), room.left - 6, y);
  }
  ctx.strokeStyle = ink("#c3cad1");
  ctx.lineWidth = 1;
  ctx.strokeRect(room.left, room.top, inner.w, inner.h);
  ctx.fillStyle = ink("#2b333c");
  ctx.font = '14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  ctx.fillText(axes.names[0], room.left + inner.w / 2, foot + 40);
  ctx.save();
  ctx.translate(14, room.top + inner.h / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textBaseline = "middle";
  ctx.fillText(axes.names[1], 0, 0);
  ctx.restore();
}

function line(ctx, x1, y1, x2, y2, colour, width) {
  ctx.strokeStyle = ink(colour);
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}
