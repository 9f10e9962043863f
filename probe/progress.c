#include "progress.h"

#include <stdio.h>
#include <unistd.h>

const char *xfp_size_text(uint64_t bytes, char *text, size_t room)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;

    while (bytes >= 1024 && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, room, "%llu %s", (unsigned long long)bytes, units[unit]);
    return text;
}

static bool shown(const struct xfp_session *s)
{
    return !s->options->quiet && isatty(STDERR_FILENO);
}

void xfp_progress(struct xfp_session *s, const char *name, uint64_t bytes)
{
    uint64_t spent = xfp_wall_ns() - s->started_ns;
    uint64_t left = s->points_done ? spent / s->points_done * (s->points_planned - s->points_done)
                                   : s->deadline_ns - s->started_ns;
    char size[32];

    if (!shown(s))
        return;
    fprintf(stderr, "\r\033[K[%zu/%zu] %s %s, about %llu s left", s->points_done + 1,
            s->points_planned, name, xfp_size_text(bytes, size, sizeof(size)),
            (unsigned long long)(left / 1000000000u));
    fflush(stderr);
}

void xfp_progress_clear(const struct xfp_session *s)
{
    if (shown(s))
        fputs("\r\033[K", stderr);
}
