/* Uses up all keys of thread memory, and loads a plugin that wants static thread memory. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "tests/hostile/hostile.h"

static pthread_key_t keys[2000];
static int count;

static void work(unsigned number)
{
    for (int i = 0; i < count; i++)
        pthread_setspecific(keys[i], (void *)(uintptr_t)(i + number + 1));
    use_gpu();
    round_trips(number, 100);
    for (int i = 0; i < count; i++)
        must(pthread_getspecific(keys[i]) == (void *)(uintptr_t)(i + number + 1), "its own values");
    for (int i = 0; i < count; i++)
        pthread_setspecific(keys[i], NULL);
}

int main(void)
{
    int error = 0;
    while (count < 2000 && (error = pthread_key_create(&keys[count], NULL)) == 0)
        count++;
    if (!simulated())
        while (count > 960) /* a real driver wants some */
            pthread_key_delete(keys[--count]);
    begin();
    say("no more keys: %s", strerror(error));
    if (simulated())
        say("%d keys", count);
    in_threads(4, 0, work);
    int (*eat)(void) = NULL;
    void *plugin = dlopen(beside("plugin_static.so"), RTLD_NOW);
    must(plugin != NULL, "static thread memory");
    *(void **)&eat = dlsym(plugin, "plugin_static");
    say("static: %d", eat());
    round_trips(0, 100);
    moved();
    return 0;
}
