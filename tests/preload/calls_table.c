/*
 * Prints the table of intercepted calls: as the list of exported names (--names), or as the table
 * of docs/interception.md (--markdown), in which the variants of a function share a line.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "xferscope/trace.h"

struct call {
    const char *symbol;
    const char *level;
    int version;
};

#define XFS_CALL(level, symbol, flags, params, args, before, after) {#symbol, #level, 0},
#define XFS_CALL_V(version, level, symbol, flags, params, args, before, after)                     \
    {#symbol, #level, version},
#define XFS_WATCH(symbol, params, args, after) {#symbol, "WATCH", 0},
#define XFS_INIT(symbol, params, args) {#symbol, "WATCH", 0},
static const struct call calls[] = {
#include "preload/intercept/calls.def"
};
#define CALLS (sizeof calls / sizeof *calls)

static void print_names(void)
{
    for (size_t i = 0; i < CALLS; i++)
        puts(calls[i].symbol);
}

/* The function a symbol is a variant of: without _v2, _v3, _ptds, _ptsz. */
static size_t base_length(const char *symbol)
{
    size_t n = strlen(symbol);
    if (n > 5 && (!strcmp(symbol + n - 5, "_ptds") || !strcmp(symbol + n - 5, "_ptsz")))
        n -= 5;
    if (n > 3 && symbol[n - 3] == '_' && symbol[n - 2] == 'v')
        n -= 3;
    return n;
}

static bool same_function(const struct call *a, const struct call *b)
{
    size_t n = base_length(a->symbol);
    return n == base_length(b->symbol) && strncmp(a->symbol, b->symbol, n) == 0;
}

static bool first_of_its_function(size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_function(&calls[i], &calls[j]))
            return false;
    return true;
}

static void print_function(size_t first)
{
    size_t n = base_length(calls[first].symbol);
    printf("| `%.*s` |", (int)n, calls[first].symbol);
    const char *separator = " ";
    for (size_t j = first; j < CALLS; j++) {
        if (!same_function(&calls[first], &calls[j]))
            continue;
        const char *suffix = calls[j].symbol + n;
        printf("%s%s", separator, *suffix ? suffix : "plain");
        if (calls[j].version)
            printf(" (CUDA %d)", calls[j].version);
        separator = ", ";
    }
    printf(" |\n");
}

static void print_level(const char *level, const char *title)
{
    printf("### %s\n\n| function | variants |\n| --- | --- |\n", title);
    for (size_t i = 0; i < CALLS; i++)
        if (strcmp(calls[i].level, level) == 0 && first_of_its_function(i))
            print_function(i);
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--names") == 0) {
        print_names();
    } else if (argc == 2 && strcmp(argv[1], "--markdown") == 0) {
        print_level("RUNTIME", "Runtime API (libcudart)");
        print_level("DRIVER", "Driver API (libcuda)");
        print_level("WATCH", "Watched, not recorded (driver)");
    } else {
        fputs("usage: calls_table --names | --markdown\n", stderr);
        return 2;
    }
    return 0;
}
