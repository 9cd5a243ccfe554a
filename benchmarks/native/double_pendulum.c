#define N 4
static inline void rhs(double t, const double *y, const double *p, double *out) {
    double m1 = p[0], m2 = p[1], l1 = p[2], l2 = p[3], g = p[4], m = m1 + m2;
    double s = sin(y[0] - y[1]), c = cos(y[0] - y[1]);
    double a = -m2 * l2 * y[3] * y[3] * s - m * g * sin(y[0]);
    double b = l1 * y[2] * y[2] * s - g * sin(y[1]);
    double det = m1 + m2 * s * s;
    out[0] = y[2];
    out[1] = y[3];
    out[2] = (a - m2 * c * b) / (l1 * det);
    out[3] = (m * b - c * a) / (l2 * det);
}
