#define N 7
static inline void rhs(double t, const double *y, const double *p, double *out) {
    double I = p[0], J = p[1], M = p[2], K = p[3], a = p[4];
    double s = sin(y[2]), c = cos(y[2]), rolling = y[5], turning = y[6], slower = -a * s * s / (M + I * c);
    out[0] = rolling;
    out[1] = turning;
    out[2] = turning - s / c * (slower + a / M) / rolling;
    out[3] = rolling * cos(y[1] - y[2]);
    out[4] = rolling * sin(y[1] - y[2]);
    out[5] = slower;
    out[6] = -K * y[2] / J;
}
