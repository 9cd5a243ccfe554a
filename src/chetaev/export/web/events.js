// Events of a motion: roots of functions, which may end it or give the state new values.

// Relative to the duration: events closer than AT_ONCE are simultaneous; events that recur within TOO_SOON accumulate.
const AT_ONCE = 1e-12, TOO_SOON = 1e-9, IN_A_ROW = 3;
// Relative to the terms of the function of an event: smaller values count as zero.
const ON_SURFACE = 1e-12, LOWEST = 64 * 2 ** -52;

class EventMotion extends (SURFACES.length ? SwitchedMotion : Motion) {
  constructor(options) {
    super(options);
    this.sides = EVENTS.map(() => 0); // on which side of a root the next step begins, where the value itself is round-off
    this.recent = EVENTS.map(() => []); // the last times of each event
  }

  // The functions of all events; NaN where the motion is undetermined.
  functions(t, s) {
    const p = this.signs(t, s), solved = p && solvedWith(t, s, p);
    return solved ? eventsAt(t, s, p, solved) : EVENTS.map(() => NaN);
  }

  watched(t, s) {
    return [...super.watched(t, s), ...this.functions(t, s)];
  }

  starting() {
    const found = this.watched(this.t, this.s);
    this.sides.forEach((side, j) => {
      const k = SURFACES.length + j;
      if (side && Math.sign(found[k]) !== side) found[k] = side * 1e-300;
    });
    return found;
  }

  crossed(k, before, after) {
    if (k < SURFACES.length) return super.crossed(k, before, after);
    const direction = EVENTS[k - SURFACES.length].direction;
    if (before === 0 || !(Math.sign(before) * Math.sign(after) <= 0)) return false;
    return direction === 0 || Math.sign(after - before) === direction;
  }

  // The duration of a displacement along the motion that is small, and still far above round-off.
  little(s, f) {
    const sizes = sizesOf(s, this.seen);
    let fastest = 0;
    for (let i = 0; i < s.length; i++) fastest = Math.max(fastest, Math.abs(f[i]) / sizes[i]);
    return Math.min(1e-4 / fastest, 1e-4 * this.span);
  }

  // The change of a list of numbers with time, along the straight line in which a state moves.
  change(t, s, read) {
    const f = this.rates(t, s);
    if (!f) return EVENTS.map(() => NaN);
    const d = this.little(s, f), [up, down] = [d, -d].map((h) => read(t + h, Float64Array.from(s, (v, i) => v + h * f[i])));
    return up.map((v, j) => (v - down[j]) / (2 * d));
  }

  // The rates of the functions of all events, per time of the run.
  speeds(t, s) {
    return this.change(t, s, (when, where) => this.functions(when, where)).map((rate) => rate * this.way);
  }

  accelerations(t, s) {
    return this.change(t, s, (when, where) => this.speeds(when, where)).map((rate) => rate * this.way);
  }

  // The functions of all events here, their rates, the sizes of their terms now and over the run, and whether they depend on velocities.
  survey() {
    const now = this.functions(this.t, this.s), sizes = sizesOf(this.s, this.seen);
    const terms = EVENTS.map(() => 0), largest = EVENTS.map(() => 0), moving = EVENTS.map(() => false);
    for (let i = 0; i < this.s.length; i++) {
      const other = Float64Array.from(this.s), part = 1e-6 * sizes[i];
      other[i] += part;
      this.functions(this.t, other).forEach((v, j) => {
        const slope = Math.abs(v - now[j]) / part;
        terms[j] += slope * Math.abs(this.s[i]);
        largest[j] += slope * sizes[i];
        if (slope > 0 && ORDERS[i] > 0) moving[j] = true;
      });
    }
    return { now, terms, largest, moving, speeds: this.speeds(this.t, this.s) };
  }

  // Record on which side of its root the function of each event begins the next step.
  place() {
    const at = this.survey();
    this.sides = EVENTS.map((_, j) => (this.vanishes(at, j) ? Math.sign(at.speeds[j]) || 0 : 0));
    return at;
  }

  vanishes(at, j) {
    return Math.abs(at.now[j]) <= Math.max(ON_SURFACE * at.largest[j], AT_ONCE * this.span * Math.abs(at.speeds[j]));
  }

  // An event with a direction is met at the start where the motion passes its root; velocities may be zero because the motion starts at rest.
  begin() {
    const at = this.place(), met = [];
    EVENTS.forEach((event, j) => {
      const passes = event.direction * at.speeds[j] > 0 && this.vanishes(at, j);
      if (passes && (event.reset.length || !at.moving[j])) met.push(j);
    });
    return met.length ? this.happen(met, at) : null;
  }

