#include "tools/simgpu/gpu/machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/simgpu/gpu/objects.h"

struct sim_settings sim_settings;
struct xfp_profile *sim_profile;
char sim_machine_name[512];

static bool complain(const char *line)
{
    fprintf(stderr, "simulated GPU: %s\n", line);
    return false;
}

static const char *setting(const char *variable, const char *initial)
{
    const char *value = getenv(variable);

    return value && *value ? value : initial;
}

static bool read_number(const char *variable, const char *initial, uint64_t *number)
{
    const char *text = setting(variable, initial);
    char line[256], *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    if (!errno && end != text && !*end && *text != '-')
        return true;
    snprintf(line, sizeof(line), "%s=%.100s: not a whole number", variable, text);
    return complain(line);
}

static bool read_text(const char *variable, const char *initial, const char **text)
{
    *text = setting(variable, initial);
    return true;
}

static bool read_settings(void)
{
    char line[256];
    bool good = true;

#define READ_TEXT read_text
#define READ_NUMBER read_number
#define READ(variable, field, type, initial, meaning)                                              \
    good &= READ_##type(variable, initial, &sim_settings.field);
    SIM_SETTING_LIST(READ)
    if (good && !sim_clock_choose(sim_settings.clock)) {
        snprintf(line, sizeof(line),
                 "XFERSCOPE_SIMGPU_CLOCK=%.100s: virtual, host or real expected",
                 sim_settings.clock);
        return complain(line);
    }
    return good;
}

/* A name is looked up in machines/ beside this library. */
static void machine_path(char *path, size_t bytes)
{
    const char *name = sim_settings.machine;
    Dl_info info;
    const char *slash;

    snprintf(path, bytes, "%s", name);
    if (strchr(name, '/') || !access(name, R_OK) || !dladdr((void *)&sim_settings, &info))
        return;
    slash = strrchr(info.dli_fname, '/');
    snprintf(path, bytes, "%.*smachines/%s%s", slash ? (int)(slash - info.dli_fname + 1) : 0,
             slash ? info.dli_fname : "", name, strstr(name, ".json") ? "" : ".json");
}

bool sim_machine_load(void)
{
    char path[4096], error[1024];

    if (!read_settings())
        return false;
    machine_path(path, sizeof(path));
    sim_profile = xfp_read_file(path, error, sizeof(error));
    if (!sim_profile)
        return complain(error);
    if (sim_profile->machine.gpu_count > SIM_MAX_DEVICES)
        return complain("the machine profile has more GPUs than can be simulated");
    if (!sim_profile->machine.gpu_count)
        return complain("the machine profile has no GPU");
    snprintf(sim_machine_name, sizeof(sim_machine_name), "%.100s (%.400s)",
             sim_profile->machine.gpus[0].name, path);
    return true;
}

/* ---- CUDA_VISIBLE_DEVICES ------------------------------------------------------------------- */

/* The GPU with this number, or the only one whose UUID begins so; -1: none. */
static int gpu_named(const char *text, size_t bytes)
{
    int count = (int)sim_profile->machine.gpu_count, found = -1;
    char entry[64], *end;

    if (bytes == 0 || bytes >= sizeof(entry))
        return -1;
    memcpy(entry, text, bytes);
    entry[bytes] = '\0';
    found = (int)strtol(entry, &end, 10);
    if (*end == '\0')
        return found < count ? found : -1;
    found = -1;
    for (int i = 0; i < count; i++) {
        if (strncmp(sim_profile->machine.gpus[i].uuid, entry, bytes) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

static bool is_among(const int *numbers, int count, int number)
{
    while (count-- > 0)
        if (numbers[count] == number)
            return true;
    return false;
}

int sim_machine_visible(int numbers[SIM_MAX_DEVICES])
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;

    if (!at) {
        for (; count < (int)sim_profile->machine.gpu_count; count++)
            numbers[count] = count;
        return count;
    }
    while (count < SIM_MAX_DEVICES) {
        size_t bytes = strcspn(at, ",");
        int number = gpu_named(at, bytes);

        if (number < 0 || is_among(numbers, count, number))
            break;
        numbers[count++] = number;
        at += bytes + (at[bytes] == ',');
    }
    return count;
}

uint64_t sim_table_ns(const char *name, uint64_t bytes)
{
    const struct xfp_table *table = sim_profile ? xfp_find_table(sim_profile, name) : NULL;

    return table && xfp_by_of(table->by) == XFP_BY_BYTES ? (uint64_t)xfp_table_at(table, bytes).ns
                                                         : 0;
}
