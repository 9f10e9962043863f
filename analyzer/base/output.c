#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "common/text.h"

#define DEFAULT_WIDTH 120
#define LEAST_WIDTH 60
#define MOST_WIDTH 1000

static int failed(struct xfa_output *output)
{
    xfc_print(stderr, "xferscope: cannot write %s: %s\n",
              output->path ? output->path : "standard output", strerror(errno));
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (struct xfa_output){0};
    return -1;
}

static FILE *create_beside(struct xfa_output *output)
{
    output->temporary = xfa_print("%s.XXXXXX", output->path);
    int fd = mkstemp(output->temporary);
    if (fd < 0)
        return NULL;
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask) != 0) {
        close(fd);
        return NULL;
    }
    return fdopen(fd, "w");
}

int xfa_output_open(struct xfa_output *output, const char *path)
{
    struct stat status;
    *output = (struct xfa_output){.stream = stdout};
    if (!path || strcmp(path, "-") == 0)
        return 0;
    output->path = xfa_text(path);
    bool direct = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    output->stream = direct ? fopen(path, "w") : create_beside(output);
    return output->stream ? 0 : failed(output);
}

int xfa_output_close(struct xfa_output *output)
{
    bool bad = ferror(output->stream) != 0;
    if (output->path)
        bad = fclose(output->stream) != 0 || bad;
    else
        bad = fflush(output->stream) != 0 || bad;
    if (bad || (output->temporary && rename(output->temporary, output->path) != 0))
        return failed(output);
    free(output->temporary);
    free(output->path);
    *output = (struct xfa_output){0};
    return 0;
}

int xfa_output_width(FILE *stream)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : DEFAULT_WIDTH;
    if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col)
        width = size.ws_col;
    if (width < LEAST_WIDTH)
        width = LEAST_WIDTH;
    return width > MOST_WIDTH ? MOST_WIDTH : (int)width;
}
