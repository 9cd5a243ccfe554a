// The motion: elimination, projection, completion of starts, and an adaptive Runge-Kutta method of order 8.
// Above this line the file has the formulas of the model: matrixAt, turningAt, residualsAt, slopesAt, energyAt, surfacesAt, surfaceSlopesAt,
// givenAt, eventsAt, resetAt, and the constants that they need. Where the model has switches or events, switches.js and events.js follow.

// Arrays that all evaluations share: allocating a typed array costs more than filling it.
const SCALES = new Float64Array(Math.max(SIZE, OPENED.length, SURFACES.length)), LARGEST = new Float64Array(8);
const FROM = RATES.map(([array]) => array), PLACE = RATES.map(([, k]) => k);
// The determinant of the accelerations and multipliers found last, and the determinants at the stages of the last step.
const LEVELS = new Float64Array(STAGES.length), FOUND = new Float64Array(1);

// Solves n rows in place by elimination with scaled partial pivoting: the last columns of a become the solution. False where singular.
function eliminate(n, width, a) {
  for (let i = 0; i < n; i++) {
    let size = 0;
    for (let j = i * width; j < i * width + n; j++) size = Math.max(size, Math.abs(a[j]));
    SCALES[i] = size;
  }
  let product = 1;
  for (let k = 0; k < n; k++) {
    let best = -1, largest = 0;
    for (let i = k; i < n; i++) {
      const part = Math.abs(a[i * width + k]) / SCALES[i];
      if (part > largest) {
        largest = part;
        best = i;
      }
    }
    if (best < 0) return false;
    const own = k * width;
    if (best !== k) {
      SCALES[best] = SCALES[k];
      product = -product;
      for (let j = k, other = best * width; j < width; j++) {
        const swapped = a[own + j];
        a[own + j] = a[other + j];
        a[other + j] = swapped;
      }
    }
    const pivot = a[own + k];
    product *= pivot;
    for (let i = k + 1; i < n; i++) {
      const row = i * width, factor = a[row + k] / pivot;
      if (factor !== 0) for (let j = k + 1; j < width; j++) a[row + j] -= factor * a[own + j];
    }
  }
  for (let c = n; c < width; c++)
    for (let i = n - 1; i >= 0; i--) {
      const row = i * width;
      let rest = a[row + c];
      for (let j = i + 1; j < n; j++) rest -= a[row + j] * a[j * width + c];
      a[row + c] = rest / a[row + i];
    }
  FOUND[0] = product;
  return true;
}

// The accelerations and multipliers; p holds the parameters and then the signs of the switching functions. null where undetermined.
function solvedWith(t, s, p) {
  const a = matrixAt(t, s, p), open = OPENED.length, width = SIZE + open + 1;
  if (!eliminate(SIZE, width, a)) return null;
  const found = new Array(unknownNames.length).fill(0);
  for (let i = 0; i < SIZE; i++) found[COLUMNS[i]] = a[i * width + width - 1];
  if (open) {
    // redundant constraints: the multipliers of least norm
    const minor = FOUND[0], empty = found.map(() => new Array(open).fill(0)), normal = new Float64Array(open * (open + 1));
    for (let c = 0; c < open; c++) {
      for (let i = 0; i < SIZE; i++) empty[COLUMNS[i]][c] = -a[i * width + SIZE + c];
      empty[OPENED[c]][c] = 1;
    }
    for (let i = 0; i < open; i++)
      for (let j = 0; j <= open; j++)
        for (let m = 0; m < found.length; m++) normal[i * (open + 1) + j] += empty[m][i] * (j < open ? empty[m][j] : found[m]);
    if (!eliminate(open, open + 1, normal)) return null;
    for (let m = 0; m < found.length; m++)
      for (let i = 0; i < open; i++) found[m] -= empty[m][i] * normal[i * (open + 1) + open];
    FOUND[0] = minor;
  }
  return allFinite(found) ? found : null;
}

function allFinite(values) {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) return false;
  return true;
}

