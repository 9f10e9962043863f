#include "tests/analyzer/lab/members.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"

enum { MOST = 16 };
enum what { EXCHANGE = 1, FAIL, OVER };

struct head {
    uint64_t what, bytes;
};

/* ---- both sides ------------------------------------------------------------------------------ */

static void give(int to, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t n = write(to, at, count);
        if (n <= 0)
            _exit(9);
        at += n;
        count -= (size_t)n;
    }
}

static bool take(int from, void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t n = read(from, at, count);
        if (n <= 0)
            return false;
        at += n;
        count -= (size_t)n;
    }
    return true;
}

static void send_bytes(int to, enum what what, const void *bytes, size_t count)
{
    const struct head head = {what, count};
    give(to, &head, sizeof head);
    give(to, bytes, count);
}

static enum what receive(int from, struct xfa_parcel *parcel)
{
    struct head head;
    *parcel = (struct xfa_parcel){0};
    if (!take(from, &head, sizeof head))
        return FAIL;
    char *bytes = xfa_alloc(head.bytes + 1);
    if (!take(from, bytes, head.bytes))
        abort();
    xfa_parcel_put(parcel, bytes, head.bytes);
    free(bytes);
    return (enum what)head.what;
}

/* ---- a member -------------------------------------------------------------------------------- */

static int hub; /* of this member */

static void exchange(void *self, const struct xfa_parcel *mine, struct xfa_parcel *all)
{
    const struct xfa_team *team = self;
    send_bytes(hub, EXCHANGE, mine->bytes, mine->count);
    for (uint32_t i = 0; i < team->count; i++)
        if (receive(hub, &all[i]) != EXCHANGE)
            _exit(9);
}

static void end_member(void *self, const char *why) __attribute__((noreturn));
static void end_member(void *self, const char *why)
{
    (void)self;
    send_bytes(hub, FAIL, why, strlen(why));
    _exit(1);
}

static void live(uint32_t rank, uint32_t count, member_fn *member, void *context)
{
    struct xfa_team team = {rank, count, &team, exchange, end_member, 0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    member(&team, context, out);
    fclose(out);
    send_bytes(hub, OVER, text, bytes);
    free(text);
    _exit(0);
}

/* ---- the test's process ---------------------------------------------------------------------- */

static char *text_of(const char *before, const struct xfa_parcel *parcel)
{
    return xfa_print("%s%.*s", before, (int)parcel->count, (const char *)parcel->bytes);
}

/* One step of all. Not NULL: it was the last one. */
static char *step(const int *ends, uint32_t count)
{
    struct xfa_parcel parcels[MOST];
    char *result = NULL;
    for (uint32_t i = 0; i < count; i++) {
        enum what what = receive(ends[i], &parcels[i]);
        if (what == FAIL && !result)
            result = text_of("failed: ", &parcels[i]);
        else if (what == OVER && i == 0)
            result = text_of("", &parcels[i]);
    }
    for (uint32_t to = 0; to < count && !result; to++)
        for (uint32_t i = 0; i < count; i++)
            send_bytes(ends[to], EXCHANGE, parcels[i].bytes, parcels[i].count);
    for (uint32_t i = 0; i < count; i++)
        xfa_parcel_free(&parcels[i]);
    return result;
}

char *members_run(uint32_t count, member_fn *member, void *context)
{
    int ends[MOST];
    pid_t pids[MOST];
    char *result = NULL;
    fflush(NULL);
    for (uint32_t i = 0; i < count; i++) {
        int pair[2];
        if (count > MOST || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
            abort();
        ends[i] = pair[0];
        hub = pair[1];
        pids[i] = fork();
        if (pids[i] == 0) {
            for (uint32_t k = 0; k <= i; k++)
                close(ends[k]);
            live(i, count, member, context);
        }
        close(pair[1]);
    }
    while (!result)
        result = step(ends, count);
    for (uint32_t i = 0; i < count; i++) {
        close(ends[i]);
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    return result;
}

char *members_none(member_fn *member, void *context)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    member(NULL, context, out);
    fclose(out);
    return text;
}

void members_same(const char *alone, const char *together, unsigned number, unsigned members)
{
    size_t at = 0;
    while (alone[at] && alone[at] == together[at])
        at++;
    if (!alone[at] && !together[at])
        return;
    at -= at < 100 ? at : 100;
    fail_msg("run %u, %u members:\n%.300s\nalone:\n%.300s", number, members, together + at,
             alone + at);
}
