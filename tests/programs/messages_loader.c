/*
 * A program without MPI, that opens a library with it (messages.c) for itself alone, as Python
 * opens its extensions.
 *
 * usage: messages_loader LIBRARY DIRECTORY ...      what follows the library is messages' own
 *        messages_loader                            looks for functions of MPI and NCCL: none
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int has(void *handle, const char *name)
{
    if (dlsym(handle, name) == NULL)
        return 0;
    fprintf(stderr, "messages_loader: %s is there\n", name);
    return 1;
}

static int look(void)
{
    static const char *const names[] = {"MPI_Send", "PMPI_Send", "MPI_Comm_dup", "ncclAllReduce"};
    int found = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found += has(RTLD_DEFAULT, names[i]) + has(dlopen(NULL, RTLD_NOW), names[i]);
    return found != 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return look();
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*messages)(int, char **) =
        library ? (__typeof__(messages))dlsym(library, "messages_main") : NULL;
    if (messages == NULL) {
        fprintf(stderr, "messages_loader: %s\n", dlerror());
        return 1;
    }
    return messages(argc - 1, argv + 1);
}