// The rates of the state, written into `into` if that is given; null where undetermined.
function ratesWith(t, s, p, into) {
  const solved = solvedWith(t, s, p);
  if (!solved) return null;
  const turning = TURNS ? turningAt(t, s, p, solved) : null, found = into || new Float64Array(s.length);
  for (let i = 0; i < found.length; i++) found[i] = FROM[i] === 0 ? s[PLACE[i]] : FROM[i] === 1 ? solved[PLACE[i]] : turning[PLACE[i]];
  return found;
}

// The parameters followed by the sign of every switching function at a state.
function withModes(t, s, values) {
  const p = [...values, ...new Array(SURFACES.length).fill(0)];
  for (let k = 0; k < SURFACES.length; k++) p[values.length + k] = Math.sign(surfacesAt(t, s, p)[k]);
  return p;
}

// The size of each entry: its own largest value, but no less than a hundredth of the largest of its order.
function sizesOf(s, seen) {
  const found = new Float64Array(s.length);
  LARGEST.fill(0);
  for (let i = 0; i < s.length; i++) {
    found[i] = Math.max(Math.abs(s[i]), seen ? seen[i] : 0);
    const order = Math.min(ORDERS[i], 7);
    if (found[i] > LARGEST[order]) LARGEST[order] = found[i];
  }
  for (let i = 0; i < s.length; i++) found[i] = Math.max(found[i], 1e-2 * LARGEST[Math.min(ORDERS[i], 7)]) || 1;
  return found;
}

// The residuals of the constraints and of held surfaces, their slopes, the size of the terms of each row, and the worst relative residual.
function rowsAt(t, s, p, held, sizes) {
  const n = s.length, residual = residualsAt(t, s, p), terms = [];
  let slopes = slopesAt(t, s, p), worst = 0;
  if (held.length) {
    slopes = Array.from(slopes);
    const values = surfacesAt(t, s, p), line = surfaceSlopesAt(t, s, p);
    for (const k of held) {
      residual.push(values[k]);
      for (let i = 0; i < n; i++) slopes.push(line[k * (n + 1) + 1 + i]);
    }
  }
  for (let r = 0; r < residual.length; r++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += Math.abs(slopes[r * n + i]) * sizes[i];
    terms.push(sum || 1);
    worst = Math.max(worst, Math.abs(residual[r]) / terms[r]);
  }
  return { residual, slopes, terms, worst };
}

// The relative residual of constraints that counts as zero: round-off of the terms of a row. A smaller one only costs iterations.
const CLOSED = 1e-14;

// Moves the entries of s that are not fixed onto the constraints by the smallest relative change; false if that fails.
function settle(t, s, p, held, fixed, seen) {
  if (!constraintNames.length && !held.length) {
    renormalise(s);
    return allFinite(s);
  }
  for (let turn = 0; turn < 25; turn++) {
    const sizes = sizesOf(s, seen), rows = rowsAt(t, s, p, held, sizes), n = s.length, m = rows.residual.length;
    if (!(rows.worst < Infinity)) return false;
    if (rows.worst < CLOSED) return true;
    const a = new Float64Array(m * n);
    if (fixed) for (let i = 0; i < n; i++) if (fixed[i]) sizes[i] = 0;
    for (let r = 0; r < m; r++) {
      rows.residual[r] /= rows.terms[r];
      for (let i = 0; i < n; i++) a[r * n + i] = (rows.slopes[r * n + i] * sizes[i]) / rows.terms[r];
    }
    const step = leastNorm(a, rows.residual, n);
    let moved = 0;
    for (let i = 0; i < n; i++) {
      s[i] -= sizes[i] * step[i];
      moved = Math.max(moved, Math.abs(step[i]));
    }
    renormalise(s);
    if (moved < 1e-15 || (turn > 3 && moved < 1e-13)) break;
  }
  return rowsAt(t, s, p, held, sizesOf(s, seen)).worst < 1e-9;
}

