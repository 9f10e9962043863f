#include "analyzer/whatif/kept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "analyzer/base/alloc.h"

#define CHUNK ((size_t)1 << 20)
#define ALIKE 64 /* ops that others are held against */
/* In place of such a number: no op, but the process's end, the chunk's. */
enum { OVER = ALIKE, NEXT };

enum { WORD = sizeof(uint64_t), WORDS = sizeof(struct xfw_op) / WORD };
_Static_assert(sizeof(struct xfw_op) % WORD == 0 && WORDS <= 64, "an op is words, a bit for each");
/* A number, which words have changed, and for each a head and its difference; and what may be read
 * behind it. */
enum { MOST_BYTES = 1 + WORD + WORDS * (1 + WORD) + WORD };

/* How a word has changed, with the number of bytes of the difference in a head's low bits. */
enum { BY_INTEGER = 0, BY_DOUBLE = 16, ANEW = 32, BYTES = 15 };

union words {
    struct xfw_op op;
    uint64_t words[WORDS];
};

struct xfw_kept {
    unsigned char **chunks;
    size_t count, capacity, most; /* most: of them */
    size_t used;                  /* of the last one */
    bool full;
    struct end {
        double end_ns;
        uint64_t ranges[XFW_RANGES];
    } * ends; /* by process */
    size_t end_count, end_capacity;
    union words before[ALIKE];
    size_t chunk, at, process; /* where it is read */
};

size_t xfw_kept_room(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? limit.rlim_cur / 8 : SIZE_MAX;
}

struct xfw_kept *xfw_kept_new(size_t most)
{
    struct xfw_kept *kept = xfa_alloc(sizeof *kept);
    kept->most = most / CHUNK;
    return kept;
}

static void forget(struct xfw_kept *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        free(kept->chunks[i]);
    kept->count = 0;
    kept->full = true;
}

void xfw_kept_free(struct xfw_kept *kept)
{
    if (!kept)
        return;
    forget(kept);
    free(kept->chunks);
    free(kept->ends);
    free(kept);
}

bool xfw_kept_all(const struct xfw_kept *kept)
{
    return !kept->full;
}

/* ---- in -------------------------------------------------------------------------------------- */

/* Where an op fits; NULL: there is no more room. */
static unsigned char *room(struct xfw_kept *kept)
{
    if (kept->full)
        return NULL;
    if (kept->count == 0 || kept->used + MOST_BYTES > CHUNK) {
        unsigned char *chunk = kept->count < kept->most ? malloc(CHUNK) : NULL;
        if (!chunk) {
            forget(kept);
            return NULL;
        }
        if (kept->count > 0)
            kept->chunks[kept->count - 1][kept->used] = NEXT;
        kept->chunks =
            xfa_room(kept->chunks, &kept->capacity, kept->count + 1, sizeof *kept->chunks);
        kept->chunks[kept->count++] = chunk;
        kept->used = 0;
    }
    return kept->chunks[kept->count - 1] + kept->used;
}

static unsigned bytes_of(int64_t difference)
{
    uint64_t size = (uint64_t)(difference < 0 ? ~difference : difference);
    return difference == 0 ? 0 : (unsigned)(64 - __builtin_clzll(size | 1)) / 8 + 1;
}

/* What to add to the one double to have the other, bit for bit; false: no whole number. */
static bool step(uint64_t from, uint64_t to, int64_t *whole)
{
    const double most = 1e15;
    double a, b;
    uint64_t reached;
    memcpy(&a, &from, sizeof a);
    memcpy(&b, &to, sizeof b);
    double d = b - a;
    if (!(d < most && d > -most))
        return false;
    *whole = (int64_t)d;
    a += (double)*whole;
    memcpy(&reached, &a, sizeof reached);
    return reached == to;
}

static unsigned char *put(unsigned char *at, unsigned how, uint64_t difference, unsigned bytes)
{
    *at++ = (unsigned char)(how | bytes);
    memcpy(at, &difference, WORD);
    return at + bytes;
}

