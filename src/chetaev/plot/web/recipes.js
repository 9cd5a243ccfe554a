/* From states to the arrays of a drawing: columns of values over time, and the recipes of items (see plot/scenes/live/recipes.py). */

/* The difference of two angles by whole turns where it is larger than `most`. */
function unwrapped(a, most) {
  const found = Float64Array.from(a);
  let shift = 0;
  for (let i = 1; i < a.length; i++) {
    const step = a[i] - a[i - 1];
    if (Math.abs(step) > most) shift -= 2 * Math.PI * Math.round(step / (2 * Math.PI));
    found[i] += shift;
  }
  return found;
}

/* Quaternions are (x, y, z, w). */
function product(a, b) {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ];
}

function turnedBy(m) {
  const trace = m[0] + m[4] + m[8];
  const outer = [
    [1 + 2 * m[0] - trace, m[1] + m[3], m[2] + m[6], m[7] - m[5]],
    [m[1] + m[3], 1 + 2 * m[4] - trace, m[5] + m[7], m[2] - m[6]],
    [m[2] + m[6], m[5] + m[7], 1 + 2 * m[8] - trace, m[3] - m[1]],
    [m[7] - m[5], m[2] - m[6], m[3] - m[1], 1 + trace],
  ];
  let best = 0; // the row with the largest diagonal entry is the best-conditioned one
  for (let i = 1; i < 4; i++) if (outer[i][i] > outer[best][best]) best = i;
  return outer[best];
}

/* Unit quaternions one after the other, with signs that are continuous in time. */
function continuous(n, at) {
  const q = new Float64Array(4 * n);
  for (let i = 0; i < n; i++) {
    const found = at(i), size = Math.hypot(...found) || 1;
    let same = 0;
    for (let j = 0; j < 4; j++) same += i ? q[4 * i - 4 + j] * found[j] : 1;
    for (let j = 0; j < 4; j++) q[4 * i + j] = ((same < 0 ? -1 : 1) * found[j]) / size;
  }
  return q;
}

/* The shortest rotation between two unit vectors. */
function swing(a, b) {
  const w = 1 + a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  if (w < 1e-9) {
    const other = Math.abs(a[0]) < 0.8 ? [0, a[2], -a[1]] : [-a[2], 0, a[0]], size = Math.hypot(...other);
    return [other[0] / size, other[1] / size, other[2] / size, 0];
  }
  const q = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], w], size = Math.hypot(...q);
  return q.map((v) => v / size);
}

/* A step of 1, 2 or 5 times a power of ten that divides a length into about the given number of parts. */
function niceStep(length, parts) {
  if (!(length > 0)) return 1;
  const raw = length / parts, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).reduce((a, b) => (Math.abs(Math.log(b / raw)) < Math.abs(Math.log(a / raw)) ? b : a));
}

/* The columns at all times; after the end of a motion they keep their last values. */
function columnsOf(entries, count, values) {
  const found = entries.map((entry) => new Float64Array(count).fill(entry === null ? NaN : entry));
  const moving = entries.map((entry, k) => (entry === null ? k : -1)).filter((k) => k >= 0);
  for (let i = 0; i < count; i++) {
    const line = values(i);
    for (let j = 0; j < moving.length; j++) found[moving[j]][i] = line ? line[j] : found[moving[j]][i - 1];
  }
  return found;
}

/* The meshes of a page, with their lists of numbers and their faces unpacked (see packed in plot/scenes/meshes.py). */
function unpacked({ meshes, lists, faces }) {
  const numbers = lists.map(([unit, ...whole]) => whole.map((v) => v * unit)), list = (k) => (k === null ? 0 : numbers[k]);
  const written = faces.map(({ runs, c }) => ({
    f: runs.flatMap(([face, step, times]) => Array.from({ length: times }, (_, i) => face.map((corner, j) => corner + i * (step ? step[j] : 0)))),
    c: c.flatMap((paint, k) => (k % 2 ? [] : new Array(c[k + 1]).fill(paint))),
  }));
  return meshes.map(({ f, p, v, base, parts }) => ({
    ...written[f], p, ...(parts ? { base: list(base), parts: parts.map(([column, k]) => [column, list(k)]) } : { v: list(v) }),
  }));
}

