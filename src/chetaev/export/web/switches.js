// Switches of a motion: signs that change where their functions vanish, or that stay between -1 and 1 and keep them at zero.

// Relative to the sizes of the rows: a smaller determinant of the rates by the held signs means that these rates depend on each other.
const DEPENDENT = 1e-10;
// Relative to the sizes of terms: smaller values and rates of switching functions count as zero.
const NOTHING = 1e-13, STILL = 1e-12;
// A held sign may be beyond its limit by BEYOND, which is round-off; rates that differ relatively by less than SAME are the same.
const BEYOND = 1e-9, SAME = 1e-9;
// Relative to the duration: times at which a function is read that leaves zero without a rate.
const LATER = [1e-6, 1e-5, 1e-4, 1e-3];
// The largest number of functions that vanish together for which all signs are tried: 243 choices.
const MOST_TRIED = 5;

// The rates of the switching functions `which` with given signs; null where undetermined.
function surfaceRates(which, t, s, p) {
  const f = ratesWith(t, s, p);
  if (!f) return null;
  const slopes = surfaceSlopesAt(t, s, p), n = s.length + 1;
  return which.map((k) => {
    let found = slopes[k * n];
    for (let i = 0; i < s.length; i++) found += slopes[k * n + 1 + i] * f[i];
    return found;
  });
}

// The signs between -1 and 1 that keep switching functions at zero: their rates are affine in the signs. null where there are none.
// A function whose rate is zero with all signs has the sign 0.
function heldSigns(held, t, s, p, first) {
  const n = held.length, width = n + 1, all = p.slice(), slopes = new Float64Array(n * n);
  for (const k of held) all[first + k] = 1;
  const above = surfaceRates(held, t, s, all);
  if (!above) return null;
  for (let j = 0; j < n; j++) {
    all[first + held[j]] = -1;
    const below = surfaceRates(held, t, s, all);
    all[first + held[j]] = 1;
    if (!below) return null;
    for (let i = 0; i < n; i++) slopes[i * n + j] = (above[i] - below[i]) / 2;
  }
  const a = new Float64Array(n * width);
  let size = 1;
  for (let i = 0; i < n; i++) {
    let largest = 0, right = -above[i];
    for (let j = 0; j < n; j++) {
      a[i * width + j] = slopes[i * n + j];
      right += slopes[i * n + j];
      largest = Math.max(largest, Math.abs(slopes[i * n + j]));
    }
    if (largest === 0 && above[i] === 0) largest = a[i * width + i] = 1;
    a[i * width + n] = right;
    size *= largest;
  }
  if (!eliminate(n, width, a) || !(Math.abs(FOUND[0]) > DEPENDENT * size)) return null;
  return held.map((_, i) => a[i * width + n]);
}

class SwitchedMotion extends Motion {
  // The signs at a state on switching surfaces: the sides to which they lead, or the surfaces themselves. A message if undecided.
  choose() {
    const met = this.vanishingNow();
    return met.length ? this.decide(met) : "";
  }

  // The switching functions that are zero here and not held there.
  vanishingNow() {
    const values = surfacesAt(this.t, this.s, this.p), line = surfaceSlopesAt(this.t, this.s, this.p), sizes = sizesOf(this.s, this.seen), n = this.s.length;
    return SURFACES.map((_, k) => k).filter((k) => {
      let terms = 0;
      for (let i = 0; i < n; i++) terms += Math.abs(line[k * (n + 1) + 1 + i]) * sizes[i];
      return !this.held.includes(k) && Math.abs(values[k]) <= NOTHING * terms;
    });
  }

  // Choose the signs of the functions `met`, which vanish here; held signs are open too where no choice leaves them within their limits.
  decide(met) {
    const wide = [...met, ...this.held].sort((a, b) => a - b);
    for (const open of this.held.length ? [met, wide] : [met]) {
      const found = this.agreeing(open);
      if (found.length && (found.length === 1 || this.alike(found))) {
        [this.p, this.held] = [found[0].p, found[0].held];
        return "";
      }
      if (found.length) {
        this.ending = "event";
        return `the motion is not unique where ${this.words(open)} = 0: it may leave to several sides.`;
      }
    }
    return wide.length > 1 ? `no signs are determined while ${this.words(wide)} stay at zero together.` : `no sign of ${this.words(wide)} continues the motion.`;
  }

