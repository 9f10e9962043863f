#include "probe/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/grow.h"
#include "probe/device/buffer.h"
#include "probe/machine/machine.h"
#include "probe/machine/machine_host.h"
#include "probe/machine/nvml.h"

void xfp_session_warn(void *session, const char *line)
{
    struct xfp_profile *p = ((struct xfp_session *)session)->profile;

    for (size_t i = 0; i < p->warning_count; i++)
        if (!strcmp(p->warnings[i], line))
            return;
    if (!xfc_resize(&p->warnings, p->warning_count + 1, sizeof(*p->warnings)))
        return;
    p->warnings[p->warning_count] = strdup(line);
    p->warning_count += p->warnings[p->warning_count] != NULL;
}

static char *now_text(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return strdup(text);
}

static int make_profile(struct xfp_session *s)
{
    s->profile = calloc(1, sizeof(*s->profile));
    if (!s->profile)
        return xfp_fail(&s->sys, "out of memory");
    s->profile->created = now_text();
    s->profile->producer = strdup("xferscope " XFERSCOPE_VERSION);
    s->profile->rules = (struct xfp_rules){.known = true,
                                           .paper = s->options->paper,
                                           .flushed = s->options->flush,
                                           .verified = s->options->verify};
    return xfp_describe_machine(s);
}

static void begin(struct xfp_session *s, const struct xfp_probe_options *options)
{
    struct xfp_system *sys = &s->sys;

    *s = (struct xfp_session){.options = options};
    sys->verify = options->verify;
    sys->flush = options->flush;
    sys->warn = xfp_session_warn;
    sys->warned = s;
    sys->cu = xfp_driver_open(sys->error, sizeof(sys->error));
}

int xfp_session_open(struct xfp_session *s, const struct xfp_probe_options *options)
{
    begin(s, options);
    return s->sys.cu ? make_profile(s) : -1;
}

int xfp_session_open_any(struct xfp_session *s, const struct xfp_probe_options *options)
{
    begin(s, options);
    return make_profile(s);
}

/* Mapped, so that sizes that are never reached use no memory. */
int xfp_session_make_pattern(struct xfp_session *s)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    struct xfp_system *sys = &s->sys;
    uint64_t most = s->options->max_bytes;

    if (most > xfp_available_memory("") / 3)
        return xfp_fail(sys,
                        "not enough memory: sizes to %llu bytes need three times that, choose "
                        "with --sizes",
                        (unsigned long long)most);
    sys->most_bytes = most;
    sys->pattern = mmap(NULL, most, PROT_READ | PROT_WRITE, flags, -1, 0);
    sys->check = mmap(NULL, most, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (sys->pattern == MAP_FAILED || sys->check == MAP_FAILED)
        return xfp_fail(sys, "out of memory");
    xfp_pattern(sys->pattern, most);
    return 0;
}

void xfp_session_close(struct xfp_session *s)
{
    struct xfp_system *sys = &s->sys;

    xfp_nvml_close();
    for (size_t i = 0; i < sys->device_count; i++)
        xfp_device_close(sys, &sys->devices[i]);
    if (sys->pattern && sys->pattern != MAP_FAILED)
        munmap(sys->pattern, sys->most_bytes);
    if (sys->check && sys->check != MAP_FAILED)
        munmap(sys->check, sys->most_bytes);
    free(sys->devices);
    free(sys->numa_nodes);
}
