/* The driver's calls, where nothing is linked but libc: of whatever libcuda.so.1 is found. */
#ifndef FIND_DRIVER_H
#define FIND_DRIVER_H

#include <dlfcn.h>
#include <stddef.h>

#include "tests/programs/driver_api.h"

struct wanted {
    void **slot;
    const char *name;
};

/* The first that is missing; NULL when all are there. */
static inline const char *find_wanted(const struct wanted *wanted, size_t count)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < count; i++) {
        *wanted[i].slot = driver ? dlsym(driver, wanted[i].name) : NULL;
        if (*wanted[i].slot == NULL)
            return wanted[i].name;
    }
    return NULL;
}

static inline const char *find_driver(struct driver_calls *cu)
{
    const struct wanted wanted[] = {
#define DRIVER_WANTED(field, exported, name, version, parameters) {(void **)&cu->field, #exported},
        DRIVER_CALLS(DRIVER_WANTED)
#undef DRIVER_WANTED
    };
    return find_wanted(wanted, sizeof wanted / sizeof *wanted);
}

#endif
