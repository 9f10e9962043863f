/* A kernel, preloaded, that has 8 MiB of memory left, whoever asks. */
#include <string.h>
#include <sys/sysinfo.h>

__attribute__((visibility("default"))) int sysinfo(struct sysinfo *info)
{
    memset(info, 0, sizeof *info);
    info->totalram = 64ul << 20;
    info->freeram = 8ul << 20;
    info->mem_unit = 1;
    return 0;
}
