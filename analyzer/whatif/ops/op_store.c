#include "analyzer/whatif/ops/op_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/check.h"
#include "analyzer/whatif/op/spill.h"

#define CHUNK ((size_t)1 << 20)
#define ALIKE 64 /* ops that others are compared with, by alike() */
/* In place of such a number: the process ends, the chunk ends. */
enum { OVER = ALIKE, NEXT };

enum {
    WORD = sizeof(uint64_t),
    FIRST = XFW_KEPT_FROM / WORD, /* that is stored */
    WORDS = sizeof(struct xfw_op) / WORD - FIRST
};
_Static_assert(sizeof(struct xfw_op) % WORD == 0 && XFW_KEPT_FROM % WORD == 0 && WORDS <= 64,
               "an op is words, a bit for each that is stored");
/* Of one op: alike(), a bit for each word that has changed, and for each of those a head and its
 * difference; and what a read of a whole word may touch behind it. */
enum { MOST_BYTES = 1 + WORD + WORDS * (1 + WORD) + WORD };

/* A head: how the word has changed; its low bits have the number of bytes of the difference. */
enum { BY_INTEGER = 0, BY_DOUBLE = 16, ANEW = 32, BYTES = 15 };

union words {
    struct xfw_op op;
    uint64_t words[FIRST + WORDS];
};

struct chunk {
    unsigned char *bytes; /* NULL: it is in the file */
    struct xfw_piece piece;
};

struct xfw_op_reader {
    const struct xfw_op_store *store;
    size_t chunk, at, process;
    const unsigned char *bytes; /* of the chunk; NULL: not looked for */
    unsigned char *unpacked;    /* one that was in the file; NULL: none was */
    size_t mark;                /* of the next ops that are apart */
    bool apart;                 /* these are read */
    union words before[ALIKE], before_apart[ALIKE];
};

struct xfw_op_store {
    struct chunk *chunks;
    size_t count, capacity;
    size_t in_memory, most;  /* of them */
    unsigned char *last;     /* the last one, which is in memory; NULL: there is none */
    size_t used;             /* of it */
    struct xfw_spill *spill; /* NULL: nothing was put into a file */
    bool full, spills;
    struct end {
        double end_ns;
        uint64_t ranges[XFW_RANGES];
        size_t next_chunk, next_at; /* where the next process begins */
    } * ends;                       /* by process */
    size_t end_count, end_capacity;
    struct mark {
        size_t chunk, at; /* behind ops that are apart */
    } * marks;
    size_t mark_count, mark_capacity;
    bool apart; /* they come: compared with each other alone */
    union words before[ALIKE], before_apart[ALIKE];
    struct xfw_op_reader reader; /* of one process after the other */
};

size_t xfw_op_store_room(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? limit.rlim_cur / 8 : SIZE_MAX;
}

struct xfw_op_store *xfw_op_store_new(size_t most)
{
    struct xfw_op_store *store = xfa_alloc(sizeof *store);
    store->most = most / CHUNK;
    return store;
}

void xfw_op_store_spills(struct xfw_op_store *store, bool spills)
{
    store->spills = spills;
}

bool xfw_op_store_has_spilled(const struct xfw_op_store *store)
{
    return store->spill != NULL;
}

static void forget(struct xfw_op_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        free(store->chunks[i].bytes);
    xfw_spill_free(store->spill);
    store->spill = NULL;
    store->last = NULL;
    store->count = store->in_memory = 0;
    store->full = true;
}

void xfw_op_store_free(struct xfw_op_store *store)
{
    if (!store)
        return;
    forget(store);
    free(store->reader.unpacked);
    free(store->chunks);
    free(store->ends);
    free(store->marks);
    free(store);
}

bool xfw_op_store_all(const struct xfw_op_store *store)
{
    return !store->full;
}

/* ---- in -------------------------------------------------------------------------------------- */

/* The last chunk's memory, which is in the file now; NULL: it is not. */
static unsigned char *put_aside(struct xfw_op_store *store)
{
    if (!store->spills || !store->last)
        return NULL;
    struct chunk *chunk = &store->chunks[store->count - 1];
    store->spill = store->spill ? store->spill : xfw_spill_new(CHUNK);
    if (!store->spill || !xfw_spill_put(store->spill, store->last, store->used + 1, &chunk->piece))
        return NULL;
    chunk->bytes = NULL;
    store->in_memory--;
    return store->last;
}

