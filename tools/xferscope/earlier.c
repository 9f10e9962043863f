#include "tools/xferscope/earlier.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/read/read.h"
#include "tools/xferscope/record.h"

/* ---- the run --------------------------------------------------------------------------------- */

/* When the process of a trace began, by the calendar; 0: it is no trace. */
static uint64_t began_at(const char *file)
{
    struct xft_file_header header;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, &header, sizeof header, 0) : -1;

    if (fd >= 0)
        close(fd);
    if (n != sizeof header || memcmp(header.magic, XFT_MAGIC, sizeof header.magic) != 0)
        return 0;
    return header.start_real_ns;
}

/* The latest of a run's processes; 0: it is no run. */
static uint64_t run_began_at(const char *run)
{
    char error[2 * PATH_MAX];
    uint64_t latest = 0;
    size_t count;
    char **files = xfa_run_files(run, &count, error, sizeof error);

    for (size_t i = 0; i < count; i++) {
        uint64_t began = began_at(files[i]);

        latest = began > latest ? began : latest;
    }
    xfa_run_files_free(files, count);
    return latest;
}

/* In the working directory. False: there is none. */
static bool last_run(char *run, size_t bytes)
{
    uint64_t latest = 0;
    glob_t found;

    if (glob("*.xft", 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        uint64_t began = run_began_at(found.gl_pathv[i]);

        if (began > latest && strlen(found.gl_pathv[i]) < bytes) {
            latest = began;
            snprintf(run, bytes, "%s", found.gl_pathv[i]);
        }
    }
    globfree(&found);
    return latest > 0;
}

/* Absolute, without slashes at its end. */
static int name_run(const char *name, struct earlier *earlier, char *error, size_t error_bytes)
{
    char found[PATH_MAX];
    size_t length;

    if (!name && !last_run(found, sizeof found)) {
        snprintf(error, error_bytes, "there is no run in this directory; which one?");
        return -1;
    }
    if (!realpath(name ? name : found, earlier->run)) {
        snprintf(error, error_bytes, "%s: %s", name ? name : found, strerror(errno));
        return -1;
    }
    length = strlen(earlier->run);
    if (length > 4 && strcmp(earlier->run + length - 4, ".xft") == 0)
        return 0;
    snprintf(error, error_bytes, "%s is not the directory of a run (NAME.xft)", name);
    return -1;
}

/* ---- how it was recorded --------------------------------------------------------------------- */

static size_t words_in(const char *text)
{
    size_t count = 1;

    for (; *text; text++)
        count += *text == *RECORD_WORD;
    return count;
}

static void add_words(struct earlier *earlier, char *text)
{
    char *word;

    while ((word = strsep(&text, RECORD_WORD)))
        earlier->argv[earlier->argc++] = word;
}

/* Takes the text, which is META's `started`. False: it is none, or memory is short. */
static bool parse(char *text, struct earlier *earlier)
{
    static char command[] = "again", end[] = "--";
    char *folder = strsep(&text, RECORD_PART), *options = strsep(&text, RECORD_PART);
    char *program = text;

    if (!folder || !options || !program || !*folder || !*program)
        return false;
    snprintf(earlier->folder, sizeof earlier->folder, "%s", folder);
    earlier->argv = calloc(words_in(options) + words_in(program) + 3, sizeof *earlier->argv);
    if (!earlier->argv)
        return false;
    earlier->argc = 0;
    earlier->argv[earlier->argc++] = command;
    if (*options)
        add_words(earlier, options);
    if (strcmp(earlier->argv[earlier->argc - 1], "--") != 0)
        earlier->argv[earlier->argc++] = end;
    add_words(earlier, program);
    return true;
}

/* Of the first file that has it; NULL: none has. The caller frees it. */
static char *started_with(const char *run, char *error, size_t error_bytes)
{
    char *text = NULL;
    size_t count;
    char **files = xfa_run_files(run, &count, error, error_bytes);

    for (size_t i = 0; i < count && !text; i++) {
        struct xfa_trace *trace = xfa_trace_open(files[i], error, error_bytes);
        const char *started = trace ? xfa_trace_meta(trace, "started") : NULL;

        if (started)
            text = strdup(started);
        if (trace && !started)
            snprintf(error, error_bytes,
                     "%s does not tell how it was recorded (by an older xferscope, without "
                     "`record`, or with a very long command line)",
                     run);
        if (trace)
            xfa_trace_close(trace);
    }
    xfa_run_files_free(files, count);
    return text;
}

int earlier_find(const char *name, struct earlier *earlier, char *error, size_t error_bytes)
{
    if (name_run(name, earlier, error, error_bytes) != 0)
        return -1;
    earlier->text = started_with(earlier->run, error, error_bytes);
    if (!earlier->text)
        return -1;
    if (parse(earlier->text, earlier))
        return 0;
    snprintf(error, error_bytes, "%s does not tell how it was recorded", earlier->run);
    return -1;
}