// The solution of a x = b of least norm, by orthogonalised rows of n entries; dependent rows are skipped. Changes a and b.
function leastNorm(a, b, n) {
  const m = b.length, x = new Float64Array(n), whole = [], done = [];
  const square = (r) => {
    let sum = 0;
    for (let i = r * n; i < (r + 1) * n; i++) sum += a[i] * a[i];
    return sum;
  };
  for (let r = 0; r < m; r++) {
    whole.push(square(r));
    done.push(whole[r] === 0);
  }
  for (let k = 0; k < Math.min(m, n); k++) {
    let best = -1, largest = 1e-20;
    for (let r = 0; r < m; r++) {
      const rest = done[r] ? 0 : square(r) / whole[r];
      if (rest > largest) { largest = rest; best = r; }
    }
    if (best < 0) break;
    done[best] = true;
    const size = Math.sqrt(square(best)), own = best * n, c = b[best] / size;
    for (let i = 0; i < n; i++) {
      a[own + i] /= size;
      x[i] += c * a[own + i];
    }
    for (let r = 0; r < m; r++)
      if (!done[r]) {
        let share = 0;
        for (let i = 0; i < n; i++) share += a[r * n + i] * a[own + i];
        for (let i = 0; i < n; i++) a[r * n + i] -= share * a[own + i];
        b[r] -= share * c;
      }
  }
  return x;
}

function norm(line) {
  let sum = 0;
  for (const v of line) sum += v * v;
  return Math.sqrt(sum);
}

function renormalise(s) {
  for (const places of QUATERNIONS) {
    const size = norm(places.map((i) => s[i]));
    if (size > 0) for (const i of places) s[i] /= size;
  }
}

// The slopes of the stages of a step, including those of the interpolation: one set for the step, one for trials inside it.
const [STEP, TRIAL] = [0, 1].map(() => Array.from({ length: STAGES.length + 1 + INSIDE.length }, () => new Float64Array(stateNames.length)));

// s + h times the weighted sum of slopes.
function movedBy(s, h, k, from, weights, into) {
  into.set(s);
  for (let j = 0; j < from.length; j++) {
    const slope = k[from[j]], w = h * weights[j];
    for (let i = 0; i < into.length; i++) into[i] += w * slope[i];
  }
}

// One step of the method, from the slope `first`: the state after h, and its error relative to the sizes. The slopes of its stages are in k.
function stepBy(f, t, s, h, first, sizes, k) {
  const n = s.length, moved = new Float64Array(n), y = new Float64Array(n);
  k[0].set(first);
  for (let stage = 1; stage < STAGES.length; stage++) {
    movedBy(s, h, k, STAGES[stage][0], STAGES[stage][1], moved);
    if (!f(t + NODES[stage] * h, moved, k[stage])) return null;
    LEVELS[stage] = FOUND[0];
  }
  movedBy(s, h, k, WEIGHTS[0], WEIGHTS[1], y);
  if (!sizes) return { y, error: 0 };
  let fifth = 0, third = 0;
  for (let i = 0; i < n; i++) {
    let five = 0, three = 0;
    for (let j = 0; j < FIFTH[0].length; j++) five += FIFTH[1][j] * k[FIFTH[0][j]][i];
    for (let j = 0; j < THIRD[0].length; j++) three += THIRD[1][j] * k[THIRD[0][j]][i];
    const size = Math.max(sizes[i], Math.abs(y[i]));
    fifth += (five / size) ** 2;
    third += (three / size) ** 2;
  }
  const below = fifth + 0.01 * third;
  return { y, error: below > 0 ? (Math.abs(h) * fifth) / Math.sqrt(n * below) : 0 };
}

