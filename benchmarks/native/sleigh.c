#define N 5
static inline void rhs(double t, const double *y, const double *p, double *out) {
    double m = p[0], J = p[1], a = p[2], v = y[3], w = y[4];
    out[0] = v * cos(y[2]);
    out[1] = v * sin(y[2]);
    out[2] = w;
    out[3] = a * w * w;
    out[4] = -m * a * v * w / (J + m * a * a);
}
