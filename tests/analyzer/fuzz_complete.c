/*
 * Completing a trace, for libFuzzer (as fuzz_read.c). What the reader finds in a file, it must find
 * after completion too: every event, and every sign of damage; and once more after a second time.
 * The file lies in a folder of its own below $TMPDIR or /dev/shm. Half of the mutations are damage
 * as unfinished files have it (fuzz_damage.h).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "analyzer/read/read.h"
#include "tests/analyzer/lab/lossy.h"
#include "tests/analyzer/fuzz_damage.h"
#include "tests/analyzer/fuzz_input.h"
#include "preload/format/rewrite.h"
#include "tests/record/finish.h"

static char folder[256], path[300];

struct found {
    bool readable, lossy, closed, ends_early;
    struct xfa_loss loss;
    uint64_t events, bytes, duplicates;
};

static void wrong(const char *what, uint64_t before, uint64_t after)
{
    fprintf(stderr, "completion: %s: %llu before, %llu after\n", what, (unsigned long long)before,
            (unsigned long long)after);
    abort();
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static bool make_folder(void)
{
    const char *wanted = getenv("TMPDIR");
    if (folder[0])
        return true;
    snprintf(folder, sizeof folder, "%s/xferscope-fuzz-XXXXXX", wanted ? wanted : "/dev/shm");
    if (mkdtemp(folder) == NULL) {
        folder[0] = '\0';
        return false;
    }
    snprintf(path, sizeof path, "%s/1-1.trace", folder);
    atexit(remove_folder);
    return true;
}

static bool write_trace(const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
    if (fd >= 0)
        close(fd);
    return good;
}

static void add_batch(void *context, const struct xfa_batch *batch)
{
    struct found *found = context;
    for (size_t i = 0; i < batch->rows; i++)
        found->bytes += batch->events[i].bytes ^ batch->events[i].start_ns;
    found->events += batch->rows;
}

static struct found read_trace(void)
{
    char error[512];
    struct found found = {.readable = false};
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    if (!trace)
        return found;
    found.readable = true;
    xfa_trace_events(trace, add_batch, &found);
    found.loss = trace->loss;
    found.lossy = is_lossy(trace);
    found.closed = trace->header.state == XFT_STATE_CLOSED;
    found.ends_early = trace->loss.truncated || trace->header.file_bytes > trace->source.bytes;
    found.duplicates = trace->duplicate_events;
    xfa_trace_close(trace);
    return found;
}

/* The numbers saturate in the one and wrap in the other, far beyond what a file can hold. */
static bool is_less(uint64_t after, uint64_t before)
{
    return before < UINT64_C(1) << 62 && after < before;
}

static void compare(const struct found *before, const struct found *after)
{
    if (!after->readable)
        wrong("readable", 1, 0);
    if (before->loss.header_damaged)
        wrong("a damaged header was completed", 1, 1);
    /* of events that lie in several places with the same number, others may come first */
    if (before->events != after->events)
        wrong("events", before->events, after->events);
    if (before->duplicates == 0 && before->bytes != after->bytes)
        wrong("contents of events", before->bytes, after->bytes);
    if (before->lossy && !after->lossy)
        wrong("signs of damage", 1, 0);
    if (is_less(after->loss.damaged_segments, before->loss.damaged_segments + before->ends_early))
        wrong("damaged places", before->loss.damaged_segments, after->loss.damaged_segments);
    if (is_less(after->loss.bad_rows, before->loss.bad_rows))
        wrong("malformed events", before->loss.bad_rows, after->loss.bad_rows);
}

/* Whatever the state of the file says. */
static struct xft_damage rewrite_again(void)
{
    struct xft_packer packer;
    int fd = open(path, O_RDONLY);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    void *bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED || !xft_packer_init(&packer, &xft_linked_zstd))
        abort();
    struct xft_rewrite job = {
        .file = bytes, .size = (size_t)size, .packer = &packer, .decompress = ZSTD_decompress};
    if (!xft_rewrite(&job, path))
        abort();
    close(job.fd);
    xft_packer_free(&packer);
    munmap(bytes, (size_t)size);
    close(fd);
    return job.damage;
}

/* The file was completed, or was closed already: then it is rewritten here. */
static void check(const struct found *before)
{
    if (before->closed)
        rewrite_again();
    struct found after = read_trace();
    compare(before, &after);
    struct xft_damage damage = rewrite_again();
    if (damage.places || damage.events)
        wrong("damage of a completed file", 0, damage.places);
    struct found twice = read_trace();
    compare(&after, &twice);
    if (twice.loss.damaged_segments != after.loss.damaged_segments)
        wrong("damaged places, the second time", after.loss.damaged_segments,
              twice.loss.damaged_segments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[512] = "";
    size_t bytes;
    uint8_t *file = make_folder() ? fuzz_trace(data, size, &bytes) : NULL;
    if (file && write_trace(file, bytes)) {
        struct found before = read_trace();
        int status = finish_file(path, true, error, sizeof error);
        if (status == 0 && before.readable)
            check(&before);
        if (status != 0 && (error[0] == '\0' || strchr(error, '\n')))
            wrong("one line of error", 1, 0);
    }
    free(file);
    return 0;
}

/* libFuzzer's own, which the replay has not. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    if (size < 2 || seed % 2)
        return LLVMFuzzerMutate(data, size, most);
    data[0] = (uint8_t)(seed / 2 % 8 ? 1 : seed >> 8);
    return 1 + damage_unfinished(data + 1, size - 1, seed);
}