// The polynomial of order 7 of the last step of stepBy with STEP, as a function of the fraction of the step; null if a stage has no rates.
function insideOf(f, t, s, h, end) {
  const n = s.length, k = STEP, moved = new Float64Array(n), rows = [0, 1, 2, 3, 4, 5, 6].map(() => new Float64Array(n));
  const last = STAGES.length;
  if (!f(t + h, end, k[last])) return null;
  for (let j = 0; j < INSIDE.length; j++) {
    const [node, from, weights] = INSIDE[j];
    movedBy(s, h, k, from, weights, moved);
    if (!f(t + node * h, moved, k[last + 1 + j])) return null;
  }
  for (let i = 0; i < n; i++) {
    rows[0][i] = end[i] - s[i];
    rows[1][i] = h * k[0][i] - rows[0][i];
    rows[2][i] = 2 * rows[0][i] - h * (k[last][i] + k[0][i]);
  }
  for (let m = 0; m < ROWS.length; m++) movedBy(rows[3 + m], h, k, ROWS[m][0], ROWS[m][1], rows[3 + m]);
  return (part) => {
    const found = [], rest = 1 - part;
    for (let i = 0; i < n; i++) {
      const high = rows[3][i] + part * (rows[4][i] + rest * (rows[5][i] + part * rows[6][i]));
      found.push(s[i] + part * (rows[0][i] + rest * (rows[1][i] + part * (rows[2][i] + rest * high))));
    }
    return found;
  };
}

// A point between a and b where a function with one minimum is not positive, by golden sections; null if there is none.
function lowest(read, a, b) {
  const golden = (Math.sqrt(5) - 1) / 2, span = b - a;
  let left = b - golden * (b - a), right = a + golden * (b - a), low = read(left), high = read(right);
  while (low > 0 && high > 0 && b - a > 1e-9 * span) {
    if (low < high) {
      [b, right, high] = [right, left, low];
      left = b - golden * (b - a);
      low = read(left);
    } else {
      [a, left, low] = [left, right, high];
      right = a + golden * (b - a);
      high = read(right);
    }
  }
  return low <= 0 ? left : high <= 0 ? right : null;
}

// Relative to its largest value in a step: a determinant that falls below DIP at a stage may vanish nearby; below ZERO it does.
const DIP = 0.1, ZERO = 1e-14;

// The fraction of the tolerance that a step may use, so that the errors of many steps stay below it.
const SAFETY = 0.25;

// Throws for times that are not in the interval, or not in the order in which the motion reaches them.
function requireInside(times, [begin, end]) {
  const way = Math.sign(end - begin) || 1, slack = 1e-12 * Math.max(Math.abs(begin), Math.abs(end));
  times.forEach((t, k) => {
    if (!((t - begin) * way >= -slack) || !((end - t) * way >= -slack)) throw new Error(`simulate: the time ${t} is not between ${begin} and ${end}.`);
    if (k && (t - times[k - 1]) * way < 0) throw new Error(`simulate: the time ${t} comes before ${times[k - 1]} on the way from ${begin} to ${end}.`);
  });
}

class Motion {
  constructor(options) {
    this.values = parametersFrom(options.parameters);
    this.first = this.values.length;
    this.interval = Array.from(options.t || interval, Number);
    this.tolerance = options.tolerance === undefined ? tolerance : Number(options.tolerance);
    this.times = options.times ? Array.from(options.times, Number) : null;
    this.dense = Boolean(options.dense); // states at the wanted times by interpolation: faster, and off the constraints by the error of a step
    this.nodes = { t: [], states: [] };
    this.stop = options.stop || null; // asked at every step; true ends the motion
    this.most = options.maxSteps === undefined ? MAX_STEPS || 100000 : Number(options.maxSteps);
    this.longest = options.maxStep === undefined ? MAX_STEP || Infinity : Number(options.maxStep);
    if (!(this.tolerance > 0) || this.interval.length !== 2 || !this.interval.every(Number.isFinite))
      throw new Error("simulate: t is a pair of times and tolerance a positive number.");
    if (!(this.most > 0) || !(this.longest > 0)) throw new Error("simulate: maxSteps and maxStep are positive numbers.");
    requireInside(this.times || [], this.interval);
    this.t = this.interval[0];
    this.way = Math.sign(this.interval[1] - this.interval[0]) || 1;
    this.span = Math.abs(this.interval[1] - this.interval[0]);
    this.s = completed(options.start, this.values, this.t, this.interval[0]);
    this.p = withModes(this.t, this.s, this.values);
    this.held = []; // the switching functions that stay at zero
    this.ending = "left_domain"; // the outcome where signs are undecided
    this.kept = { t: [], states: [] };
    this.events = [];
    this.wanted = 0;
    this.seen = Array.from(this.s, Math.abs);
  }

