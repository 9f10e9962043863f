#include "demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define LONGEST 4096 /* of names worth the work */

typedef char *demangle_fn(const char *name, char *buffer, size_t *bytes, int *status);

/* The analyzer is C: the one function it needs of the C++ library is taken at run time. */
static demangle_fn *find(void)
{
    static demangle_fn *function;
    static bool looked;
    if (looked)
        return function;
    looked = true;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    function = library ? (demangle_fn *)dlsym(library, "__cxa_demangle") : NULL;
    return function;
}

char *xfa_demangle(const char *name)
{
    bool mangled = strncmp(name, "_Z", 2) == 0 && strlen(name) <= LONGEST;
    demangle_fn *demangle = mangled ? find() : NULL;
    int status = 0;
    char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    return text ? text : xfa_text(name);
}
