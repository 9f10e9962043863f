/* Loads two plugins in turn, each where the other one was, and copies from them. */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    int sum = 0;
    begin();
    for (int i = 0; i < 20; i++) {
        void *plugin = dlopen(beside(i % 2 ? "plugin_b.so" : "plugin_a.so"), RTLD_NOW | RTLD_LOCAL);
        must(plugin != NULL, "dlopen");
        int (*work)(void (*)(unsigned, unsigned)) = NULL;
        *(void **)&work = dlsym(plugin, "plugin_work");
        must(work != NULL, "dlsym");
        sum = sum * 3 + work(round_trips);
        must(dlclose(plugin) == 0, "dlclose");
        must(dlopen(beside("plugin_a.so"), RTLD_NOW | RTLD_NOLOAD) == NULL, "it is gone");
    }
    say("sum %d", sum);
    moved();
    return 0;
}