  words(which) {
    return which.map((k) => SURFACES[k]).join(" and ");
  }

  // The choices of signs of some functions that agree with the motion, those with the fewest held functions.
  agreeing(open) {
    if (open.length > MOST_TRIED) return this.settled(open);
    const options = open.map((k) => { const old = this.p[this.first + k] < 0 ? -1 : 1; return [old, -old, 0]; });
    let choices = [[]];
    for (const option of options) choices = choices.flatMap((choice) => option.map((sign) => [...choice, sign]));
    const count = (choice) => choice.filter((sign) => sign === 0).length;
    for (let holds = 0; holds <= open.length; holds++) {
      const found = choices.filter((choice) => count(choice) === holds).map((choice) => this.configured(open, choice)).filter((one) => this.agrees(one, open));
      if (found.length) return found;
    }
    return [];
  }

  // Many functions: all are held at first, and those whose sign is beyond its limit are left to that side.
  settled(open) {
    const choice = open.map(() => 0);
    for (let turn = 0; turn <= open.length; turn++) {
      const one = this.configured(open, choice), means = one.held.length ? heldSigns(one.held, this.t, this.s, one.p, this.first) : [];
      if (!means) return [];
      const far = open.map((_, i) => i).filter((i) => choice[i] === 0 && Math.abs(means[one.held.indexOf(open[i])]) > 1 + BEYOND);
      if (!far.length) return this.agrees(one, open) ? [one] : [];
      for (const i of far) choice[i] = Math.sign(means[one.held.indexOf(open[i])]);
    }
    return [];
  }

  configured(open, choice) {
    const p = this.p.slice(), held = this.held.filter((k) => !open.includes(k));
    open.forEach((k, i) => {
      if (choice[i]) p[this.first + k] = choice[i];
      else held.push(k);
    });
    return { p, held: held.sort((a, b) => a - b) };
  }

  // Whether functions that are not held leave zero to the sides of their signs, and held signs are within their limits.
  agrees(one, open) {
    if (one.held.length) {
      const means = heldSigns(one.held, this.t, this.s, one.p, this.first);
      if (!means || means.some((mean) => !(Math.abs(mean) <= 1 + BEYOND)) || !this.affine(one)) return false;
      if (means.some((mean, i) => mean === 0 && this.idle(one.held[i], one) && this.leaves(one.held[i], one) !== 0)) return false;
    }
    return open.every((k) => one.held.includes(k) || [0, one.p[this.first + k]].includes(this.leaves(k, one)));
  }

  // Whether the rate of a function is zero with either sign, so that its sign does not keep it at zero.
  idle(k, one) {
    return [1, -1].every((sign) => {
      const p = one.p.slice();
      p[this.first + k] = sign;
      const found = surfaceRates([k], this.t, this.s, p);
      return found !== null && found[0] === 0;
    });
  }

  // Whether the rates of held functions are sums of a part for each sign; products of signs have no mean that is determined.
  affine(one) {
    const read = (...flipped) => {
      const p = one.p.slice();
      for (const k of one.held) p[this.first + k] = flipped.includes(k) ? -1 : 1;
      return surfaceRates(one.held, this.t, this.s, p);
    };
    const none = read(), single = one.held.map((k) => read(k));
    for (let i = 0; i < one.held.length; i++)
      for (let j = 0; j < i; j++) {
        const both = read(one.held[i], one.held[j]);
        if (!none || !both || both.some((v, m) => Math.abs(v - single[i][m] - single[j][m] + none[m]) > SAME * (Math.abs(v) + Math.abs(single[i][m]) + Math.abs(none[m])))) return false;
      }
    return true;
  }

