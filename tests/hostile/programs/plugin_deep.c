/* Loads a plugin with RTLD_DEEPBIND, which binds past every preload, and copies by its own way to
 * the driver. */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    begin();
    round_trips(0, 20);
    void *plugin = dlopen(beside("plugin_a.so"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    must(plugin != NULL, "dlopen");
    int (*work)(void (*)(unsigned, unsigned)) = NULL;
    int (*own_way)(unsigned long long) = NULL;
    *(void **)&work = dlsym(plugin, "plugin_work");
    *(void **)&own_way = dlsym(plugin, "plugin_own_way");
    must(work && own_way, "dlsym");
    /* What it copies by functions that it has looked up itself may be recorded or not. */
    say("sum %d, own way %d", work(round_trips), own_way(on_device));
    must(dlclose(plugin) == 0, "dlclose");
    round_trips(0, 20);
    moved_at_least();
    return 0;
}
