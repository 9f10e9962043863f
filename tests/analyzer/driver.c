/* The analyzer's subcommands without the rest of the command: driver analyze|dump|export ARGUMENTS.
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/analyzer.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "analyze") == 0)
        return xfa_analyze_command(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "dump") == 0)
        return xfa_dump_command(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "export") == 0)
        return xfa_export_command(argc - 1, argv + 1);
    fputs("usage: driver analyze|dump|export ...\n", stderr);
    return 2;
}
