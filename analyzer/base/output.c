#include "analyzer/base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/text.h"

#define DEFAULT_WIDTH 120
#define LEAST_WIDTH 60
#define MOST_WIDTH 1000

static int failed(struct xfa_output *output, const char *why)
{
    xfc_print(stderr, "xferscope: cannot write %s: %s\n",
              output->path ? output->path : "standard output", why);
    *output = (struct xfa_output){0};
    return -1;
}

/* Profiles lie where commands look them up by host name, and take minutes to measure: a report of
 * that name must not replace one. */
static bool is_profile(const char *path)
{
    char head[256] = "";
    const char *why;
    int fd = xfa_open_regular(path, &why);
    if (fd < 0)
        return false;
    (void)!read(fd, head, sizeof head - 1);
    close(fd);
    return strstr(head, "\"schema\"") && strstr(head, "\"xferscope-profile\"");
}

/* libc takes 4 KiB at a time, whatever size setvbuf() gets without a buffer. */
static void take_much(FILE *stream)
{
    static char buffer[1u << 18];
    if (!isatty(fileno(stream)) && fflush(stream) == 0)
        setvbuf(stream, buffer, _IOFBF, sizeof buffer);
}

int xfa_output_open(struct xfa_output *output, const char *path)
{
    *output = (struct xfa_output){.stream = stdout};
    if (!path || strcmp(path, "-") == 0) {
        take_much(stdout);
        return 0;
    }
    output->path = path;
    if (is_profile(path))
        return failed(output, "a machine profile is not replaced by anything else");
    if (xfa_replace_begin(&output->file, path) != 0)
        return failed(output, output->file.why);
    output->stream = output->file.stream;
    take_much(output->stream);
    return 0;
}

int xfa_output_close(struct xfa_output *output)
{
    if (output->path && xfa_replace_end(&output->file) != 0)
        return failed(output, output->file.why);
    if (!output->path && (fflush(stdout) != 0 || ferror(stdout)))
        return failed(output, strerror(errno));
    *output = (struct xfa_output){0};
    return 0;
}

const char *xfa_output_replaces(const char *path, const char *const *inputs, size_t count)
{
    if (!path || strcmp(path, "-") == 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (inputs[i] && xfa_replaces(path, inputs[i]))
            return inputs[i];
    return NULL;
}

void xfa_output_drop(struct xfa_output *output)
{
    if (output->path)
        xfa_replace_drop(&output->file);
    *output = (struct xfa_output){0};
}

bool xfa_output_colour(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(stream)) && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

/* 0: not a terminal. */
static long terminal_width(FILE *stream)
{
    struct winsize size;
    bool known = isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
    return known ? size.ws_col : 0;
}

int xfa_output_width(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    long width = terminal_width(stream);
    if (width == 0 && columns)
        width = strtol(columns, NULL, 10);
    else if (width == 0 && stream == stdout)
        width = terminal_width(stderr);
    if (width == 0 && !columns)
        width = DEFAULT_WIDTH;
    if (width < LEAST_WIDTH)
        width = LEAST_WIDTH;
    return width > MOST_WIDTH ? MOST_WIDTH : (int)width;
}