static void add_chunk(struct xfw_op_store *store)
{
    if (store->last)
        store->last[store->used] = NEXT;
    unsigned char *bytes = store->in_memory < store->most ? malloc(CHUNK) : put_aside(store);
    if (!bytes) {
        forget(store);
        return;
    }
    store->chunks =
        xfa_room(store->chunks, &store->capacity, store->count + 1, sizeof *store->chunks);
    store->chunks[store->count++] = (struct chunk){.bytes = bytes};
    store->last = bytes;
    store->in_memory++;
    store->used = 0;
}

/* Where the next op is written; NULL: the limit is reached. */
static unsigned char *room(struct xfw_op_store *store)
{
    if (!store->full && (!store->last || store->used + MOST_BYTES > CHUNK))
        add_chunk(store);
    return store->full ? NULL : store->last + store->used;
}

static unsigned bytes_of(int64_t difference)
{
    uint64_t size = (uint64_t)(difference < 0 ? ~difference : difference);
    return difference == 0 ? 0 : (unsigned)(64 - __builtin_clzll(size | 1)) / 8 + 1;
}

/* The whole number to add to one double to have the other, bit for bit; false: there is none. */
static bool whole_difference(uint64_t from, uint64_t to, int64_t *whole)
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
    bool is_whole = bytes > 1 && whole_difference(from, to, &whole);
    if (is_whole && bytes_of(whole) < bytes)
        return put(at, BY_DOUBLE, (uint64_t)whole, bytes_of(whole));
    if (bytes < WORD)
        return put(at, BY_INTEGER, (uint64_t)integer, bytes);
    return put(at, ANEW, to, WORD);
}

static unsigned alike(const struct xfw_op *op)
{
    return (op->thread * 16 + op->what * 4 + op->engine) % ALIKE;
}

void xfw_op_store_add(struct xfw_op_store *store, const struct xfw_op *op)
{
    unsigned char *begin = room(store), *at = begin;
    if (!begin)
        return;
    union words now = {.op = *op};
    uint64_t played = 0;
    union words *before = (store->apart ? store->before_apart : store->before) + alike(op);
    uint64_t changed = 0;
    for (size_t i = 0; i < FIRST; i++)
        played |= now.words[i];
    XFA_EXPECT(played == 0, "an op is stored with what is known only as it is played");
    *at = (unsigned char)alike(op);
    at += 1 + WORD;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t from = before->words[FIRST + i], to = now.words[FIRST + i];
        if (from == to)
            continue;
        changed |= (uint64_t)1 << i;
        at = put_word(at, from, to);
    }
    memcpy(begin + 1, &changed, WORD);
    *before = now;
    store->used += (size_t)(at - begin);
}

void xfw_op_store_apart(struct xfw_op_store *store)
{
    store->apart = true;
    memset(store->before_apart, 0, sizeof store->before_apart);
}

void xfw_op_store_apart_over(struct xfw_op_store *store)
{
    store->apart = false;
    if (store->full)
        return;
    store->marks =
        xfa_room(store->marks, &store->mark_capacity, store->mark_count + 1, sizeof *store->marks);
    store->marks[store->mark_count++] =
        (struct mark){store->count ? store->count - 1 : 0, store->used};
}

void xfw_op_store_end(struct xfw_op_store *store, double end_ns, const uint64_t ranges[XFW_RANGES])
{
    unsigned char *at = room(store);
    if (!at)
        return;
    *at = OVER;
    store->used++;
    store->ends =
        xfa_room(store->ends, &store->end_capacity, store->end_count + 1, sizeof *store->ends);
    struct end *end = &store->ends[store->end_count++];
    end->end_ns = end_ns;
    end->next_chunk = store->count - 1;
    end->next_at = store->used;
    memset(store->before, 0, sizeof store->before); /* each process can be read by itself */
    memcpy(end->ranges, ranges, sizeof end->ranges);
}

/* ---- members of a team ----------------------------------------------------------------------- */

/* The bytes of its chunk, wherever that is. */
static void look_for_chunk(struct xfw_op_reader *reader)
{
    const struct chunk *chunk = &reader->store->chunks[reader->chunk];
    reader->bytes = chunk->bytes;
    if (reader->bytes)
        return;
    reader->unpacked = reader->unpacked ? reader->unpacked : xfa_alloc_unset(CHUNK);
    xfw_spill_get(reader->store->spill, &chunk->piece, reader->unpacked);
    reader->bytes = reader->unpacked;
}

/* What comes next. The chunk of the last op may have no more, but that another one follows. */
static const unsigned char *go_on(struct xfw_op_reader *reader)
{
    if (!reader->bytes)
        look_for_chunk(reader);
    if (reader->bytes[reader->at] == NEXT) {
        reader->chunk++;
        reader->at = 0;
        look_for_chunk(reader);
    }
    return reader->bytes + reader->at;
}

