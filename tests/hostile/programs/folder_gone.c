/* Stands in a folder that is removed before its first CUDA call. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    char path[4096];
    must(mkdir("gone", 0755) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0,
         "a folder that is gone");
    begin();
    round_trips(0, 300);
    const char *where = getcwd(path, sizeof path);
    say("in %s", where ? where : strerror(errno));
    must(chdir("/") == 0, "chdir");
    round_trips(0, 300);
    moved();
    return 0;
}