static unsigned char *put_word(unsigned char *at, uint64_t from, uint64_t to)
{
    int64_t integer = (int64_t)(to - from), whole = 0;
    unsigned bytes = bytes_of(integer);
    bool stepped = bytes > 1 && step(from, to, &whole);
    if (stepped && bytes_of(whole) < bytes)
        return put(at, BY_DOUBLE, (uint64_t)whole, bytes_of(whole));
    if (bytes < WORD)
        return put(at, BY_INTEGER, (uint64_t)integer, bytes);
    return put(at, ANEW, to, WORD);
}

static unsigned alike(const struct xfw_op *op)
{
    return (op->thread * 16 + op->what * 4 + op->engine) % ALIKE;
}

void xfw_kept_add(struct xfw_kept *kept, const struct xfw_op *op)
{
    unsigned char *begin = room(kept), *at = begin;
    if (!begin)
        return;
    union words now = {.op = *op}, *before = &kept->before[alike(op)];
    uint64_t changed = 0;
    *at = (unsigned char)alike(op);
    at += 1 + WORD;
    for (size_t i = 0; i < WORDS; i++) {
        if (now.words[i] == before->words[i])
            continue;
        changed |= (uint64_t)1 << i;
        at = put_word(at, before->words[i], now.words[i]);
    }
    memcpy(begin + 1, &changed, WORD);
    *before = now;
    kept->used += (size_t)(at - begin);
}

void xfw_kept_end(struct xfw_kept *kept, double end_ns, const uint64_t ranges[XFW_RANGES])
{
    unsigned char *at = room(kept);
    if (!at)
        return;
    *at = OVER;
    kept->used++;
    kept->ends = xfa_room(kept->ends, &kept->end_capacity, kept->end_count + 1, sizeof *kept->ends);
    struct end *end = &kept->ends[kept->end_count++];
    end->end_ns = end_ns;
    memcpy(end->ranges, ranges, sizeof end->ranges);
}

/* ---- out ------------------------------------------------------------------------------------- */

void xfw_kept_rewind(struct xfw_kept *kept)
{
    memset(kept->before, 0, sizeof kept->before);
    kept->chunk = kept->at = kept->process = 0;
}

static int64_t difference_at(const unsigned char *at, unsigned bytes)
{
    uint64_t word;
    memcpy(&word, at, WORD);
    return bytes ? (int64_t)(word << (64 - 8 * bytes)) >> (64 - 8 * bytes) : 0;
}

static uint64_t changed_by(uint64_t from, unsigned how, int64_t difference)
{
    double value;
    if (how == BY_INTEGER)
        return from + (uint64_t)difference;
    if (how == ANEW)
        return (uint64_t)difference;
    memcpy(&value, &from, sizeof value);
    value += (double)difference;
    memcpy(&from, &value, sizeof from);
    return from;
}

bool xfw_kept_next(struct xfw_kept *kept, struct xfw_op *op)
{
    if (kept->chunks[kept->chunk][kept->at] == NEXT) {
        kept->chunk++;
        kept->at = 0;
    }
    const unsigned char *begin = kept->chunks[kept->chunk] + kept->at, *at = begin;
    uint64_t changed;
    if (*at == OVER)
        return false;
    union words *now = &kept->before[*at];
    memcpy(&changed, at + 1, WORD);
    at += 1 + WORD;
    for (; changed; changed &= changed - 1) {
        uint64_t *word = &now->words[__builtin_ctzll(changed)];
        unsigned bytes = *at & BYTES, how = *at & ~(unsigned)BYTES;
        *word = changed_by(*word, how, difference_at(at + 1, bytes));
        at += 1 + bytes;
    }
    *op = now->op;
    kept->at += (size_t)(at - begin);
    return true;
}

const uint64_t *xfw_kept_over(struct xfw_kept *kept, double *end_ns)
{
    const struct end *end = &kept->ends[kept->process++];
    kept->at++;
    *end_ns = end->end_ns;
    return end->ranges;
}
