/* DOP853 of Hairer, Norsett, Wanner as one would write it in C for one system: dimension and right-hand side known at compile time.
   SYSTEM is the file with N and rhs; stages.h holds the sums of the tableau, written out. */
#include <math.h>
#include <string.h>
#include SYSTEM

void right_hand_side(double t, const double *y, const double *p, double *out) { rhs(t, y, p, out); }

static double norm(const double *x, const double *y, double rtol, double atol) {
    double total = 0.0;
    for (int j = 0; j < N; j++) {
        double u = x[j] / (atol + rtol * fabs(y[j]));
        total += u * u;
    }
    return sqrt(total / N);
}

static double first_step(double t, double span, const double *y, const double *f, const double *p, double rtol, double atol) {
    double z[N], g[N], d0 = norm(y, y, rtol, atol), d1 = norm(f, y, rtol, atol);
    double h = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    h = fmin(h, span);
    for (int j = 0; j < N; j++) z[j] = y[j] + h * f[j];
    rhs(t + h, z, p, g);
    for (int j = 0; j < N; j++) g[j] -= f[j];
    double d2 = fmax(d1, norm(g, y, rtol, atol) / h);
    double better = d2 <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / d2, 0.125);
    return fmin(fmin(100.0 * h, better), span);
}

/* From t to t1 > t, y in place. Accepted steps, or -1. */
long integrate(double t, double t1, double *y, const double *p, double rtol, double atol, long max_steps) {
    double k[12][N], z[N], end[N], h;
    long accepted = 0;
    int rejected = 0;
    rhs(t, y, p, k[0]);
    h = first_step(t, t1 - t, y, k[0], p, rtol, atol);
    for (long trial = 0; trial < max_steps; trial++) {
        int last = t + 1.01 * h >= t1;
        if (last) h = t1 - t;
#include "stages.h"
        double five = 0.0, three = 0.0;
        for (int j = 0; j < N; j++) {
            double scale = atol + rtol * fmax(fabs(y[j]), fabs(end[j]));
            double e5 = (ERROR5) / scale, e3 = (ERROR3) / scale;
            five += e5 * e5;
            three += e3 * e3;
        }
        double error = five == 0.0 ? 0.0 : h * five / sqrt((five + 0.01 * three) * N);
        if (!(error <= 1.0)) {
            h *= fmax(1.0 / 3.0, 0.9 * pow(error, -0.125));
            rejected = 1;
            continue;
        }
        accepted++;
        t = last ? t1 : t + h;
        memcpy(y, end, sizeof end);
        if (last) return accepted;
        rhs(t, y, p, k[0]);
        double factor = error == 0.0 ? 6.0 : fmin(6.0, fmax(1.0 / 3.0, 0.9 * pow(error, -0.125)));
        h *= rejected ? fmin(1.0, factor) : factor;
        rejected = 0;
    }
    return -1;
}

/* The same integration several times, for the clock. */
void repeat(long times, double t1, const double *y0, const double *p, double rtol, double atol, long max_steps) {
    double y[N];
    for (long i = 0; i < times; i++) {
        memcpy(y, y0, sizeof y);
        integrate(0.0, t1, y, p, rtol, atol, max_steps);
    }
}
