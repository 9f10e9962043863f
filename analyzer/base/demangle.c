#include "analyzer/base/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define LONGEST 1024
#define MOST_REFERENCES 24

typedef char *demangle_fn(const char *name, char *buffer, size_t *bytes, int *status);

/* The one function of the C++ library that the analyzer needs, which is C, is loaded at run
 * time. */
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

/* Each back reference (S_, S0_, T_ ...) may double the length of the result, so a few of them may
 * fill the memory. */
static bool harmless(const char *name)
{
    unsigned references = 0;
    for (const char *at = name; *at; at++) {
        bool digits =
            at[1] == '_' || (at[1] >= '0' && at[1] <= '9') || (at[1] >= 'A' && at[1] <= 'Z');
        references += (*at == 'S' || *at == 'T') && digits;
    }
    return strlen(name) <= LONGEST && references <= MOST_REFERENCES;
}

char *xfa_demangle(const char *name)
{
    bool mangled = strncmp(name, "_Z", 2) == 0 && harmless(name);
    demangle_fn *demangle = mangled ? find() : NULL;
    int status = 0;
    char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    return text ? text : xfa_text(name);
}
