#define XXH_INLINE_ALL
#include "preload/record/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "preload/record/notes.h"
#include "preload/record/recorder.h"
#include "preload/record/events.h"

static size_t read_file(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);
    if (fd >= 0)
        close(fd);
    n = n < 0 ? 0 : n;
    text[n] = '\0';
    return (size_t)n;
}

/* Arguments joined by \x1f. */
static void read_command(char *text, size_t room)
{
    size_t n = read_file("/proc/thread-self/cmdline", text, room);
    if (n > 0 && text[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = '\x1f';
}

/* Hashed as the probe does, so that trace and profile can be compared. */
static void machine_id(char *text, size_t room)
{
    char id[128];
    read_file("/etc/machine-id", id, sizeof id);
    id[strcspn(id, "\n")] = '\0';
    text[0] = '\0';
    if (id[0])
        snprintf(text, room, "%016llx",
                 (unsigned long long)XXH3_64bits_withSeed(id, strlen(id), XFT_MACHINE_ID_SEED));
}

/* ---- the host and its clock -------------------------------------------------------------- */

/* "time:[4026531834]": between the brackets; "" where the kernel has no such namespaces. */
static void time_namespace(char *text, size_t room)
{
    ssize_t n = readlink("/proc/thread-self/ns/time", text, room - 1);
    text[n > 0 ? n : 0] = '\0';
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    size_t bytes = close ? (size_t)(close - open - 1) : 0;
    memmove(text, close ? open + 1 : text, bytes);
    text[bytes] = '\0';
}

/* CLOCK_MONOTONIC is one clock in all processes of a boot and a time namespace. */
static void write_host(struct xfs_recorder *recorder)
{
    char text[256], boot[64], namespace[64], clock[sizeof boot + sizeof namespace];
    if (gethostname(text, sizeof text) == 0) {
        text[sizeof text - 1] = '\0';
        xfs_write_meta(recorder, "hostname", text);
    }
    machine_id(text, sizeof text);
    if (text[0])
        xfs_write_meta(recorder, "machine_id", text);
    read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = '\0';
    if (boot[0] == '\0')
        return;
    xfs_write_meta(recorder, "boot_id", boot);
    if (!xfs_clock_is_monotonic())
        return;
    time_namespace(namespace, sizeof namespace);
    snprintf(clock, sizeof clock, namespace[0] ? "%s/%s" : "%s", boot, namespace);
    xfs_write_meta(recorder, "clock", clock);
}

/* ---- the rank ------------------------------------------------------------------------------ */

void xfs_process_look(struct xfs_process *process)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    process->visible_set = visible != NULL;
    if (visible)
        snprintf(process->visible, sizeof process->visible, "%s", visible);
    xfs_rank_find(&process->rank);
}

void xfs_process_prefix(const struct xfs_process *process, char prefix[XFS_PREFIX_BYTES])
{
    char host[256] = "";
    prefix[0] = '\0';
    if (process->rank.rank < 0)
        return;
    if (gethostname(host, sizeof host) != 0)
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    for (char *c = host; *c; c++)
        if (strchr("/.", *c) || (unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            *c = '_';
    snprintf(prefix, XFS_PREFIX_BYTES, "%.40s.rank%d.", host[0] ? host : "host",
             (int)process->rank.rank);
}

static void write_count(struct xfs_recorder *recorder, const char *key, int32_t count)
{
    char text[16];
    if (count < 0)
        return;
    snprintf(text, sizeof text, "%d", (int)count);
    xfs_write_meta(recorder, key, text);
}

static void write_text(struct xfs_recorder *recorder, const char *key, const char *text)
{
    if (text[0])
        xfs_write_meta(recorder, key, text);
}

static void write_rank(struct xfs_recorder *recorder, const struct xfs_rank *rank)
{
    char why[128];
    write_count(recorder, "rank", rank->rank);
    write_text(recorder, "rank.launcher", rank->launcher ? rank->launcher : "");
    write_count(recorder, "rank.size", rank->size);
    write_count(recorder, "rank.local", rank->local);
    write_count(recorder, "rank.local_size", rank->local_size);
    write_count(recorder, "rank.node", rank->node);
    write_text(recorder, "rank.world", rank->world);
    if (rank->senseless) {
        snprintf(why, sizeof why, "%s makes no sense", rank->senseless);
        xfs_write_meta(recorder, "rank.why", why);
    }
    write_text(recorder, "job.id", rank->job);
    write_text(recorder, "job.step", rank->step);
    write_text(recorder, "job.node", rank->node_name);
}

void xfs_process_note(struct xfs_recorder *recorder)
{
    char text[PATH_MAX];
    if (recorder->settings->run[0]) /* first: a trace that was cut short still has it */
        xfs_write_meta(recorder, "run", recorder->settings->run);
    xfs_write_meta(recorder, "xferscope.version", XFERSCOPE_VERSION);
    ssize_t n = readlink("/proc/thread-self/exe", text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    xfs_write_meta(recorder, "exe", text);
    read_command(text, sizeof text);
    xfs_write_meta(recorder, "cmdline", text);
    if (getcwd(text, sizeof text))
        xfs_write_meta(recorder, "cwd", text);
    if (xfs_notes_started())
        xfs_write_meta(recorder, "started", xfs_notes_started());
    write_host(recorder);
    write_rank(recorder, &recorder->process.rank);
    if (recorder->shares_descriptors)
        xfs_write_meta(recorder, "descriptors", "shared");
    if (recorder->process.visible_set)
        xfs_write_meta(recorder, "env.CUDA_VISIBLE_DEVICES", recorder->process.visible);
}

/* ---- the calls' names ---------------------------------------------------------------------- */

static size_t put_table(unsigned char *out, const struct xfs_call_info *calls, size_t count,
                        size_t first_id)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = strnlen(calls[i].name, UINT8_MAX);
        struct xft_call_name call = {(uint16_t)(first_id + i), (uint8_t)calls[i].level,
                                     (uint8_t)bytes};
        if (out) {
            memcpy(out + n, &call, sizeof call);
            memcpy(out + n + sizeof call, calls[i].name, bytes);
        }
        n += sizeof call + bytes;
    }
    return n;
}

static size_t put_calls(unsigned char *out)
{
    size_t n = put_table(out, xfs_calls, xfs_call_count, 0);
    return n + put_table(out ? out + n : NULL, xfs_message_calls, xfs_message_call_count,
                         XFS_MESSAGE_CALLS);
}

bool xfs_process_calls(struct xfs_recorder *recorder)
{
    size_t bytes = put_calls(NULL);
    unsigned char *out =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED)
        return false;
    put_calls(out);
    bool good = xfs_write_list(recorder, XFT_SEG_CALLS, out, bytes);
    munmap(out, bytes ? bytes : 1);
    return good;
}
