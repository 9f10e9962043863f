#include "preload/format/encode.h"

#include <stdbool.h>
#include <string.h>

#define VARINT_BYTES 10
#define COLUMN_EXTRA 32   /* bytes of a column without its rows, at most */
#define MOST_ENTRIES 1024 /* of a dictionary: XFT_DICT_MOST at most */
#define ROWS_PER_ENTRY 4  /* with fewer, a dictionary takes more space */
#define PIECE_BYTES 256   /* a shorter piece is joined with its neighbour */
#define HASH_SLOTS 4096
#define NOWHERE UINT32_MAX

_Static_assert(MOST_ENTRIES <= XFT_DICT_MOST && MOST_ENTRIES * 2 <= HASH_SLOTS, "dictionaries");
_Static_assert(XFT_SLAB_EVENTS < UINT16_MAX, "row numbers and indices take 16 bits");

#define FIELD_ONE(number, name) +1
enum { FIELDS = 0 XFT_COLUMN_LIST(FIELD_ONE) };
#define ENUM_ROW(number, name) COLUMN_##name = (number)-1,
enum column { XFT_COLUMN_LIST(ENUM_ROW) COLUMN_END };
_Static_assert((int)COLUMN_END == (int)FIELDS, "column id - 1 is its number here");

/* A dictionary being built: values in the order in which they were met, and a hash over them. */
struct dictionary {
    uint32_t count;
    uint64_t values[MOST_ENTRIES];
};

struct plan {
    enum xft_encoding encoding;
    bool absent;
    int base;         /* column number; -1 none */
    uint32_t entries; /* of its dictionary; 0: none could be made */
    uint64_t least;   /* subtracted from every difference */
    unsigned planes;
};

struct xft_encode_workspace {
    uint64_t values[FIELDS][XFT_ENCODE_ROWS];
    uint16_t indices[FIELDS][XFT_ENCODE_ROWS];
    struct dictionary dictionaries[FIELDS];
    uint16_t slots[HASH_SLOTS]; /* entry + 1; 0 = empty */
    uint32_t mapped[MOST_ENTRIES];
    struct plan plans[FIELDS];
    uint8_t order[FIELDS]; /* of the columns in the directory */
    uint32_t columns;
};

size_t xft_encode_workspace_bytes(void)
{
    return sizeof(struct xft_encode_workspace);
}

/* ---- columns of values -------------------------------------------------------------------- */

#define GATHER_ROW(number, name)                                                                   \
    for (uint32_t i = 0; i < rows; i++)                                                            \
        values[COLUMN_##name][i] = (uint64_t)(int64_t)events[i].name;

static void gather(uint64_t values[FIELDS][XFT_ENCODE_ROWS], const struct xft_event *events,
                   uint32_t rows)
{
    XFT_COLUMN_LIST(GATHER_ROW)
}

static bool is_constant(const uint64_t *values, uint32_t rows)
{
    uint64_t other = 0;
    for (uint32_t i = 1; i < rows; i++)
        other |= values[i] ^ values[0];
    return other == 0;
}

/* ---- dictionaries and what follows from them ---------------------------------------------- */

static uint32_t slot_of(uint64_t value)
{
    return (uint32_t)((value ^ value >> 32) * 0x9e3779b97f4a7c15u >> 32) % HASH_SLOTS;
}

/* Number of the value in the dictionary, which adds it if it is new; NOWHERE when it is full. */
static uint32_t entry_of(struct dictionary *dictionary, uint16_t *slots, uint64_t value,
                         uint32_t most)
{
    uint32_t slot = slot_of(value);
    while (slots[slot] && dictionary->values[slots[slot] - 1] != value)
        slot = (slot + 1) % HASH_SLOTS;
    if (slots[slot] == 0) {
        if (dictionary->count == most)
            return NOWHERE;
        dictionary->values[dictionary->count++] = value;
        slots[slot] = (uint16_t)dictionary->count;
    }
    return slots[slot] - 1u;
}

/* Entries of a dictionary of this column; 0 when it has too many different values. */
static uint32_t make_dictionary(struct xft_encode_workspace *w, int column, uint32_t rows)
{
    uint32_t most = rows / ROWS_PER_ENTRY < MOST_ENTRIES ? rows / ROWS_PER_ENTRY : MOST_ENTRIES;
    struct dictionary *dictionary = &w->dictionaries[column];
    memset(w->slots, 0, sizeof w->slots);
    dictionary->count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t value = w->values[column][i];
        bool again = i > 0 && value == w->values[column][i - 1];
        uint32_t entry =
            again ? w->indices[column][i - 1] : entry_of(dictionary, w->slots, value, most);
        if (entry == NOWHERE)
            return 0;
        w->indices[column][i] = (uint16_t)entry;
    }
    return dictionary->count;
}

