// Switches of a motion: signs that change where their functions vanish, or that stay between -1 and 1 and keep them at zero.

// The rate of a switching function with given signs; null where the rates are undetermined.
function surfaceRate(k, t, s, p) {
  const f = ratesWith(t, s, p);
  if (!f) return null;
  const slopes = surfaceSlopesAt(t, s, p), n = s.length + 1;
  let found = slopes[k * n];
  for (let i = 0; i < s.length; i++) found += slopes[k * n + 1 + i] * f[i];
  return found;
}

// The sign between -1 and 1 that keeps a switching function at zero: the mean of the two sides, or 2 where there is none.
function heldSign(k, t, s, p, first) {
  const above = p.slice(), below = p.slice();
  above[first + k] = 1;
  below[first + k] = -1;
  const up = surfaceRate(k, t, s, above), down = surfaceRate(k, t, s, below);
  if (up === null || down === null) return null;
  return up === down ? (up === 0 ? 0 : 2) : (up + down) / (down - up);
}

class SwitchedMotion extends Motion {
  // The signs at a state on switching surfaces: the side to which both signs push, or the surface itself. A message if undecided.
  choose() {
    for (let k = 0; k < SURFACES.length; k++) {
      const v = surfacesAt(this.t, this.s, this.p)[k];
      const line = surfaceSlopesAt(this.t, this.s, this.p), sizes = sizesOf(this.s, this.seen), n = this.s.length;
      let terms = 0;
      for (let i = 0; i < n; i++) terms += Math.abs(line[k * (n + 1) + 1 + i]) * sizes[i];
      if (Math.abs(v) > 1e-13 * terms) continue;
      const message = this.decide(k);
      if (message) return message;
    }
    return "";
  }

  decide(k) {
    const above = this.p.slice(), below = this.p.slice();
    above[this.first + k] = 1;
    below[this.first + k] = -1;
    const up = surfaceRate(k, this.t, this.s, above), down = surfaceRate(k, this.t, this.s, below);
    if (up === null || down === null) return `the equations are singular where ${SURFACES[k]} = 0.`;
    if (up > 0 && down >= 0) this.p = above;
    else if (down < 0 && up <= 0) this.p = below;
    else if (up <= 0 && down >= 0) {
      if (this.held >= 0) return `two switching functions stay at zero together: ${SURFACES[this.held]} and ${SURFACES[k]}.`;
      this.held = k;
    } else this.p = above;
    return "";
  }

  // The parameters and signs, with that of a held switching function; null where it is undetermined.
  signs(t, s) {
    if (this.held < 0) return this.p;
    const sign = heldSign(this.held, t, s, this.p, this.first);
    if (sign === null) return null;
    const p = this.p.slice();
    p[this.first + this.held] = Math.max(-1.5, Math.min(1.5, sign));
    return p;
  }

  // The functions that must not change their sign within a step: switching functions, and the limit of a held sign.
  watched(t, s) {
    const found = Array.from(surfacesAt(t, s, this.p));
    if (this.held >= 0) {
      const sign = heldSign(this.held, t, s, this.p, this.first);
      found[this.held] = sign === null ? 1 : 1 - Math.abs(sign);
    }
    return found;
  }

  crossed(k, before, after) {
    if (k === this.held) return before >= 0 && after < 0;
    return this.p[this.first + k] * after < 0;
  }

  // Handle a crossing: a switch of a sign, or the end of a held one.
  pass(index) {
    if (index < 0) return super.pass();
    if (index === this.held) {
      const sign = heldSign(index, this.t, this.s, this.p, this.first);
      this.held = -1;
      this.p[this.first + index] = Math.sign(sign) || 1;
      return null;
    }
    const old = this.p[this.first + index];
    const message = this.decide(index);
    if (message) return this.finish("left_domain", message);
    if (this.held !== index && this.p[this.first + index] === old) this.p[this.first + index] = -old;
    return null;
  }
}
