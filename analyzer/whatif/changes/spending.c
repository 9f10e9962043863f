#include "analyzer/whatif/changes/spending.h"

#include <stdint.h>

/* As preload/apply/leave_out/leave_out.c has them. */
#define SPENT 0.01
#define HASH_GUESS 0.1 /* ns of a byte, until one was hashed */
#define MOST_MISSES 4
#define FIRST_REST 64
#define MOST_REST 65536
#define LOOK_AGAIN 64

struct site {
    uint32_t site; /* key */
    bool begun, hashed, remembered;
    double first_ns, balance_ns;
    unsigned hits, compare_at, in_a_row, misses, rest, rest_next;
};

void xfw_spending_init(struct xfw_spending *spending)
{
    xfa_table_init(&spending->sites, sizeof(uint32_t), sizeof(struct site));
}

void xfw_spending_free(struct xfw_spending *spending)
{
    xfa_table_free(&spending->sites);
}

static double price(const struct site *of, const struct xfw_op *op,
                    const struct xfw_upload_costs *costs)
{
    double compare = of->hits ? 0 : costs->compare;
    if (!of->hashed)
        return HASH_GUESS * (double)op->bytes;
    return (of->remembered ? 1 : 2) * costs->hash + compare;
}

static void rest(struct site *of)
{
    of->rest_next = of->rest_next ? of->rest_next : FIRST_REST;
    of->rest = of->rest_next;
    of->rest_next = of->rest_next * 4 < MOST_REST ? of->rest_next * 4 : MOST_REST;
    of->misses = 0;
}

/* Hashed. */
static enum xfw_spent look(struct site *of, bool same, double earned_ns,
                           const struct xfw_upload_costs *costs)
{
    bool left = same && of->remembered;
    bool compares = left && (of->hits == 0 || (of->hits >= of->compare_at &&
                                               earned_ns + of->balance_ns >= costs->compare));
    of->hashed = true;
    of->balance_ns += (left ? costs->asked : 0) - costs->hash - (compares ? costs->compare : 0);
    of->hits += left;
    if (compares)
        of->compare_at = 2 * of->hits + 1;
    of->in_a_row = left ? of->in_a_row + 1 : 0;
    of->misses = left ? 0 : of->misses + 1;
    of->remembered = true;
    if (of->misses >= MOST_MISSES)
        rest(of);
    return compares ? XFW_COMPARED : left ? XFW_LEFT_OUT : XFW_HASHED;
}

enum xfw_spent xfw_spending_on(struct xfw_spending *spending, const struct xfw_op *op, bool same,
                               const struct xfw_upload_costs *costs)
{
    struct site *of = xfa_table_put(&spending->sites, &op->site);
    if (!of->begun) { /* one as asked comes first, to compare with */
        of->begun = true;
        of->first_ns = op->start_ns;
        return XFW_AS_ASKED;
    }
    double earned_ns = SPENT * (op->start_ns - of->first_ns);
    bool looked = of->rest == 0 && of->in_a_row < LOOK_AGAIN &&
                  earned_ns + of->balance_ns >= price(of, op, costs);
    of->rest -= of->rest > 0;
    if (looked)
        return look(of, same, earned_ns, costs);
    of->remembered = false;
    of->in_a_row = 0;
    return XFW_AS_ASKED;
}