/* Does every value of `base` always come with the same one of `column`? */
static bool follows(struct xft_encode_workspace *w, int column, int base, uint32_t rows)
{
    const uint16_t *from = w->indices[base], *to = w->indices[column];
    memset(w->mapped, 0xff, w->plans[base].entries * sizeof *w->mapped);
    for (uint32_t i = 0; i < rows; i++) {
        if (w->mapped[from[i]] == NOWHERE)
            w->mapped[from[i]] = to[i];
        else if (w->mapped[from[i]] != to[i])
            return false;
    }
    return true;
}

/* The dictionary that this column follows from: the smallest, among those planned so far. */
static int find_base(struct xft_encode_workspace *w, int column, uint32_t rows)
{
    int best = -1;
    for (uint32_t i = 0; i < w->columns; i++) {
        const struct plan *plan = &w->plans[w->order[i]];
        if (plan->encoding == XFT_ENC_DICT && plan->entries >= w->plans[column].entries &&
            (best < 0 || plan->entries < w->plans[best].entries) &&
            follows(w, column, w->order[i], rows))
            best = w->order[i];
    }
    return best;
}

/* ---- differences ---------------------------------------------------------------------------- */

/* A call ends soon after it starts, and most transfers are one row. */
static int base_of(int column)
{
    switch (column) {
    case COLUMN_end_ns:
        return COLUMN_start_ns;
    case COLUMN_width:
        return COLUMN_bytes;
    default:
        return -1;
    }
}

static uint64_t zigzag(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static unsigned bits_of(uint64_t value)
{
    return 64 - (unsigned)__builtin_clzll(value | 1);
}

/* A row's difference from the value that the encoding predicts. The first row of deltas counts as
 * no difference. */
static uint64_t difference(const struct xft_encode_workspace *w, int column,
                           enum xft_encoding encoding, uint32_t row)
{
    const uint64_t *values = w->values[column];
    if (encoding == XFT_ENC_DELTA_PLANES)
        return values[row] - values[row ? row - 1 : 0];
    if (encoding == XFT_ENC_DIFF_PLANES)
        return values[row] - w->values[w->plans[column].base][row];
    return values[row];
}

/* About how many bits the stored differences take; they have a sign. */
static uint64_t cost_of_differences(const struct xft_encode_workspace *w, int column,
                                    enum xft_encoding encoding, uint32_t rows)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < rows; i++)
        bits += bits_of(zigzag(difference(w, column, encoding, i)));
    return bits;
}

static uint64_t cost_of_values(const uint64_t *values, uint32_t rows)
{
    int64_t least = INT64_MAX;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < rows; i++)
        least = (int64_t)values[i] < least ? (int64_t)values[i] : least;
    for (uint32_t i = 0; i < rows; i++)
        bits += bits_of(values[i] - (uint64_t)least);
    return bits;
}

/* The least difference is subtracted from all, so that the rest is small and not negative. */
static void measure(struct xft_encode_workspace *w, int column, uint32_t rows)
{
    struct plan *plan = &w->plans[column];
    uint32_t first = plan->encoding == XFT_ENC_DELTA_PLANES ? 1 : 0;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = first; i < rows; i++) {
        int64_t d = (int64_t)difference(w, column, plan->encoding, i);
        least = d < least ? d : least;
        most = d > most ? d : most;
    }
    uint64_t span = (uint64_t)most - (uint64_t)least;
    plan->least = (uint64_t)least;
    plan->planes = span ? (bits_of(span) + 7) / 8 : 0;
}

