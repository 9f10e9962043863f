/* Completes the file of a dead process, as `xferscope record` does. */
#include <stdio.h>

#include "tests/record/finish.h"

int main(int argc, char **argv)
{
    char error[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: python_finish TRACE\n");
        return 2;
    }
    if (finish_file(argv[1], true, error, sizeof error) == 0)
        return 0;
    fprintf(stderr, "%s\n", error);
    return 1;
}