  // Signs at the start; a message if they are undecided.
  choose() {
    return "";
  }

  // The parameters and signs; null where a sign is undetermined.
  signs() {
    return this.p;
  }

  rates(t, s, into) {
    const p = this.signs(t, s);
    return p && ratesWith(t, s, p, into);
  }

  // Events at the start; a result if one of them ends the motion.
  begin() {
    return null;
  }

  // The functions that must not change their sign within a step: switching functions, then functions of events.
  watched() {
    return [];
  }

  // The signs of these functions where the next step begins.
  starting() {
    return this.watched(this.t, this.s);
  }

  // The fractions of a step at which watched functions are evaluated.
  samples() {
    return [0.25, 0.5, 0.75, 1];
  }

  keep(t, s) {
    if (this.dense) {
      this.nodes.t.push(t);
      this.nodes.states.push(Array.from(s));
    }
    if (!this.times) {
      this.kept.t.push(t);
      this.kept.states.push(Array.from(s));
    }
  }

  // States at wanted times inside an accepted step from (t, s) by h.
  keepWanted(t, s, h, slope, f, whole, taken) {
    if (this.dense && this.wanted < this.times.length && (this.times[this.wanted] - t - h) * Math.sign(h) <= 0) {
      const inside = insideOf(f, t, s, whole, taken.y);
      while (inside && this.wanted < this.times.length && (this.times[this.wanted] - t - h) * Math.sign(h) <= 0) {
        this.kept.t.push(this.times[this.wanted]);
        this.kept.states.push(inside((this.times[this.wanted] - t) / whole));
        this.wanted += 1;
      }
    }
    while (this.times && this.wanted < this.times.length && (this.times[this.wanted] - t - h) * Math.sign(h) <= 0) {
      const part = this.times[this.wanted] - t, inside = part === 0 ? { y: Float64Array.from(s) } : stepBy(f, t, s, part, slope, null, TRIAL);
      if (inside) {
        settle(t + part, inside.y, this.p, this.held, null, this.seen);
        this.kept.t.push(this.times[this.wanted]);
        this.kept.states.push(Array.from(inside.y));
      }
      this.wanted += 1;
    }
  }

  run() {
    const [begin, end] = this.interval, way = this.way, f = (t, s, into) => this.rates(t, s, into);
    const trouble = this.choose();
    if (trouble) return this.finish(this.ending, trouble);
    this.keep(this.t, this.s);
    const ended = this.begin();
    if (ended) return ended;
    let h = 0, wide = 0;
    for (let steps = 0; steps < this.most; steps++) {
      if ((end - this.t) * way <= 0) return this.finish("finished", "the end of the interval was reached.");
      if (this.stop && this.stop()) return this.finish("interrupted", `it was stopped at t = ${this.t}.`);
      const slope = f(this.t, this.s);
      if (!slope) return this.finish("left_domain", "the equations do not determine the motion here.");
      const sizes = sizesOf(this.s, this.seen);
      if (h === 0) h = way * this.opening(slope, sizes, Math.abs(end - this.t));
      let taken = null;
      const level = (LEVELS[0] = FOUND[0]);
      wide = wide || level;
      for (;;) {
        if (Math.abs(h) > this.longest) h = way * this.longest;
        if (Math.abs(h) > Math.abs(end - this.t)) h = end - this.t;
        if (Math.abs(h) < 1e-14 * Math.max(Math.abs(this.t), Math.abs(end - begin))) {
          const lost = taken === null;
          if (Math.abs(level) < 1e-4 * Math.abs(wide)) return this.finish("left_domain", `the equations become singular at t = ${this.t}.`);
          return this.finish(lost ? "left_domain" : "step_too_small", `no step can be made at t = ${this.t}.`);
        }
        taken = stepBy(f, this.t, this.s, h, slope, sizes, STEP);
        // if there are several minors, use another one if this one vanishes
        if (!OPENED.length && LEVELS.some((v) => v * level < 0)) taken = null;
        const error = taken ? taken.error / (SAFETY * this.tolerance) : Infinity;
        if (error <= 1) break;
        h *= Number.isFinite(error) ? Math.max(0.2, 0.9 * error ** -0.125) : 0.25;
        if (!Number.isFinite(error)) taken = null;
      }
      const met = this.firstOf(this.vanishing(f, slope, h), this.firstCrossing(f, slope, h, taken.y)), made = met ? met.part : h;
      const next = met ? met.y : taken.y, last = !met && this.t + h === end;
      this.keepWanted(this.t, this.s, made, slope, f, h, taken);
      this.t = last || Math.abs(end - this.t - made) < 1e-15 * Math.abs(end) ? end : this.t + made;
      this.s = next;
      if (!settle(this.t, this.s, this.p, this.held, null, this.seen))
        return this.finish("drift_exceeded", "the state cannot be brought back onto the constraints.");
      for (let i = 0; i < this.seen.length; i++) this.seen[i] = Math.max(this.seen[i], Math.abs(this.s[i]));
      this.keep(this.t, this.s);
      if (met) {
        const stop = this.pass(met.index);
        if (stop) return stop;
        h = 0;
      } else if (h !== 0) h *= Math.min(5, Math.max(0.3, 0.9 * Math.max(taken.error / (SAFETY * this.tolerance), 1e-8) ** -0.125));
    }
    return this.finish("step_too_small", `${this.most} steps did not reach the end.`);
  }

