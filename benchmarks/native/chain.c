/* A chain of LINKS point masses on rods in a vertical plane, in angles from the vertical, in O(n) operations: the tensions of the rods
   satisfy a tridiagonal system, since the distance of neighbours is constant. p: masses, lengths, gravity. */
#define N (2 * LINKS)
static inline void rhs(double t, const double *y, const double *p, double *out) {
    const double *m = p, *l = p + LINKS;
    double g = p[2 * LINKS], s[LINKS], c[LINKS], lower[LINKS], right[LINKS], tension[LINKS + 1], ax = 0, ay = 0;
    double before = 0, weight = 0;
    for (int k = 0; k < LINKS; k++) {
        double w = y[LINKS + k];
        s[k] = sin(y[k]);
        c[k] = cos(y[k]);
        out[k] = w;
        double diagonal = 1 / m[k], r = l[k] * w * w;
        if (k == 0) {
            r += g * c[0];
        } else {
            double side = -(s[k] * s[k - 1] + c[k] * c[k - 1]) / m[k - 1], factor = side * before;
            diagonal += 1 / m[k - 1] - factor * side;
            r -= factor * weight;
            lower[k] = side;
        }
        before = 1 / diagonal;
        weight = r;
        right[k] = r * before;
        out[LINKS + k] = before;
    }
    tension[LINKS] = 0;
    for (int k = LINKS - 1; k >= 0; k--)
        tension[k] = right[k] - (k + 1 < LINKS ? out[LINKS + k] * lower[k + 1] * tension[k + 1] : 0);
    for (int k = 0; k < LINKS; k++) {
        double along = k + 1 < LINKS ? tension[k + 1] : 0, sn = k + 1 < LINKS ? s[k + 1] : 0, cn = k + 1 < LINKS ? c[k + 1] : 0;
        double bx = (along * sn - tension[k] * s[k]) / m[k], by = g + (along * cn - tension[k] * c[k]) / m[k];
        out[LINKS + k] = ((bx - ax) * c[k] - (by - ay) * s[k]) / l[k];
        ax = bx;
        ay = by;
    }
}
