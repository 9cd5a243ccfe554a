/* A tractor with TRAILERS trailers: x, y, headings, speed and spin of the tractor. p: masses, inertias, lengths of the bars. */
#define N (TRAILERS + 5)
static inline void rhs(double t, const double *y, const double *p, double *out) {
    const double *m = p, *J = p + TRAILERS + 1, *d = p + 2 * TRAILERS + 1;
    double v = y[TRAILERS + 3], w = y[TRAILERS + 4], speed = 1, change = 0, before = w, total = m[0], growth = 0;
    out[0] = v * cos(y[2]);
    out[1] = v * sin(y[2]);
    out[2] = w;
    for (int k = 1; k <= TRAILERS; k++) {
        double s = sin(y[k + 1] - y[k + 2]), c = cos(y[k + 1] - y[k + 2]);
        double turn = speed * s / d[k], bend = before - v * turn, turn_change = (change * s + speed * c * bend) / d[k];
        change = change * c - speed * s * bend;
        speed *= c;
        before = v * turn;
        out[k + 2] = before;
        total += m[k] * speed * speed + J[k] * turn * turn;
        growth += m[k] * speed * change + J[k] * turn * turn_change;
    }
    out[TRAILERS + 3] = -v * growth / total;
    out[TRAILERS + 4] = 0;
}
