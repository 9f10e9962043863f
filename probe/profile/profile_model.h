/*
 * The transfer model of van Werkhoven et al., section V, over a profile's points: struct xfp_fit
 * and xfp_fit_points() of the profile's own header, and what only profiles and the code that makes
 * them need.
 */
#ifndef XFP_PROFILE_MODEL_H
#define XFP_PROFILE_MODEL_H

#include "xferscope/profile.h"

#define XFP_MOST_FITTED 4096 /* as many points as a file may hold */

/* One transfer: L+o + k G. */
double xfp_model_ns(const struct xfp_fit *fit, uint64_t bytes);

/* Error of the model, relative to the time of the point. */
double xfp_model_error(const struct xfp_fit *fit, const struct xfp_point *point, double ns);

/* xfp_fit_points() of other times than the points' medians; 0 = not measured. g is not known. */
struct xfp_fit xfp_fit_times(const struct xfp_point *points, const double *times, size_t count);

/*
 * The model's parameters from transfers on several streams: those with the least largest relative
 * error over all points, which is max_error. One size alone does not separate L+o from G: then
 * L+o comes from a copy of first_bytes on one stream and G from the one on one stream, as in
 * section V.A, and only g is chosen. Not valid when a point that this needs is missing.
 */
struct xfp_fit xfp_fit_streams(const struct xfp_stream_point *points, size_t count,
                               uint64_t first_bytes, double first_ns);

#endif
