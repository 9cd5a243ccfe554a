#define N 5
static inline void rhs(double t, const double *y, const double *p, double *out) {
    double m = p[0], R = p[1], I = p[2], J = p[3], p1 = p[4], p2 = p[5], p3 = p[6], s = sin(y[3]), c = cos(y[3]);
    double spin = (p3 + R * (p1 * c + p2 * s)) / (I + m * R * R);
    out[0] = R * spin * c;
    out[1] = R * spin * s;
    out[2] = spin;
    out[3] = y[4];
    out[4] = R * spin * (p1 * s - p2 * c) / J;
}
