#include "probe/net/ucx.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "probe/machine/machine_host.h"

enum { MOST_ROWS = 32, MOST_FILE_BYTES = 64 << 20 };

static int heard = -1; /* what UCX writes to; -1: nothing of ours */

/* ---- the tables ------------------------------------------------------------------------------ */

struct table {
    struct xfp_net_ucx_row *rows;
    size_t count, most;
    size_t begins;                   /* at which row the table that is read began */
    char messages[XFP_NET_UCX_TEXT]; /* its title; "" = none yet */
    bool to_itself;
};

/* Text without the blanks around it. */
static void copy_trimmed(char *to, const char *from, size_t length)
{
    while (length && isspace((unsigned char)*from))
        from++, length--;
    while (length && isspace((unsigned char)from[length - 1]))
        length--;
    snprintf(to, XFP_NET_UCX_TEXT, "%.*s", (int)length, from);
}

/* "6238", "64K", "inf". False: no size. */
static bool read_size(const char *text, const char **end, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    const char *unit;
    char *after;

    if (!strncmp(text, "inf", 3)) {
        *bytes = UINT64_MAX;
        *end = text + 3;
        return true;
    }
    if (!isdigit((unsigned char)*text))
        return false;
    *bytes = strtoull(text, &after, 10);
    unit = *after ? strchr(units, *after) : NULL;
    if (unit) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);

        if (*bytes > UINT64_MAX >> shift)
            return false;
        *bytes <<= shift;
        after++;
    }
    *end = after;
    return true;
}

/* "6238..inf" */
static bool read_range(const char *text, struct xfp_net_ucx_row *row)
{
    const char *end;

    if (!read_size(text, &end, &row->first_bytes) || strncmp(end, "..", 2))
        return false;
    return read_size(end + 2, &end, &row->last_bytes) && !*end &&
           row->first_bytes <= row->last_bytes && row->first_bytes <= INT64_MAX &&
           (row->last_bytes <= INT64_MAX || row->last_bytes == UINT64_MAX);
}

static bool is_known(const struct table *t, const struct xfp_net_ucx_row *row)
{
    for (size_t i = 0; i < t->count; i++)
        if (!memcmp(&t->rows[i], row, sizeof(*row)))
            return true;
    return false;
}

/* "(?) " before it: the other side decides, too. */
static void copy_protocol(char *to, const char *from, size_t length)
{
    char all[XFP_NET_UCX_TEXT];

    copy_trimmed(all, from, length);
    snprintf(to, XFP_NET_UCX_TEXT, "%s", strncmp(all, "(?) ", 4) ? all : all + 4);
}

static void add_row(struct table *t, const char *const cells[3], const size_t lengths[3])
{
    struct xfp_net_ucx_row row;
    char range[XFP_NET_UCX_TEXT];

    memset(&row, 0, sizeof(row)); /* whole: rows are compared so */
    copy_trimmed(range, cells[0], lengths[0]);
    if (!*t->messages || !read_range(range, &row))
        return;
    copy_trimmed(row.messages, t->messages, strlen(t->messages));
    copy_protocol(row.protocol, cells[1], lengths[1]);
    copy_trimmed(row.transport, cells[2], lengths[2]);
    t->to_itself |= !strncmp(row.transport, "self/", 5);
    if (t->count < t->most && !is_known(t, &row))
        t->rows[t->count++] = row;
}

/* A table ends with the next one's title. */
static void begin_table(struct table *t, const char *title, size_t length)
{
    if (t->to_itself)
        t->count = t->begins;
    t->begins = t->count;
    t->to_itself = false;
    if (title)
        copy_trimmed(t->messages, title, length);
}

/* The part of a log line that is a table's: from its frame on; NULL: none. */
static const char *frame_of(const char *line, size_t length)
{
    const char *after = memchr(line, ']', length), *end = line + length;

    if (*line == '[' && after) /* [time] [host:pid:thread] */
        after = memchr(after + 1, ']', (size_t)(end - after - 1));
    else
        after = line - 1;
    if (!after)
        return NULL;
    for (after++; after < end && *after == ' ';)
        after++;
    return after < end && (*after == '|' || *after == '+') ? after : NULL;
}

