#define N 8
static inline void rhs(double t, const double *y, const double *p, double *out) {
    double m = p[0], R = p[1], I = p[2], J = p[3], g = p[4], rolling = m * R * R;
    double s = sin(y[3]), c = cos(y[3]), turn = y[5], lean = y[6], w = y[7], spin = w + turn * s;
    out[0] = R * spin * cos(y[2]);
    out[1] = R * spin * sin(y[2]);
    out[2] = turn;
    out[3] = lean;
    out[4] = spin;
    out[5] = lean * (2.0 * I * s * turn + J * w) / (I * c);
    out[6] = (m * g * R * s - (J + rolling) * w * c * turn - I * turn * turn * c * s) / (I + rolling);
    out[7] = rolling * c * lean * turn / (J + rolling);
}
