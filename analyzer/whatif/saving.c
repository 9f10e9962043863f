#include "analyzer/whatif/saving.h"

#include <math.h>
#include <stdbool.h>

#include "analyzer/base/check.h"

struct xfw_saving xfw_saving_within(struct xfw_saving saving, double most_ns)
{
    if (saving.likely > most_ns)
        saving.likely = most_ns;
    if (saving.high > most_ns)
        saving.high = most_ns;
    if (saving.high < saving.likely)
        saving.high = saving.likely;
    if (saving.low > saving.likely)
        saving.low = saving.likely;
    return saving;
}

/* What is not known breaks no rule. */
static bool is_above(double ns, double most_ns)
{
    const double rounding = 1e-9;
    return ns > most_ns + rounding * fabs(most_ns) + 1;
}

struct xfw_saving xfw_saving_checked(const struct xfw_saving *saving, double whole_ns)
{
    bool good = XFA_EXPECT(!is_above(saving->likely, whole_ns) && !is_above(saving->high, whole_ns),
                           "a saving is above the run that it is of");
    good = XFA_EXPECT(!is_above(saving->low, saving->likely) &&
                          !is_above(saving->likely, saving->high),
                      "the bounds of a saving are not around it") &&
           good;
    return good ? *saving : (struct xfw_saving){NAN, NAN, NAN};
}