  // The side to which a function leaves zero in the direction of the run: 1, -1, or 0 where it stays or the motion is undetermined.
  leaves(k, one) {
    const f = (t, s, into) => { const p = this.meanSigns(t, s, one); return p && ratesWith(t, s, p, into); };
    const other = one.p.slice(), n = this.s.length + 1;
    other[this.first + k] *= -1;
    const slope = f(this.t, this.s), against = ratesWith(this.t, this.s, other) || slope; // a rate is round-off beside that of the other sign
    if (!slope) return 0;
    const line = Array.from(surfaceSlopesAt(this.t, this.s, one.p).slice(k * n, (k + 1) * n)), sizes = sizesOf(this.s, this.seen);
    let rate = line[0], terms = Math.abs(line[0]), whole = 0;
    for (let i = 0; i + 1 < n; i++) {
      rate += line[i + 1] * slope[i];
      terms += Math.abs(line[i + 1]) * (FROM[i] === 0 ? sizes[PLACE[i]] : Math.max(Math.abs(slope[i]), Math.abs(against[i])));
      whole += Math.abs(line[i + 1]) * sizes[i];
    }
    if (Math.abs(rate) > STILL * terms) return Math.sign(rate) * this.way;
    const first = surfacesAt(this.t, this.s, one.p)[k];
    for (const part of LATER) {
      const h = part * this.span * this.way, inside = stepBy(f, this.t, this.s, h, slope, null, TRIAL);
      const moved = inside ? surfacesAt(this.t + h, inside.y, one.p)[k] - first : NaN;
      if (Math.abs(moved) > STILL * whole) return Math.sign(moved);
    }
    return 0;
  }

  // Whether choices of signs give the same motion.
  alike(found) {
    const all = found.map((one) => { const p = this.meanSigns(this.t, this.s, one); return p && ratesWith(this.t, this.s, p); });
    const largest = all[0] ? Math.max(...all[0].map(Math.abs)) : 0;
    return all.every((f) => f && f.every((v, i) => Math.abs(v - all[0][i]) <= SAME * largest));
  }

  // The parameters and signs, with those of held switching functions; null where they are undetermined.
  meanSigns(t, s, one) {
    if (!one.held.length) return one.p;
    const means = heldSigns(one.held, t, s, one.p, this.first);
    if (!means) return null;
    const p = one.p.slice();
    one.held.forEach((k, i) => { p[this.first + k] = Math.max(-1.5, Math.min(1.5, means[i])); });
    return p;
  }

  signs(t, s) {
    return this.meanSigns(t, s, this);
  }

  // The functions that must not change their sign within a step: switching functions, and the limits of held signs.
  watched(t, s) {
    const found = Array.from(surfacesAt(t, s, this.p));
    if (this.held.length) {
      const means = heldSigns(this.held, t, s, this.p, this.first);
      this.held.forEach((k, i) => { found[k] = means ? 1 - Math.abs(means[i]) : 1; });
    }
    return found;
  }

  crossed(k, before, after) {
    return this.held.includes(k) ? after < 0 : this.p[this.first + k] * after < 0;
  }

  // Handle a crossing: a switch of a sign, or the end of a held one. Other functions may vanish here, and held signs may jump.
  pass(index) {
    if (index < 0) return super.pass();
    const leaving = this.held.indexOf(index), old = this.p[this.first + index];
    if (leaving >= 0) {
      const means = heldSigns(this.held, this.t, this.s, this.p, this.first);
      this.held = this.held.filter((k) => k !== index);
      this.p[this.first + index] = means ? Math.sign(means[leaving]) || 1 : 1;
    }
    const met = this.vanishingNow().filter((k) => k !== index);
    const message = this.decide(leaving >= 0 ? met : [...met, index].sort((a, b) => a - b));
    if (message) return this.finish(this.ending, message);
    if (leaving < 0 && !this.held.includes(index) && this.p[this.first + index] === old) this.p[this.first + index] = -old;
    return null;
  }
}
