/*
 * Loads a library that copies in ways that change what its names bind to.
 *
 * usage: loader PLUGIN local | deepbind | newlm
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *how = argc == 3 ? argv[2] : "";
    void *plugin = NULL;
    if (strcmp(how, "local") == 0)
        plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    else if (strcmp(how, "deepbind") == 0)
        plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    else if (strcmp(how, "newlm") == 0)
        plugin = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*copy)(int) = plugin ? (int (*)(int))dlsym(plugin, "plugin_copy") : NULL;
    if (!copy) {
        const char *error = dlerror();
        printf("no plugin: %s\n", error ? error : "usage: loader PLUGIN local|deepbind|newlm");
        return 2;
    }
    printf("%s: %d\n", how, copy(25));
    return 0;
}
