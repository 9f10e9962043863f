#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/record/lab.h"
#include "tests/record/finish.h"

char place[64];
char run_dir[128];
char said[8192];
const char *subject = SUBJECT;
struct decoded *traces[LAB_MOST_TRACES];
char paths[LAB_MOST_TRACES][512];
size_t trace_count;

/* ---- running ---------------------------------------------------------------------------- */

static void forget_traces(void)
{
    for (size_t i = 0; i < trace_count; i++)
        decode_free(traces[i]);
    trace_count = 0;
}

static int is_trace(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 6 && strcmp(entry->d_name + n - 6, ".trace") == 0;
}

void lab_read_traces(void)
{
    struct dirent **entries;
    forget_traces();
    int n = scandir(run_dir, &entries, is_trace, alphasort);
    for (int i = 0; i < n; i++) {
        assert_true(trace_count < LAB_MOST_TRACES);
        snprintf(paths[trace_count], sizeof paths[0], "%s/%s", run_dir, entries[i]->d_name);
        traces[trace_count] = decode_file(paths[trace_count]);
        assert_non_null(traces[trace_count]);
        trace_count++;
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

void lab_clean(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/*", place);
    assert_int_equal(system(command), 0);
}

pid_t lab_start(char **words)
{
    char log[128];
    snprintf(log, sizeof log, "%s/said", place);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    setenv("XFERSCOPE_OUTPUT", run_dir, 1);
    setenv("XFERSCOPE_STACKS", "0", 1);
    for (; strchr(words[0], '='); words++)
        putenv(words[0]);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDERR_FILENO);
    char *arguments[16] = {(char *)"subject"};
    for (int i = 0; i < 14 && words[i]; i++)
        arguments[i + 1] = words[i];
    execv(subject, arguments);
    _exit(127);
}

int lab_finish(pid_t child)
{
    char log[128];
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(log, sizeof log, "%s/said", place);
    FILE *file = fopen(log, "r");
    said[file ? fread(said, 1, sizeof said - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    lab_read_traces();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

size_t lab_count_aux(const struct decoded *trace, uint64_t aux)
{
    size_t n = 0;
    for (size_t i = 0; i < trace->count; i++)
        n += trace->events[i].event.aux == aux;
    return n;
}

void lab_check_closed(const struct decoded *trace, size_t events)
{
    assert_int_equal(trace->header.state, XFT_STATE_CLOSED);
    assert_int_equal(trace->count, events);
    assert_int_equal(trace->header.events_lost, 0);
    assert_int_equal(trace->header.file_bytes, trace->file_bytes);
    assert_int_equal(trace->segments[XFT_SEG_LANES], 0);
    assert_false(trace->damaged);
    assert_true(decode_is_complete(trace));
    assert_true(decode_is_indexed(trace));
}

void lab_complete(size_t i)
{
    char error[256] = "";
    if (finish_file(paths[i], true, error, sizeof error) != 0)
        fail_msg("%s", error);
    lab_read_traces();
}

int lab_make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/xferscope-record-XXXXXX");
    if (mkdtemp(place) == NULL)
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/run.xft", place);
    return 0;
}

int lab_remove_place(void **state)
{
    (void)state;
    forget_traces();
    lab_clean();
    return rmdir(place);
}