  // The usual fractions of a step, and those at which a function that approaches zero and turns back has crossed it.
  samples(at, h) {
    const parts = [0, ...super.samples()], states = parts.map((part) => (part ? at(part) : { y: this.s }));
    if (states.some((state) => !state)) return super.samples();
    const values = states.map((state, k) => this.functions(this.t + parts[k] * h, state.y));
    values[0] = this.starting().slice(SURFACES.length);
    const speeds = states.map((state, k) => this.speeds(this.t + parts[k] * h, state.y)), more = [];
    for (let k = 0; k + 1 < parts.length; k++)
      for (let j = 0; j < EVENTS.length; j++) {
        const side = Math.sign(values[k][j]);
        if (!side || side !== Math.sign(values[k + 1][j]) || side * speeds[k][j] >= 0 || side * speeds[k + 1][j] <= 0) continue;
        const read = (part) => { const inside = at(part); return inside ? side * this.functions(this.t + part * h, inside.y)[j] : Infinity; };
        const found = lowest(read, parts[k], parts[k + 1]);
        if (found !== null) more.push(found);
      }
    return [...parts.slice(1), ...more].sort((a, b) => a - b);
  }

  // Handle a crossing: a switch, or an event and all simultaneous ones.
  pass(index) {
    if (index < SURFACES.length) {
      const ended = super.pass(index);
      this.place();
      return ended;
    }
    const at = this.survey(), met = [];
    EVENTS.forEach((event, j) => {
      const near = Math.abs(at.now[j]) <= AT_ONCE * this.span * Math.abs(at.speeds[j]), again = Math.abs(this.t - this.recent[j].at(-1)) <= AT_ONCE * this.span;
      const passes = at.speeds[j] && (!event.direction || event.direction * at.speeds[j] > 0);
      if (j === index - SURFACES.length || (near && passes && !again)) met.push(j);
    });
    return this.happen(met, at);
  }

  // Apply simultaneous events: the first new value of a jet counts, and all are computed from the previous state.
  happen(met, before) {
    for (const j of met) {
      this.events.push({ t: this.t, text: EVENTS[j].text });
      this.recent[j] = [...this.recent[j].slice(-IN_A_ROW), this.t];
    }
    const last = met.find((j) => EVENTS[j].terminal);
    if (last !== undefined) return this.finish("event", `${EVENTS[last].text} = 0 at t = ${this.t}.`);
    const solved = solvedWith(this.t, this.s, this.signs(this.t, this.s) || this.p) || [], fresh = new Map();
    for (const j of met) {
      const values = resetAt(j, this.t, this.s, this.p, solved);
      EVENTS[j].reset.forEach((i, k) => { if (!fresh.has(i)) fresh.set(i, values[k]); });
    }
    if (!fresh.size) {
      this.place();
      return null;
    }
    return this.reset(met, fresh, before);
  }

  reset(met, fresh, before) {
    const least = Math.min(...Array.from(fresh.keys(), (i) => ORDERS[i])), fixed = ORDERS.map((order, i) => order < least || fresh.has(i));
    for (const [i, value] of fresh) this.s[i] = value;
    if (!settle(this.t, this.s, this.p, [], fixed, this.seen)) throw new Error(`the reset at ${EVENTS[met[0]].text} = 0 contradicts the constraints.`);
    this.held = [];
    this.p = withModes(this.t, this.s, this.values);
    const trouble = this.choose();
    if (trouble) return this.finish(this.ending, trouble);
    const after = this.place(), endless = met.find((j) => EVENTS[j].reset.length && this.accumulates(j, before, after));
    if (endless !== undefined)
      return this.finish("step_too_small", `events ${EVENTS[endless].text} = 0 follow each other without end near t = ${this.t}.`);
    this.keep(this.t, this.s);
    return null;
  }

  // Whether a reset sends the motion back to the root after a time, or from a height, that is round-off.
  accumulates(j, before, after) {
    const times = this.recent[j], gaps = times.slice(1).map((t, k) => Math.abs(t - times[k]));
    if (gaps.length >= IN_A_ROW && gaps.every((gap) => gap < TOO_SOON * this.span)) return true;
    const old = before.speeds[j], speed = after.speeds[j], fires = EVENTS[j].direction || Math.sign(old);
    if (Math.abs(after.now[j]) > 10 * Math.abs(before.now[j]) + TOO_SOON * this.span * Math.abs(old)) return false;
    const stopped = Math.abs(speed) <= 1e-11 * Math.abs(old), pull = fires * this.accelerations(this.t, this.s)[j];
    if (!(stopped || fires * speed < 0) || !(pull > 0)) return false;
    return stopped || 2 * Math.abs(speed) < TOO_SOON * this.span * pull || speed ** 2 <= 2 * pull * LOWEST * after.terms[j];
  }
}
