/*
 * Loads each library that it is given, prints what its call() returns, and unloads it before the
 * next: libraries with a CUDA runtime of their own, which goes with them.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*call)(void) = library ? (int (*)(void))dlsym(library, "call") : NULL;
        if (call == NULL) {
            fprintf(stderr, "reloads: %s\n", dlerror());
            return 1;
        }
        printf("%d\n", call());
        if (dlclose(library) != 0)
            return 1;
    }
    return 0;
}