static void take_line(struct table *t, const char *frame, const char *end)
{
    const char *cells[4];
    size_t lengths[4], count = 0;

    if (*frame == '+')
        return;
    for (const char *cell = frame + 1, *bar; count < 4 && cell < end; cell = bar + 1) {
        bar = memchr(cell, '|', (size_t)(end - cell));
        if (!bar)
            break;
        cells[count] = cell;
        lengths[count++] = (size_t)(bar - cell);
    }
    if (count == 2)
        begin_table(t, cells[1], lengths[1]);
    if (count == 3)
        add_row(t, cells, lengths);
}

size_t xfp_net_ucx_parse(const char *text, struct xfp_net_ucx_row *rows, size_t most, FILE *rest)
{
    struct table t = {.rows = rows, .most = most};

    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *frame = frame_of(text, length);

        if (frame)
            take_line(&t, frame, text + length);
        else if (rest && length)
            xfc_print(rest, "%.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
    begin_table(&t, NULL, 0);
    return t.count;
}

/* ---- the file -------------------------------------------------------------------------------- */

#define OWN_FILES "/proc/self/fd/"

void xfp_net_ucx_listen(void)
{
    char name[64];

    if (getenv("UCX_PROTO_INFO") || getenv("UCX_LOG_FILE"))
        return;
    heard = memfd_create("xferscope-ucx", MFD_CLOEXEC);
    if (heard < 0)
        return;
    snprintf(name, sizeof(name), OWN_FILES "%d", heard);
    setenv("UCX_LOG_FILE", name, 1);
    setenv("UCX_PROTO_INFO", "y", 1);
}

void xfp_net_ucx_forget(void)
{
    const char *name = getenv("UCX_LOG_FILE");

    if (!name || strncmp(name, OWN_FILES, strlen(OWN_FILES)))
        return;
    unsetenv("UCX_LOG_FILE");
    unsetenv("UCX_PROTO_INFO");
}

/* Of a library that MPI has loaded, and keeps: this program does not. NULL: none. */
static void *loaded_function(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    void *function = handle ? dlsym(handle, name) : NULL;

    if (handle)
        dlclose(handle);
    return function;
}

void xfp_net_ucx_version(char *text, size_t bytes)
{
    const char *(*version)(void);

    *(void **)&version = loaded_function("libucp.so.0", "ucp_get_version_string");
    snprintf(text, bytes, "%s", version ? version() : "");
}

/* UCX writes when its buffer is full, or at the end. */
static void have_written(void)
{
    void (*flush)(void);

    *(void **)&flush = loaded_function("libucs.so.0", "ucs_log_flush");
    if (flush)
        flush();
}

/* All that came; NULL: nothing. */
static char *read_file(void)
{
    struct stat info;
    char *text = NULL;
    size_t bytes;

    have_written();
    if (heard < 0 || fstat(heard, &info))
        return NULL;
    bytes = info.st_size < MOST_FILE_BYTES ? (size_t)info.st_size : MOST_FILE_BYTES;
    text = calloc(1, bytes + 1);
    if (text && pread(heard, text, bytes, 0) <= 0) {
        free(text);
        text = NULL;
    }
    return text;
}

static void add_rows(struct xfp_net_run *run, const struct xfp_net_ucx_row *rows)
{
    struct xfp_network *network = xfp_net_of(run->session.profile);

    for (size_t i = 0; network && i < MOST_ROWS && *rows[i].messages; i++) {
        struct xfp_net_protocol p = {.messages = xfp_clean_text(rows[i].messages),
                                     .first_bytes = rows[i].first_bytes,
                                     .last_bytes = rows[i].last_bytes,
                                     .protocol = xfp_clean_text(rows[i].protocol),
                                     .transport = xfp_clean_text(rows[i].transport)};

        if (xfp_net_add_protocol(network, &p))
            return;
    }
}

void xfp_net_ucx_collect(struct xfp_net_run *run)
{
    struct xfp_net_ucx_row own[MOST_ROWS], *all = NULL;
    char *text = read_file();

    memset(own, 0, sizeof(own));
    if (text)
        xfp_net_ucx_parse(text, own, MOST_ROWS, stderr);
    free(text);
    if (!run->rank)
        all = calloc((size_t)run->count, sizeof(own));
    if (!run->rank && !all)
        xfp_net_give_up(run, "out of memory");
    xfp_net_mpi(run,
                MPI_Gather(own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, 0, run->results),
                "collecting what UCX says");
    for (int i = 0; all && i < run->count; i++)
        add_rows(run, &all[(size_t)i * MOST_ROWS]);
    free(all);
}
