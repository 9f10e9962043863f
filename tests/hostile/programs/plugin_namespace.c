/* Loads a plugin with a libc of its own (dlmopen), which calls back to copy and starts threads
 * there. */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    int sum = 0;
    begin();
    for (int i = 0; i < 3; i++) {
        void *plugin = dlmopen(LM_ID_NEWLM, beside("plugin_a.so"), RTLD_NOW | RTLD_LOCAL);
        must(plugin != NULL, "dlmopen");
        int (*work)(void (*)(unsigned, unsigned)) = NULL;
        int (*environment)(void) = NULL;
        *(void **)&work = dlsym(plugin, "plugin_work");
        *(void **)&environment = dlsym(plugin, "plugin_memory");
        must(work && environment, "dlsym");
        sum = sum * 3 + work(round_trips) + environment();
        must(dlclose(plugin) == 0, "dlclose");
    }
    say("sum %d", sum);
    moved();
    return 0;
}
