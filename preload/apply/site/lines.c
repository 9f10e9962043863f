#include "preload/apply/site/lines.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "preload/apply/state/report.h"
#include "preload/python/python.h"
#include "xferscope/trace.h"

#define NAMED 512 /* lines that the plan names: as many as it has sites and callers */
#define PAUSES 1000

enum state { NOT_BEGUN, BEGINNING, BEGUN };

static struct xfs_python python;
static atomic_int state;

/* By number: 1 + the line's place in `named`; 0: the plan does not name it. Written before anybody
 * learns the number. */
static uint16_t named_as[XFS_PYTHON_SLOTS];
static struct {
    struct xfs_line line;
    char path[XFS_REPORT_PATH]; /* its end, where it is longer */
} named[NAMED];
static atomic_uint named_count;

/* ---- the reader's host ----------------------------------------------------------------------- */

static bool is_same(const struct xfs_line *a, const struct xfs_line *b)
{
    return a->file == b->file && a->function == b->function && a->line == b->line;
}

/* 1 + its place; 0: it has none. */
static uint16_t find(const struct xfs_line *line)
{
    unsigned count = atomic_load(&named_count);
    for (unsigned i = 0; i < count && i < NAMED; i++)
        if (is_same(&named[i].line, line))
            return (uint16_t)(i + 1);
    return 0;
}

/* A line has several numbers, one for each of its instructions. Two threads may add it twice, which
 * does no harm. */
static uint16_t add(const struct xfs_line *line, const char *path, size_t bytes)
{
    size_t kept = bytes < sizeof named->path ? bytes : sizeof named->path - 1;
    uint16_t known = find(line);
    unsigned at = known ? 0 : atomic_fetch_add(&named_count, 1);
    if (known || at >= NAMED)
        return known;
    memcpy(named[at].path, path + bytes - kept, kept);
    named[at].path[kept] = '\0';
    named[at].line = *line;
    return (uint16_t)(at + 1);
}

/* A new number: a struct xft_symbol and its texts. */
static bool keep(struct xfs_recorder *none, const void *payload, size_t bytes)
{
    struct xft_symbol symbol;
    (void)none, (void)bytes;
    memcpy(&symbol, payload, sizeof symbol);
    uint64_t number = symbol.address & ~XFT_PYTHON_FRAME;
    const char *path = (const char *)payload + sizeof symbol + symbol.function_bytes;
    struct xfs_line line = {
        .file = xft_plan_text_hash(path, symbol.file_bytes),
        .function = xft_plan_text_hash(path - symbol.function_bytes, symbol.function_bytes),
        .line = symbol.line,
    };
    if (number >= XFS_PYTHON_SLOTS)
        return false;
    if (xfs_plan_names(&line))
        named_as[number] = add(&line, path, symbol.file_bytes);
    return true;
}

static bool say_nothing(struct xfs_recorder *none, const char *key, const char *value)
{
    (void)none, (void)key, (void)value;
    return true;
}

static bool pause_briefly(const struct xfs_recorder *none, uint64_t *since)
{
    (void)none;
    sched_yield();
    return ++*since < PAUSES;
}

static const struct xfs_python_host host = {keep, say_nothing, pause_briefly};

/* ---- the lines of a call --------------------------------------------------------------------- */

/* False: another thread is at it. */
static bool begin(void)
{
    int none = NOT_BEGUN;
    if (atomic_compare_exchange_strong(&state, &none, BEGINNING)) {
        xfs_python_init(NULL, &host, &python);
        atomic_store(&state, BEGUN);
    }
    return atomic_load(&state) == BEGUN;
}

unsigned xfs_lines_here(struct xfs_line lines[XFS_LINES])
{
    uint64_t frames[XFS_PYTHON_FRAMES];
    unsigned count = 0;
    if (!begin() || !xfs_python_is_on(&python))
        return 0;
    uint32_t depth = xfs_python_take(&python, gettid(), frames, XFS_PYTHON_FRAMES);
    for (uint32_t i = 0; i < depth && count < XFS_LINES; i++) {
        uint16_t as = named_as[(frames[i] & ~XFT_PYTHON_FRAME) % XFS_PYTHON_SLOTS];
        if (as)
            lines[count++] = named[as - 1].line;
    }
    return count;
}

const char *xfs_line_path(const struct xfs_line *line)
{
    uint16_t as = find(line);
    return as ? named[as - 1].path : "";
}

void xfs_lines_after_fork(void)
{
    memset(&python, 0, sizeof python);
    memset(named_as, 0, sizeof named_as);
    atomic_store(&named_count, 0);
    atomic_store(&state, NOT_BEGUN);
}
