#include "analyzer/base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three significant digits, no exponent. */
static int decimals(double value)
{
    return value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
}

const char *xfa_bytes_text(char text[XFA_UNIT_CHARS], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    bool whole = unit == 0 || value == floor(value);
    snprintf(text, XFA_UNIT_CHARS, "%.*f %s", whole ? 0 : decimals(value), value, units[unit]);
    return text;
}

const char *xfa_time_text(char text[XFA_UNIT_CHARS], double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    if (isnan(ns)) {
        snprintf(text, XFA_UNIT_CHARS, "-");
        return text;
    }
    if (fabs(ns) < 0.005) /* rounding errors of sums */
        ns = 0;
    size_t i = 0;
    while (i < 3 && ns < units[i].ns)
        i++;
    double value = ns / units[i].ns;
    snprintf(text, XFA_UNIT_CHARS, "%.*f %s", ns == 0 ? 0 : decimals(value), value, units[i].unit);
    return text;
}

const char *xfa_gbps_text(char text[XFA_UNIT_CHARS], double gbps)
{
    if (isnan(gbps))
        snprintf(text, XFA_UNIT_CHARS, "-");
    else if (gbps < 0.01)
        snprintf(text, XFA_UNIT_CHARS, "%.2g", gbps);
    else
        snprintf(text, XFA_UNIT_CHARS, "%.*f", decimals(gbps), gbps);
    return text;
}

bool xfa_number(const char *word, uint64_t *number)
{
    errno = 0;
    *number = strtoull(word, NULL, 10);
    return *word && !word[strspn(word, "0123456789")] && errno == 0;
}
