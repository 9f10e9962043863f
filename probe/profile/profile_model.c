/*
 * The transfer model of section V: what it predicts, and its parameters from measured times.
 */
#include "probe/profile/profile_model.h"

#include <math.h>

double xfp_model_ns(const struct xfp_fit *fit, uint64_t bytes)
{
    return fit->Lo_ns + (double)bytes * fit->G_ns_per_byte;
}

double xfp_model_error(const struct xfp_fit *fit, const struct xfp_point *p, double ns)
{
    return fabs(xfp_model_ns(fit, p->bytes) - ns) / ns;
}

double xfp_streams_ns(const struct xfp_fit *fit, uint64_t bytes, uint32_t streams)
{
    double gap = isfinite(fit->g_ns) ? fit->g_ns : 0;

    return fit->Lo_ns + (double)bytes * fit->G_ns_per_byte + (streams ? streams - 1 : 0) * gap;
}

/* ---- one transfer after the other ----------------------------------------------------------- */

/*
 * Lo and G of times[] (0 = not measured) as section V.A extracts them: L+o from the shortest
 * transfer, G = (sum of t - n (L+o)) / sum of k. Lo is corrected for the bytes of that shortest
 * transfer, which is not a single byte here.
 */
static bool extract(const struct xfp_point *points, const double *times, size_t count,
                    struct xfp_fit *fit)
{
    double sum_t = 0, sum_k = 0, first_t = 0, first_k = 0;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (!(times[i] > 0) || !isfinite(times[i]))
            continue;
        if (!n++) {
            first_t = times[i];
            first_k = (double)points[i].bytes;
        }
        sum_t += times[i];
        sum_k += (double)points[i].bytes;
    }
    if (n < 2 || sum_k <= (double)n * first_k)
        return false;
    /* t1 = Lo + k1 G inserted into the paper's sum */
    fit->G_ns_per_byte = (sum_t - (double)n * first_t) / (sum_k - (double)n * first_k);
    fit->Lo_ns = fmax(first_t - first_k * fit->G_ns_per_byte, 0);
    return fit->G_ns_per_byte > 0;
}

/* The model is compared at sizes where bytes, not latency, dominate the time: k G >= L+o. */
struct xfp_fit xfp_fit_times(const struct xfp_point *points, const double *times, size_t count)
{
    struct xfp_fit fit = {.g_ns = NAN};

    if (!extract(points, times, count, &fit))
        return (struct xfp_fit){.g_ns = NAN};
    for (size_t i = 0; i < count; i++) {
        if (!(times[i] > 0) || (double)points[i].bytes * fit.G_ns_per_byte < fit.Lo_ns)
            continue;
        if (!fit.valid)
            fit.fit_min_bytes = points[i].bytes;
        fit.valid = true;
        fit.max_error = fmax(fit.max_error, xfp_model_error(&fit, &points[i], times[i]));
    }
    return fit.valid ? fit : (struct xfp_fit){.g_ns = NAN};
}

struct xfp_fit xfp_fit_points(const struct xfp_point *points, size_t count, double g_ns)
{
    double times[XFP_MOST_FITTED];
    struct xfp_fit fit;

    count = count < XFP_MOST_FITTED ? count : XFP_MOST_FITTED;
    for (size_t i = 0; i < count; i++)
        times[i] = points[i].median_ns;
    fit = xfp_fit_times(points, times, count);
    fit.g_ns = g_ns > 0 && isfinite(g_ns) ? g_ns : NAN;
    return fit;
}

/* ---- one transfer on several streams -------------------------------------------------------- */

static bool fewest_bytes(const struct xfp_stream_point *p, uint64_t bytes)
{
    return !bytes || p->bytes < bytes;
}

static double largest_error(const struct xfp_fit *fit, const struct xfp_stream_point *points,
                            size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        double ns = xfp_streams_ns(fit, points[i].bytes, points[i].streams);

        most = fmax(most, fabs(ns / points[i].median_ns - 1));
    }
    return most;
}

/* ---- the parameters with the least largest error -------------------------------------------- */

/*
 * The error is the largest of several |a + b Lo + c g + d G|, so it is convex, and so is what is
 * left of it when some of the three are chosen best: golden section, one inside the other. From
 * `first` on they are chosen, the ones before are as given.
 */
enum { PARAMETERS = 3, STEPS = 40 };
#define GOLDEN 0.6180339887498949

struct search {
    struct xfp_fit fit;
    const struct xfp_stream_point *points;
    size_t count;
    double high[PARAMETERS]; /* none can be more, without being all of a point's time */
};

static double *parameter(struct xfp_fit *fit, int i)
{
    return i == 0 ? &fit->G_ns_per_byte : i == 1 ? &fit->Lo_ns : &fit->g_ns;
}

static double best_from(struct search *s, int first);

static double error_at(struct search *s, int i, double value)
{
    *parameter(&s->fit, i) = value;
    return best_from(s, i + 1);
}

/* Leaves the best parameters in the fit and returns their error. */
static double best_from(struct search *s, int first)
{
    double low = 0, high = first < PARAMETERS ? s->high[first] : 0;
    double x[2], error[2];

    if (first == PARAMETERS)
        return largest_error(&s->fit, s->points, s->count);
    x[0] = high - GOLDEN * (high - low);
    x[1] = low + GOLDEN * (high - low);
    error[0] = error_at(s, first, x[0]);
    error[1] = error_at(s, first, x[1]);
    for (int step = 0; step < STEPS; step++) {
        bool lower = error[0] <= error[1];

        if (lower) {
            high = x[1];
            x[1] = x[0];
            error[1] = error[0];
            x[0] = high - GOLDEN * (high - low);
        } else {
            low = x[0];
            x[0] = x[1];
            error[0] = error[1];
            x[1] = low + GOLDEN * (high - low);
        }
        error[lower ? 0 : 1] = error_at(s, first, x[lower ? 0 : 1]);
    }
    return error_at(s, first, (low + high) / 2);
}

static void bound(struct search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct xfp_stream_point *p = &s->points[i];

        s->high[0] = fmax(s->high[0], p->median_ns / (double)p->bytes);
        s->high[1] = i ? fmin(s->high[1], p->median_ns) : p->median_ns;
        if (p->streams > 1)
            s->high[2] = fmax(s->high[2], p->median_ns / (p->streams - 1));
    }
}

static bool sizes_differ(const struct xfp_stream_point *points, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (points[i].bytes != points[0].bytes)
            return true;
    return false;
}

struct xfp_fit xfp_fit_streams(const struct xfp_stream_point *points, size_t count,
                               uint64_t first_bytes, double first_ns)
{
    struct search s = {.fit = {.g_ns = NAN}, .points = points, .count = count};
    struct xfp_fit *fit = &s.fit;
    double time = 0, bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (points[i].streams != 1 || points[i].bytes <= first_bytes)
            continue;
        time += points[i].median_ns - first_ns;
        bytes += (double)(points[i].bytes - first_bytes);
        if (fewest_bytes(&points[i], fit->fit_min_bytes))
            fit->fit_min_bytes = points[i].bytes;
    }
    fit->G_ns_per_byte = bytes > 0 ? time / bytes : 0;
    fit->Lo_ns = fmax(first_ns - (double)first_bytes * fit->G_ns_per_byte, 0);
    bound(&s);
    if (fit->G_ns_per_byte > 0 && first_ns > 0 && s.high[2] > 0) {
        best_from(&s, sizes_differ(points, count) ? 0 : 2);
        fit->valid = isfinite(fit->g_ns);
    }
    fit->max_error = largest_error(fit, points, count);
    return *fit;
}