static void plan_planes(struct xft_encode_workspace *w, int column, uint32_t rows)
{
    struct plan *plan = &w->plans[column];
    plan->base = base_of(column);
    if (plan->base >= 0 && w->plans[plan->base].absent)
        plan->base = -1;
    uint64_t plain = cost_of_values(w->values[column], rows), diff = UINT64_MAX;
    uint64_t delta = cost_of_differences(w, column, XFT_ENC_DELTA_PLANES, rows);
    if (plan->base >= 0)
        diff = cost_of_differences(w, column, XFT_ENC_DIFF_PLANES, rows);
    plan->encoding = delta < plain ? XFT_ENC_DELTA_PLANES : XFT_ENC_PLANES;
    if (diff <= plain && diff <= delta)
        plan->encoding = XFT_ENC_DIFF_PLANES;
    else
        plan->base = -1;
    measure(w, column, rows);
}

/* ---- planning ------------------------------------------------------------------------------- */

static void take(struct xft_encode_workspace *w, int column)
{
    w->order[w->columns++] = (uint8_t)column;
}

/* Plans a constant column, or a dictionary where that is possible. Times never get one. */
static void look_at(struct xft_encode_workspace *w, int column, uint32_t rows)
{
    struct plan *plan = &w->plans[column];
    *plan = (struct plan){.encoding = XFT_ENC_PLANES, .base = -1};
    if (is_constant(w->values[column], rows)) {
        plan->encoding = XFT_ENC_CONST;
        plan->absent = w->values[column][0] == 0;
        if (!plan->absent)
            take(w, column);
    } else if (column != COLUMN_start_ns && column != COLUMN_end_ns) {
        plan->entries = make_dictionary(w, column, rows);
    }
}

/* The dictionary with most entries that is not planned yet; -1 none. */
static int largest_dictionary(const struct xft_encode_workspace *w)
{
    int best = -1;
    for (int i = 0; i < FIELDS; i++) {
        const struct plan *plan = &w->plans[i];
        if (plan->encoding == XFT_ENC_PLANES && plan->entries > 0 &&
            (best < 0 || plan->entries > w->plans[best].entries))
            best = i;
    }
    return best;
}

