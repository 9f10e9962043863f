#include "preload/record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "preload/record/bus.h"
#include "preload/record/notes.h"
#include "preload/record/events.h"

#define MOST_PATH_SAID 300

/* Kept over fork: a child of a process that records joins its run. */
static char run_directory[PATH_MAX];

/* ---- where ------------------------------------------------------------------------------ */

/* Absolute, since the program may change its working directory. */
static bool choose_directory(const struct xfs_settings *settings, bool *must_make)
{
    char name[NAME_MAX + 1], here[PATH_MAX] = "";
    const char *wanted = settings->output;
    *must_make = false;
    if (run_directory[0])
        return true;
    if (wanted[0] == '\0') {
        snprintf(name, sizeof name, "%.200s-%d.xft", program_invocation_short_name, (int)getpid());
        wanted = name;
        *must_make = true;
    }
    if (wanted[0] != '/' && getcwd(here, sizeof here - 1) == NULL)
        return false;
    size_t n = strlen(here), bytes = strlen(wanted) + 1;
    if (n > 0 && here[n - 1] != '/')
        here[n++] = '/';
    if (n + bytes > sizeof run_directory) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(mempcpy(run_directory, here, n), wanted, bytes);
    return true;
}

/* ---- the first segments ----------------------------------------------------------------- */

static uint64_t calendar_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads the calendar between two readings of the trace's clock, and keeps the narrowest of three,
 * since the thread may be interrupted. Files of several hosts are aligned by it. */
static void read_clocks(uint64_t *mono, uint64_t *real)
{
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = xfs_now_ns(), calendar = calendar_ns(), after = xfs_now_ns();
        if (i > 0 && after - before >= narrowest)
            continue;
        narrowest = after - before;
        *mono = before + narrowest / 2;
        *real = calendar;
    }
}

/* ---- creating --------------------------------------------------------------------------- */

/* zstd or none; replaces an earlier packer. */
static bool make_packer(struct xfs_recorder *recorder, const struct xft_zstd *zstd)
{
    struct xft_packer packer;
    if (!xft_packer_init(&packer, zstd))
        return false;
    size_t bytes = xft_pack_events_bound(&packer);
    void *packed = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (packed == MAP_FAILED) {
        xft_packer_free(&packer);
        return false;
    }
    pthread_mutex_lock(&recorder->pack_lock);
    xft_packer_free(&recorder->packer);
    if (recorder->packed)
        munmap(recorder->packed, recorder->packed_bytes);
    recorder->packer = packer;
    recorder->packed = packed;
    recorder->packed_bytes = bytes;
    pthread_mutex_unlock(&recorder->pack_lock);
    return true;
}

/* The run directory of `xferscope record` is always new. */
static bool is_named_by_user(const struct xfs_settings *settings)
{
    return settings->output[0] && !settings->run[0];
}

static bool create_file(struct xfs_recorder *recorder)
{
    bool must_make, named = is_named_by_user(recorder->settings);
    char prefix[XFS_PREFIX_BYTES];
    struct xft_file_header header = {
        .pid = recorder->pid,
        .ppid = getppid(),
    };
    read_clocks(&header.start_mono_ns, &header.start_real_ns);
    xfs_process_prefix(&recorder->process, prefix);
    if (!choose_directory(recorder->settings, &must_make) ||
        !xfs_file_create(&recorder->file, run_directory, must_make, named, prefix, &header))
        return false;
    atomic_store(&recorder->header, recorder->file.header);
    return true;
}

/* Of a long path the end is shown, so that the reason still fits. */
static struct xfs_recorder *cannot_record(const struct xfs_recorder *recorder)
{
    static char line[XFS_NOTES_WHY_BYTES];
    const char *reason = recorder && recorder->file.foreign
                             ? "it is another user's, or others may write to it"
                             : strerrordesc_np(errno);
    size_t bytes = strlen(run_directory), cut = bytes > MOST_PATH_SAID ? bytes - MOST_PATH_SAID : 0;
    snprintf(line, sizeof line, "cannot record in %s%s: %s", cut ? "..." : "",
             bytes ? run_directory + cut : "this directory", reason ? reason : "unknown error");
    xfs_log("%s", line);
    xfs_notes_refused(line);
    return NULL;
}

static bool open_file(struct xfs_recorder *recorder)
{
    const struct xfs_settings *settings = recorder->settings;
    xfs_notes_open(settings->run);
    if (!xfs_size_allows(settings->most_bytes)) {
        xfs_notes_refused("the run has the size that XFERSCOPE_MAX_SIZE allows");
        errno = 0;
        return false;
    }
    if (!create_file(recorder))
        return false;
    if (!make_packer(recorder, NULL) || !xfs_process_calls(recorder) || !xfs_lanes_init(recorder)) {
        xfs_file_discard(&recorder->file);
        return false;
    }
    xfs_process_note(recorder);
    xfs_notes_begun(run_directory);
    xfs_clock_start();
    xfs_rooms_supply(recorder);
    xfs_lanes_supply(recorder); /* threads rely on what is kept ready */
    return true;
}

struct xfs_recorder *xfs_recorder_create(const struct xfs_settings *settings)
{
    struct xfs_recorder *recorder =
        mmap(NULL, sizeof *recorder, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (recorder == MAP_FAILED)
        return cannot_record(NULL);
    xfs_bus_watch();
    recorder->settings = settings;
    recorder->pid = getpid();
    pthread_mutex_init(&recorder->pack_lock, NULL);
    sem_init(&recorder->wake, 0, 0);
    sem_init(&recorder->begun, 0, 0);
    xfs_numbers_init(&recorder->names, XFS_NAME_SLOTS, xfs_writer_wait);
    if (settings->arguments)
        xfs_numbers_init(&recorder->arguments, XFS_ARGUMENT_SLOTS, xfs_writer_wait);
    xfs_process_look(&recorder->process);
    if (!xfs_writer_start(recorder, open_file))
        return errno ? cannot_record(recorder) : NULL;
    xfs_verbose("recording in %s", recorder->file.path);
    return recorder;
}

void xfs_recorder_equip(struct xfs_recorder *recorder)
{
    const struct xfs_libraries *libraries = xfs_libraries_load();
    if (libraries->zstd)
        make_packer(recorder, libraries->zstd);
    xfs_stacks_init(recorder);
    xfs_write_meta(recorder, "sources", recorder->settings->sources ? "on" : "off");
    xfs_write_meta(recorder, "stacks", recorder->stacks.numbers.slots ? "on" : "off");
    atomic_store_explicit(&recorder->libraries, libraries, memory_order_release);
}
