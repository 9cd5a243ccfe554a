#define N 7
static inline void rhs(double t, const double *y, const double *p, double *out) {
    double pull = p[0] * p[1] * p[2], I = p[3], J = p[4], w = y[0], x = y[1], u = y[2], z = y[3], a = y[4], b = y[5], c = y[6];
    out[0] = -0.5 * (x * a + u * b + z * c);
    out[1] = 0.5 * (w * a + u * c - z * b);
    out[2] = 0.5 * (w * b + z * a - x * c);
    out[3] = 0.5 * (w * c + x * b - u * a);
    out[4] = ((I - J) * b * c + pull * 2.0 * (u * z + w * x)) / I;
    out[5] = ((J - I) * a * c - pull * 2.0 * (x * z - w * u)) / I;
    out[6] = 0.0;
}
