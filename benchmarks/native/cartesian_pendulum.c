#define N 4
static inline void rhs(double t, const double *y, const double *p, double *out) {
    double g = p[1], pull = (g * y[1] - y[2] * y[2] - y[3] * y[3]) / (y[0] * y[0] + y[1] * y[1]);
    out[0] = y[2];
    out[1] = y[3];
    out[2] = pull * y[0];
    out[3] = pull * y[1] - g;
}