  opening(slope, sizes, span) {
    let rate = 0, size = 0;
    for (let i = 0; i < slope.length; i++) {
      rate += (slope[i] / sizes[i]) ** 2;
      size += (this.s[i] / sizes[i]) ** 2;
    }
    const guess = rate > 0 && size > 0 ? 0.01 * Math.sqrt(size / rate) : 1e-3 * span;
    return Math.min(span, guess);
  }

  firstOf(a, b) {
    return a && b && Math.abs(b.part) < Math.abs(a.part) ? b : a || b;
  }

  // Where the determinant vanishes inside a step without changing its sign, as it does where a constraint loses its rank.
  vanishing(f, slope, h) {
    let largest = 0, least = Infinity, place = 0;
    for (let k = 0; k < LEVELS.length; k++) {
      const size = Math.abs(LEVELS[k]);
      largest = Math.max(largest, size);
      if (size < least) { least = size; place = NODES[k]; }
    }
    if (OPENED.length || !(least < DIP * largest && largest < Infinity)) return null;
    const at = (part) => stepBy(f, this.t, this.s, part * h, slope, null, TRIAL), zero = Math.min(ZERO * largest, 1e-3 * least);
    const read = (part) => {
      const inside = at(part);
      return inside && f(this.t + part * h, inside.y) ? Math.abs(FOUND[0]) - zero : Infinity;
    };
    const found = lowest(read, Math.max(0, ...NODES.filter((c) => c < place)), Math.min(1, ...NODES.filter((c) => c > place)));
    return found === null ? null : { index: -1, part: found * h, y: at(found).y };
  }

  // The first crossing inside a step, located by a bracketed secant method; each trial is a separate step.
  firstCrossing(f, slope, h, end) {
    if (!SURFACES.length && !EVENTS.length) return null;
    const before = this.starting();
    const at = (part) => (part === 1 ? { y: end } : stepBy(f, this.t, this.s, part * h, slope, null, TRIAL));
    let low = 0;
    for (const part of this.samples(at, h)) {
      const inside = at(part);
      if (!inside) return null;
      const after = this.watched(this.t + part * h, inside.y), hits = [];
      for (let k = 0; k < before.length; k++) if (this.crossed(k, before[k], after[k])) hits.push(this.located(k, at, h, low, part, after[k]));
      if (hits.length) return hits.reduce(this.firstOf);
      low = part;
    }
    return null;
  }

  located(k, at, h, low, high, value) {
    const read = (part) => this.watched(this.t + part * h, at(part).y)[k];
    let a = low, b = high, va = low === 0 ? this.starting()[k] : read(low), vb = value;
    for (let turn = 0; turn < 80 && Math.abs(b - a) > 4e-16; turn++) {
      const secant = va === vb ? (a + b) / 2 : b - (vb * (b - a)) / (vb - va);
      const inside = turn % 3 < 2 && secant > a && secant < b ? secant : (a + b) / 2;
      const v = read(inside);
      if (v * vb > 0 || v === 0) { b = inside; vb = v; } else { a = inside; va = v; }
      if (v === 0) break;
    }
    return { index: k, part: b * h, y: at(b).y };
  }

