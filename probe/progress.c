#include "probe/progress.h"
#include "probe/measure/budget.h"

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

/* The limits of the benchmarks add up to what they take, but on the simulated GPU, where none
 * holds: its copies are made by this processor. */
void xfp_progress_begin(const struct xfp_session *s, size_t benchmarks)
{
    double seconds = (double)(s->deadline_ns - s->started_ns) / 1e9;

    if (!shown(s))
        return;
    if (s->sys.cu->simulated_now_ns)
        fprintf(stderr,
                "xferscope probe: %zu benchmarks of the simulated GPU: as long as this processor "
                "takes for its copies\n",
                benchmarks);
    else
        fprintf(stderr, "xferscope probe: %zu benchmarks, about %.0f s\n", benchmarks,
                seconds < 1 ? 1 : seconds);
}

/* Sweeps of copies by the pace so far, the others by their budgets. */
static uint64_t left_ns(const struct xfp_session *s)
{
    uint64_t now = xfp_wall_ns(), left = s->reserved_ns;

    if (s->bench_deadline_ns > now)
        left += s->bench_deadline_ns - now;
    if (s->points_planned > s->points_done)
        left += s->points_done
                    ? (now - s->started_ns) / s->points_done * (s->points_planned - s->points_done)
                    : s->deadline_ns - s->started_ns - s->reserved_ns;
    return left;
}

void xfp_progress(struct xfp_session *s, const char *name, uint64_t bytes)
{
    char size[32] = "";

    if (!shown(s))
        return;
    if (bytes)
        xfp_size_text(bytes, size, sizeof(size));
    fprintf(stderr, "\r\033[K%zu of %zu: %s %s, about %llu s left", s->bench_at, s->bench_count,
            name, size, (unsigned long long)((left_ns(s) + 500000000u) / 1000000000u));
    fflush(stderr);
}

void xfp_progress_clear(const struct xfp_session *s)
{
    if (shown(s))
        fputs("\r\033[K", stderr);
}
