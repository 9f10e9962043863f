/* Fills the gaps between its mappings with its own (MAP_FIXED_NOREPLACE), without address
 * randomisation, and finds them untouched. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { MOST = 400 };

static struct {
    unsigned char *at;
    size_t bytes;
} own[MOST];
static int count;

static void fill_gaps(void)
{
    unsigned long start, end, before = 0;
    char line[600];
    FILE *maps = fopen("/proc/self/maps", "r");
    must(maps != NULL, "/proc/self/maps");
    while (fgets(line, sizeof line, maps) && sscanf(line, "%lx-%lx", &start, &end) == 2) {
        size_t gap = start - before;
        if (before && gap > 0 && gap <= 64 << 20 && count < MOST) {
            void *here =
                mmap((void *)before, gap, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
            if (here != MAP_FAILED) {
                own[count].at = here;
                own[count].bytes = gap;
                memset(own[count++].at, 0x5a, 4096);
            }
        }
        before = end;
    }
    fclose(maps);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc == 1) {
        must(personality(ADDR_NO_RANDOMIZE) >= 0, "personality");
        execl(own_path(), "memory_fixed", "again", NULL);
    }
    simulated();
    fill_gaps();
    begin();
    round_trips(0, 300);
    fill_gaps();
    round_trips(0, 300);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 4096; k++)
            must(own[i].at[k] == 0x5a, "what lies in the gaps");
    for (int i = 0; i < count; i++)
        munmap(own[i].at, own[i].bytes);
    say("personality %x", personality(0xffffffff));
    moved();
    return 0;
}