static void plan_columns(struct xft_encode_workspace *w, uint32_t rows)
{
    w->columns = 0;
    if (rows == 0)
        return;
    for (int i = 0; i < FIELDS; i++)
        look_at(w, i, rows);
    for (int i; (i = largest_dictionary(w)) >= 0; take(w, i)) {
        w->plans[i].base = find_base(w, i, rows);
        w->plans[i].encoding = w->plans[i].base >= 0 ? XFT_ENC_MAP : XFT_ENC_DICT;
    }
    for (int i = 0; i < FIELDS; i++) {
        if (w->plans[i].encoding != XFT_ENC_PLANES)
            continue;
        plan_planes(w, i, rows);
        take(w, i);
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

struct output {
    unsigned char *start, *at;
    struct xft_cuts *cuts;
};

static void put_varint(struct output *out, uint64_t value)
{
    while (value >= 0x80) {
        *out->at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *out->at++ = (unsigned char)value;
}

/* Ends a piece here, if it is long enough and the list of cuts has room. */
static void cut(struct output *out)
{
    struct xft_cuts *cuts = out->cuts;
    uint32_t at = (uint32_t)(out->at - out->start);
    if (cuts->count < XFT_ENCODE_CUTS - 1 &&
        at - (cuts->count ? cuts->at[cuts->count - 1] : 0) >= PIECE_BYTES)
        cuts->at[cuts->count++] = at;
}

static void end_last_piece(struct output *out)
{
    struct xft_cuts *cuts = out->cuts;
    uint32_t length = (uint32_t)(out->at - out->start);
    if (cuts->count == 0 || cuts->at[cuts->count - 1] != length)
        cuts->at[cuts->count++] = length;
}

static void put_indices(struct output *out, const uint16_t *indices, uint32_t rows,
                        uint32_t entries)
{
    unsigned planes = entries > 256 ? 2 : 1;
    for (unsigned plane = 0; plane < planes; plane++) {
        cut(out);
        for (uint32_t i = 0; i < rows; i++)
            *out->at++ = (unsigned char)(indices[i] >> 8 * plane);
    }
    cut(out);
}

static void put_dictionary(struct output *out, const struct xft_encode_workspace *w, int column,
                           uint32_t rows)
{
    const struct dictionary *dictionary = &w->dictionaries[column];
    uint64_t before = 0;
    put_varint(out, dictionary->count);
    for (uint32_t i = 0; i < dictionary->count; i++) {
        put_varint(out, zigzag(dictionary->values[i] - before));
        before = dictionary->values[i];
    }
    put_indices(out, w->indices[column], rows, dictionary->count);
}

/* One value for each entry of the base's dictionary. */
static void put_map(struct output *out, struct xft_encode_workspace *w, int column, uint32_t rows)
{
    int base = w->plans[column].base;
    uint64_t before = 0;
    follows(w, column, base, rows); /* fills w->mapped */
    for (uint32_t i = 0; i < w->plans[base].entries; i++) {
        uint64_t value = w->dictionaries[column].values[w->mapped[i]];
        put_varint(out, zigzag(value - before));
        before = value;
    }
}

static void put_plane(struct output *out, const struct xft_encode_workspace *w, int column,
                      uint32_t rows, unsigned shift)
{
    const struct plan *plan = &w->plans[column];
    for (uint32_t i = 0; i < rows; i++)
        *out->at++ =
            (unsigned char)((difference(w, column, plan->encoding, i) - plan->least) >> shift);
    if (plan->encoding == XFT_ENC_DELTA_PLANES)
        *(out->at - rows) = 0; /* the first row's difference is 0 */
}

static void put_planes(struct output *out, const struct xft_encode_workspace *w, int column,
                       uint32_t rows)
{
    const struct plan *plan = &w->plans[column];
    if (plan->encoding == XFT_ENC_DELTA_PLANES)
        put_varint(out, w->values[column][0]);
    put_varint(out, zigzag(plan->least));
    *out->at++ = (unsigned char)plan->planes;
    for (unsigned plane = 0; plane < plan->planes; plane++) {
        cut(out);
        put_plane(out, w, column, rows, 8 * plane);
    }
    if (plan->planes)
        cut(out);
}

static void put_column(struct output *out, struct xft_encode_workspace *w, int column,
                       uint32_t rows)
{
    switch (w->plans[column].encoding) {
    case XFT_ENC_CONST:
        put_varint(out, w->values[column][0]);
        break;
    case XFT_ENC_DICT:
        put_dictionary(out, w, column, rows);
        break;
    case XFT_ENC_MAP:
        put_map(out, w, column, rows);
        break;
    default:
        put_planes(out, w, column, rows);
        break;
    }
}

size_t xft_encode_bound(uint32_t rows)
{
    return sizeof(struct xft_chunk) +
           FIELDS * (sizeof(struct xft_column) + COLUMN_EXTRA + VARINT_BYTES * (size_t)rows);
}

size_t xft_encode_events(struct xft_encode_workspace *w, const struct xft_chunk *chunk,
                         const struct xft_event *events, void *out, size_t capacity,
                         struct xft_cuts *cuts)
{
    cuts->count = 0;
    if (chunk->rows > XFT_ENCODE_ROWS || capacity < xft_encode_bound(chunk->rows))
        return 0;
    gather(w->values, events, chunk->rows);
    plan_columns(w, chunk->rows);
    struct xft_chunk head = *chunk;
    head.columns = w->columns;
    struct output o = {.start = out, .cuts = cuts};
    unsigned char *entry = o.start + sizeof head;
    memcpy(o.start, &head, sizeof head);
    o.at = entry + w->columns * sizeof(struct xft_column);
    for (uint32_t i = 0; i < w->columns; i++) {
        const struct plan *plan = &w->plans[w->order[i]];
        const unsigned char *from = o.at;
        put_column(&o, w, w->order[i], chunk->rows);
        struct xft_column column = {.id = (uint16_t)(w->order[i] + 1),
                                    .encoding = (uint8_t)plan->encoding,
                                    .base = (uint8_t)(plan->base + 1),
                                    .bytes = (uint32_t)(o.at - from)};
        memcpy(entry, &column, sizeof column);
        entry += sizeof column;
    }
    end_last_piece(&o);
    return (size_t)(o.at - o.start);
}
