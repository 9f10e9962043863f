/*
 * What something would save of a time, and between which bounds: the rules that hold for all of
 * them.
 *
 * - low <= likely <= high. Low may be negative: it may cost time. That is an answer, and formats
 * say it in words.
 * - high is at most what can go of the time that it is of: no run is left with less than nothing,
 * nor with less than what no change touches.
 *
 * Times are ns. Unknown is NAN, of low and high also where likely is known.
 */
#ifndef XFW_SAVING_H
#define XFW_SAVING_H

struct xfw_saving {
    double low, likely, high;
};

/* The three in order, none above most_ns: what can go. */
struct xfw_saving xfw_saving_within(struct xfw_saving saving, double most_ns);

/* For whoever shows or hands on a saving of whole_ns: the saving, or one that is not known if it
 * breaks the rules, which is a mistake of ours and said (analyzer/base/check.h). */
struct xfw_saving xfw_saving_checked(const struct xfw_saving *saving, double whole_ns);

#endif