  // Handle a crossing; returns a result if the motion ends. Index -1 is a singularity.
  pass() {
    return this.finish("left_domain", `the equations become singular at t = ${this.t}.`);
  }

  finish(outcome, message) {
    if (outcome === "finished" && this.times) this.keepLast();
    const found = { ...this.kept, outcome, message, events: this.events };
    return this.dense ? { ...found, nodes: this.nodes } : found;
  }

  keepLast() {
    while (this.wanted < this.times.length && Math.abs(this.times[this.wanted] - this.t) <= 1e-12 * Math.max(1, Math.abs(this.t))) {
      this.kept.t.push(this.times[this.wanted]);
      this.kept.states.push(Array.from(this.s));
      this.wanted += 1;
    }
  }
}

// A complete state: given values, replaced by name, and the other values moved onto the constraints.
function completed(replaced, values, t) {
  const fixed = new Array(stateNames.length).fill(false), s = Float64Array.from(start), given = givenAt(values);
  GIVEN.forEach((i, k) => { s[i] = given[k]; fixed[i] = true; });
  for (const [key, value] of Object.entries(replaced || {})) {
    const i = stateNames.indexOf(key);
    if (i < 0) throw new Error(`${key} is not in the state: ${stateNames.join(" ")}.`);
    if (!Number.isFinite(Number(value))) throw new Error(`${key} is not a finite number.`);
    s[i] = Number(value);
    fixed[i] = true;
  }
  renormalise(s);
  const p = withModes(t, s, values);
  if (!settle(t, s, p, [], fixed, null)) throw new Error("the start contradicts the constraints.");
  return s;
}

function parametersFrom(replaced) {
  const values = Array.isArray(replaced) || ArrayBuffer.isView(replaced) ? Array.from(replaced, Number) : parameterNames.map((key) => parameters[key]);
  if (values.length !== parameterNames.length) throw new Error(`there are ${parameterNames.length} parameters.`);
  if (replaced && !Array.isArray(replaced) && !ArrayBuffer.isView(replaced))
    for (const [key, value] of Object.entries(replaced)) {
      const i = parameterNames.indexOf(key);
      if (i < 0) throw new Error(`${key} is not a parameter: ${parameterNames.join(" ")}.`);
      values[i] = Number(value);
    }
  if (!values.every(Number.isFinite)) throw new Error("a parameter is not a finite number.");
  return values;
}

function signed(t, state, values) {
  return withModes(t, state, parametersFrom(values));
}

// The rates of the state, in the order of stateNames; null where the motion is not determined.
export function rates(t, state, values) {
  const found = ratesWith(t, state, signed(t, state, values));
  return found && Array.from(found);
}

// The accelerations and multipliers, in the order of unknownNames; null where they are not determined.
export function unknowns(t, state, values) {
  return solvedWith(t, state, signed(t, state, values));
}

// The residuals of the constraints, which vanish on every state of a motion, in the order of constraintNames.
export function constraints(t, state, values) {
  return Array.from(residualsAt(t, state, signed(t, state, values)));
}

// The nearest state that satisfies the constraints; null if none is found.
export function project(t, state, values) {
  const s = Float64Array.from(state);
  return settle(t, s, signed(t, state, values), [], null, null) ? Array.from(s) : null;
}

export function energy(t, state, values) {
  const p = signed(t, state, values), solved = ENERGY_NEEDS ? solvedWith(t, state, p) : [];
  return solved ? energyAt(t, state, p, solved) : NaN;
}

// The motion: t, states, outcome, message, events. Values in start and parameters replace those of the model by name.
export function simulate(options) {
  return new (EVENTS.length ? EventMotion : SURFACES.length ? SwitchedMotion : Motion)(options || {}).run();
}
