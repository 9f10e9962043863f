/*
 * Prints the table of intercepted calls: as the list of exported names (--names), or as the table
 * of docs/interception.md (--markdown), in which the variants of a function share a line.
 * --check-moves: what copies, makes or launches graphs, is about managed memory or about memory of
 * the host that kernels can reach says so, and what waits does not.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "xferscope/trace.h"

struct call {
    const char *symbol;
    const char *level;
    int version;
    bool moves;
};

#define XFS_CALL(level, symbol, moves, flags, params, args, before, after)                         \
    {#symbol, #level, 0, moves},
#define XFS_CALL_V(version, level, symbol, moves, flags, params, args, before, after)              \
    {#symbol, #level, version, moves},
#define XFS_WATCH(symbol, moves, params, args, after) {#symbol, "WATCH", 0, moves},
#define XFS_GRAPH(symbol, flags, params, args, after) {#symbol, "DRIVER", 0, true},
#define XFS_CONTEXT(symbol, primary, params, args) {#symbol, "DRIVER", 0, false},
#define XFS_INIT(symbol, params, args) {#symbol, "WATCH", 0, false},
#define XFS_STEP(symbol, flags, params, args, watch, step) {#symbol, "DRIVER", 0, false},
#define XFS_FORGET(symbol, params, args, before, after) {#symbol, "WATCH", 0, false},
static const struct call calls[] = {
#include "preload/intercept/calls.def"
};
#define CALLS (sizeof calls / sizeof *calls)

/* MPI's, but for their PMPI_ twins, and NCCL's; those that make no event are only watched. */
struct message_call {
    const char *name;
    bool watched;
};
#define XFS_MPI_AS(function, op, params, args, before, after) {#function, false},
#define XFS_MADE(name, params, args, before, after) {"MPI_" #name, true},
static const struct message_call mpi_calls[] = {
#include "preload/messages/mpi.def"
};
#define XFS_NCCL(name, op, params, args, after) {#name, false},
#define XFS_NCCL_MADE(name, params, args, before, after) {#name, true},
static const struct message_call nccl_calls[] = {
#include "preload/messages/nccl.def"
};
#define COUNT(calls) (sizeof(calls) / sizeof *(calls))

static void print_names(void)
{
    for (size_t i = 0; i < CALLS; i++)
        puts(calls[i].symbol);
    for (size_t i = 0; i < COUNT(mpi_calls); i++)
        printf("%s\nP%s\n", mpi_calls[i].name, mpi_calls[i].name);
    for (size_t i = 0; i < COUNT(nccl_calls); i++)
        puts(nccl_calls[i].name);
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

enum part { RECORDED, LARGE, EXTENSION, WATCHED, PARTS };

static enum part part_of(const struct message_call *call)
{
    size_t length = strlen(call->name);
    bool large = length > 2 && strcmp(call->name + length - 2, "_c") == 0;
    return call->watched                          ? WATCHED
           : strncmp(call->name, "MPIX_", 5) == 0 ? EXTENSION
           : large                                ? LARGE
                                                  : RECORDED;
}

static void print_messages(const char *title, const struct message_call *of, size_t count)
{
    static const char *const begins[PARTS] = {
        "Recorded: ", "The same with large counts: ", "Open MPI's extension before version 5: ",
        "Watched, not recorded: "};
    printf("### %s\n\n", title);
    for (enum part part = 0; part < PARTS; part++) {
        const char *separator = begins[part];
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            if (part_of(&of[i]) != part)
                continue;
            printf("%s`%s`", separator, of[i].name);
            separator = ", ";
            any = true;
        }
        if (any)
            printf(".\n\n");
    }
}

static bool has_one_of(const char *symbol, const char *const words[])
{
    while (*words && !strstr(symbol, *words))
        words++;
    return *words != NULL;
}

static int check_moves(void)
{
    static const char *const move[] = {"Memcpy",     "Graph",        "Managed",
                                       "Prefetch",   "HostAlloc",    "AllocHost",
                                       "MallocHost", "HostRegister", NULL};
    static const char *const stay[] = {"Synchronize", "Free", "Destroy", "Register", NULL};
    int wrong = 0;
    for (size_t i = 0; i < CALLS; i++) {
        bool must = has_one_of(calls[i].symbol, move);
        bool must_not = !must && has_one_of(calls[i].symbol, stay);
        if ((must && !calls[i].moves) || (must_not && calls[i].moves)) {
            printf("%s: %s\n", calls[i].symbol, must ? "can move data" : "moves nothing");
            wrong = 1;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--names") == 0) {
        print_names();
    } else if (argc == 2 && strcmp(argv[1], "--markdown") == 0) {
        print_level("RUNTIME", "Runtime API (libcudart)");
        print_level("DRIVER", "Driver API (libcuda)");
        print_level("WATCH", "Watched, not recorded (driver)");
        print_messages("MPI, each also as `PMPI_`", mpi_calls, COUNT(mpi_calls));
        print_messages("NCCL", nccl_calls, COUNT(nccl_calls));
    } else if (argc == 2 && strcmp(argv[1], "--check-moves") == 0) {
        return check_moves();
    } else {
        fputs("usage: calls_table --names | --markdown | --check-moves\n", stderr);
        return 2;
    }
    return 0;
}
