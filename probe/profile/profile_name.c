#include <ctype.h>
#include <stdio.h>

#include "xferscope/profile.h"

void xfp_default_name(const char *hostname, bool simulated, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s%s.json", *hostname ? hostname : "machine",
             simulated ? "-simulated" : "");
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && (*c != '.' || c == name))
            *c = '_';
}
