/* What the plugins have; each includes it with a number of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char own_memory[256];

__attribute__((visibility("default"))) int plugin_work(void (*copy)(unsigned, unsigned));
__attribute__((visibility("default"))) int plugin_memory(void);
__attribute__((visibility("default"))) int plugin_own_way(unsigned long long on_device);

int plugin_work(void (*copy)(unsigned, unsigned))
{
    own_memory[0] = NUMBER;
    for (unsigned i = 0; i < NUMBER; i++)
        copy(NUMBER, 3);
    return own_memory[0];
}

int plugin_memory(void)
{
    char *blocks[64];
    int sum = 0;
    for (int i = 0; i < 64; i++) {
        blocks[i] = malloc(1000 + (size_t)i);
        memset(blocks[i], i, 1000);
    }
    for (int i = 0; i < 64; i++) {
        sum += blocks[i][999];
        free(blocks[i]);
    }
    return sum;
}

int plugin_own_way(unsigned long long on_device)
{
    char out[512], in[512] = "";
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*up)(unsigned long long, const void *, size_t) = NULL;
    int (*down)(void *, unsigned long long, size_t) = NULL;
    *(void **)&up = dlsym(driver, "cuMemcpyHtoD_v2");
    *(void **)&down = dlsym(driver, "cuMemcpyDtoH_v2");
    memset(out, NUMBER, sizeof out);
    return up && down && up(on_device, out, sizeof out) == 0 &&
           down(in, on_device, sizeof in) == 0 && memcmp(out, in, sizeof out) == 0;
}