/* Vertices of a form at the sizes that the columns have at the start; whether they changed. */
function shaped(form, key, columns) {
  if (!form.parts) return false;
  const size = [form.base, ...form.parts.map(([, slope]) => slope)].find(Array.isArray).length;
  const sizes = form.parts.map(([column]) => columns[column][0]);
  if (form.sizes && sizes.every((v, k) => v === form.sizes[k])) return false;
  form.sizes = sizes;
  const found = Array.from({ length: size }, (_, i) => form.parts.reduce((sum, [, slope], k) => sum + sizes[k] * slope[i], form.base ? form.base[i] : 0));
  const turn = (i) => (2 * Math.PI * i) / form.ring;
  if (form.ring) form[key] = Array.from({ length: form.ring }, (_, i) => [0, found[0] * Math.cos(turn(i)), found[1] * Math.sin(turn(i))]).flat();
  else form[key] = form.flat ? found.flatMap((v, i) => (i % 2 ? [v] : [0, v])) : found;
  return true;
}

/* Fill in the arrays of all items; returns the indices of the meshes that changed. `finer` is the number of times per frame. */
function followed(data, columns, finer) {
  const n = data.n;
  const frames = columns.map((column) => {
    const found = new Float64Array(n);
    for (let i = 0; i < n; i++) found[i] = column[i * finer];
    return found;
  });
  data.items = data.recipes.flatMap((item) => (item.kind === "scale" ? scale(item, frames) : [item]));
  for (const stroke of data.strokes) shaped(stroke, "p", columns);
  for (const item of data.items) {
    if (!item.at) continue;
    const from = item.kind === "track" ? columns : frames;
    item.at.forEach((column, k) => { item["xyz"[k]] = from[column]; });
    if (item.value !== undefined) item.values = frames[item.value];
    if (item.kind === "piece") {
      if (item.end) between(item, frames, n);
      else {
        item.a = unwrapped(frames[item.angle], 1.5 * Math.PI);
        item.l = [0];
      }
    }
    if (item.kind === "solid") {
      if (item.end) along(item, frames, n);
      else {
        item.q = rotated(item, frames, n);
        item.l = [1];
      }
    }
  }
  if (data.follow) data.follow.forEach((column, k) => {
    data[(data.space ? ["tx", "ty", "tz"] : ["cx", "cy"])[k]] = frames[column].map((v) => v + data.offset[k]);
  });
  if (data.floor && data.floor.at !== undefined) data.floor.height = columns[data.floor.at][0];
  return data.meshes.map((mesh, k) => (shaped(mesh, "v", columns) ? k : -1)).filter((k) => k >= 0);
}

function between(item, frames, n) {
  const dx = new Float64Array(n), dy = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    dx[i] = frames[item.end[0]][i] - frames[item.at[0]][i];
    dy[i] = frames[item.end[1]][i] - frames[item.at[1]][i];
  }
  item.a = unwrapped(dy.map((v, i) => Math.atan2(v, dx[i])), Math.PI);
  item.l = dx.map((v, i) => Math.hypot(v, dy[i]));
}

function along(item, frames, n) {
  const length = new Float64Array(n);
  let q = [0, 0, 0, 1], third = [0, 0, 1];
  item.q = continuous(n, (i) => {
    const way = item.end.map((column, k) => frames[column][i] - frames[item.at[k]][i]);
    length[i] = Math.hypot(...way);
    if (length[i] > 0) {
      const next = way.map((v) => v / length[i]);
      q = product(swing(third, next), q);
      third = next;
    }
    return q;
  });
  item.l = item.tip ? [1] : length;
  if (item.tip) item.end.forEach((column, k) => { item["xyz"[k]] = frames[column]; });
}

function rotated(item, frames, n) {
  if (item.entries) return continuous(n, (i) => turnedBy(item.entries.map((column) => frames[column][i])));
  if (!item.turns) return [0, 0, 0, 1];
  return continuous(n, (i) => item.turns.reduce((q, [axis, column]) => {
    const turn = [0, 0, 0, Math.cos(frames[column][i] / 2)];
    turn[axis] = Math.sin(frames[column][i] / 2);
    return product(q, turn);
  }, [0, 0, 0, 1]));
}

