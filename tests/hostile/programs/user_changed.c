/* Becomes another user and back again between copies, and for good; its files belong to whom they
 * should. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void tell_owner(const char *path)
{
    struct stat about;
    must(stat(path, &about) == 0, path);
    say("%s belongs to %d", path, (int)about.st_uid);
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 300);
}

int main(void)
{
    if (getuid() != 0)
        skip("it takes root to become another user");
    must(chmod(".", 0777) == 0, "chmod");
    begin();
    for (int i = 0; i < 30; i++) {
        must(seteuid(65532) == 0, "seteuid");
        round_trips(0, 10);
        if (i == 5)
            write_file("theirs", "text\n", 1);
        must(seteuid(0) == 0, "seteuid");
        round_trips(0, 10);
    }
    write_file("roots", "text\n", 1);
    must(setgid(65533) == 0 && setuid(65533) == 0, "setuid");
    in_threads(3, 0, work);
    write_file("others", "text\n", 1);
    tell_owner("theirs");
    tell_owner("roots");
    tell_owner("others");
    moved();
    return 0;
}