/* Of the op at `at`, of which so much is there; 0: it is none, or goes on behind that. */
static size_t op_bytes(const unsigned char *at, size_t left)
{
    size_t bytes = 1 + WORD;
    uint64_t changed;
    if (left < bytes || *at >= ALIKE)
        return 0;
    memcpy(&changed, at + 1, WORD);
    if (WORDS < 64 && changed >> WORDS % 64)
        return 0;
    for (; changed; changed &= changed - 1) {
        if (bytes >= left || (at[bytes] & BYTES) > WORD)
            return 0;
        bytes += 1 + (at[bytes] & (size_t)BYTES);
    }
    return bytes <= left ? bytes : 0;
}

void xfw_op_store_give(const struct xfw_op_store *store, size_t process, struct xfa_parcel *parcel)
{
    struct xfw_op_reader *reader = xfw_op_reader_new(store, process);
    for (;;) {
        const unsigned char *op = go_on(reader);
        if (*op == OVER)
            break;
        size_t bytes = op_bytes(op, MOST_BYTES);
        xfa_parcel_put(parcel, op, bytes);
        reader->at += bytes;
    }
    xfw_op_reader_free(reader);
}

bool xfw_op_store_take(struct xfw_op_store *store, const struct xfa_parcel *parcel)
{
    size_t at = 0, bytes = 1;
    for (; at < parcel->count && bytes; at += bytes) {
        unsigned char *to = room(store);
        bytes = op_bytes(parcel->bytes + at, parcel->count - at);
        if (to) {
            memcpy(to, parcel->bytes + at, bytes);
            store->used += bytes;
        }
    }
    return bytes > 0;
}

/* ---- out ------------------------------------------------------------------------------------- */

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

bool xfw_op_reader_next(struct xfw_op_reader *reader, struct xfw_op *op)
{
    const unsigned char *begin = go_on(reader), *at = begin;
    uint64_t changed;
    if (*at == OVER)
        return false;
    union words *now = (reader->apart ? reader->before_apart : reader->before) + *at;
    memcpy(&changed, at + 1, WORD);
    at += 1 + WORD;
    for (; changed; changed &= changed - 1) {
        uint64_t *word = &now->words[FIRST + __builtin_ctzll(changed)];
        unsigned bytes = *at & BYTES, how = *at & ~(unsigned)BYTES;
        *word = changed_by(*word, how, difference_at(at + 1, bytes));
        at += 1 + bytes;
    }
    *op = now->op;
    reader->at += (size_t)(at - begin);
    return true;
}

const uint64_t *xfw_op_reader_over(const struct xfw_op_reader *reader, double *end_ns)
{
    const struct end *end = &reader->store->ends[reader->process];
    *end_ns = end->end_ns;
    return end->ranges;
}

struct xfw_op_reader *xfw_op_reader_new(const struct xfw_op_store *store, size_t process)
{
    struct xfw_op_reader *reader = xfa_alloc(sizeof *reader);
    reader->store = store;
    reader->process = process;
    if (process > 0) {
        reader->chunk = store->ends[process - 1].next_chunk;
        reader->at = store->ends[process - 1].next_at;
    }
    return reader;
}

void xfw_op_reader_free(struct xfw_op_reader *reader)
{
    if (reader)
        free(reader->unpacked);
    free(reader);
}

void xfw_op_store_rewind(struct xfw_op_store *store)
{
    free(store->reader.unpacked);
    store->reader = (struct xfw_op_reader){.store = store};
}

void xfw_op_store_read_apart(struct xfw_op_store *store)
{
    store->reader.apart = true;
    memset(store->reader.before_apart, 0, sizeof store->reader.before_apart);
}

void xfw_op_store_behind_apart(struct xfw_op_store *store)
{
    struct xfw_op_reader *reader = &store->reader;
    const struct mark *mark = &store->marks[reader->mark++];
    reader->apart = false;
    if (mark->chunk != reader->chunk)
        reader->bytes = NULL;
    reader->chunk = mark->chunk;
    reader->at = mark->at;
}

bool xfw_op_store_next(struct xfw_op_store *store, struct xfw_op *op)
{
    return xfw_op_reader_next(&store->reader, op);
}

const uint64_t *xfw_op_store_over(struct xfw_op_store *store, double *end_ns)
{
    struct xfw_op_reader *reader = &store->reader;
    const uint64_t *ranges = xfw_op_reader_over(reader, end_ns);
    reader->process++;
    reader->at++;
    memset(reader->before, 0, sizeof reader->before);
    return ranges;
}