/* A quantity without a position: an axis of length 1 with ticks around its values, and a marker. */
function scale(item, frames) {
  const value = frames[item.value], grey = "#7f8b97";
  let low = Math.min(...value), high = Math.max(...value);
  if (!(high - low > 1e-9 * Math.max(1, Math.abs(low), Math.abs(high)))) { low -= 1; high += 1; }
  const step = niceStep(high - low, 4), first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
  low = first * step;
  high = last * step;
  const still = { a: [0], l: [0], x: [0], y: [item.y] }, strokes = [{ p: [0, 0, 0, 0, 1, 0], edge: grey, width: 2 }], ticks = [];
  for (let k = first; k <= last; k++) {
    const x = (k * step - low) / (high - low);
    strokes.push({ p: [0, x, -0.012, 0, x, 0.012], edge: grey, width: 1.5 });
    ticks.push({ kind: "words", x: [x], y: [item.y], text: number(k * step), colour: grey, shift: [0, -20], align: "center", size: 11 });
  }
  const words = (x, text, align, values) => ({ kind: "words", x: [x], y: [item.y], text, colour: item.dark, shift: [0, 0], align, size: 14, values });
  return [
    { kind: "piece", strokes, ...still },
    ...ticks,
    words(-0.05, item.label, "right", null),
    words(1.06, "", "left", value),
    { kind: "dot", x: value.map((v) => (v - low) / (high - low)), y: [item.y], r: 8, fill: item.colour, edge: "#ffffff" },
  ];
}

/* The box of everything that moves, relative to the followed position: lowest and highest coordinates. */
function boxOf(data) {
  const names = data.space ? ["x", "y", "z"] : ["x", "y"], centre = data.follow ? (data.space ? ["tx", "ty", "tz"] : ["cx", "cy"]) : null;
  const low = names.map(() => Infinity), high = names.map(() => -Infinity);
  for (const item of data.items) {
    if (!item.at || (centre && item.kind === "track")) continue;
    names.forEach((name, k) => {
      const own = item[name];
      for (let i = 0; i < own.length; i++) {
        const v = own[i] - (centre ? at(data[centre[k]], i) : 0);
        if (v < low[k]) low[k] = v;
        if (v > high[k]) high[k] = v;
      }
    });
  }
  return { low, high };
}

/* Widen the view if a motion leaves that of the first one. */
function refitted(data, first) {
  const box = boxOf(data);
  if (data.space) {
    const reach = ({ low, high }) => low.reduce((most, v, k) => Math.max(most, Math.abs(v - middle(k)), Math.abs(high[k] - middle(k))), 0);
    const middle = (k) => (first.low[k] + first.high[k]) / 2, before = reach(first), now = reach(box);
    data.grown = before > 0 && now > 1.05 * before && Number.isFinite(now) ? Math.min(1e4, now / before) : 1;
    return;
  }
  const half = first.half, mid = first.mid;
  const low = [0, 1].map((k) => Math.min(mid[k] - half[k], box.low[k] - Math.max(0, first.low[k] - mid[k] + half[k])));
  const high = [0, 1].map((k) => Math.max(mid[k] + half[k], box.high[k] + Math.max(0, mid[k] + half[k] - first.high[k])));
  if (![...low, ...high].every(Number.isFinite)) return;
  data.half = [0, 1].map((k) => (high[k] - low[k]) / 2);
  if (!data.follow) [data.cx, data.cy] = [0, 1].map((k) => [(low[k] + high[k]) / 2]);
  else ["cx", "cy"].forEach((name, k) => { data[name] = data[name].map((v) => v + (low[k] + high[k]) / 2); });
  if (data.floor) data.floor.spacing = niceStep(2 * data.half[0], 9);
  if (data.axes) [["x", 7], ["y", 6]].forEach(([name, parts], k) => {
    const step = niceStep(2 * data.half[k], parts), ticks = [];
    for (let j = Math.ceil(low[k] / step) - 4; j <= Math.floor(high[k] / step) + 4; j++) ticks.push(Number((j * step).toPrecision(6)));
    data.axes[name] = ticks;
  });
}
