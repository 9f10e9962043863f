/* The command xferscope: finds the subcommand and calls it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "common/nearest.h"
#include "common/text.h"
#include "tools/xferscope/commands.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"run", xferscope_run, "record a program, and show what it would save"},
    {"again", xferscope_again, "record it again after an edit, and compare"},
    {"live", xfa_live_command, "show what moves now in a run that is being recorded"},
    {"record", xferscope_record, "run a program and record its transfers"},
    {"apply", xferscope_apply, "run a program, and carry out on it what is safe"},
    {"probe", xferscope_probe, "measure what this machine's transfers can reach"},
    {"analyze", xferscope_analyze, "say which transfers are slow, where and why"},
    {"export", xfa_export_command, "write a run in the form of another tool"},
    {"dump", xfa_dump_command, "print the contents of a trace"},
    {"doctor", xferscope_doctor, "say what works on this machine"},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void print_usage(FILE *out)
{
    fputs("usage: xferscope COMMAND [OPTIONS]\n\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\nxferscope help COMMAND explains a command; xferscope --version names the version.\n",
          out);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int unknown_command(const char *name)
{
    static const char *const options[] = {"--help", "--version"};
    const size_t option_count = sizeof options / sizeof *options;
    const char *names[COMMAND_COUNT], *nearest, *what = *name == '-' ? "option" : "command";

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    nearest = *name == '-' ? xfc_nearest(name, options, option_count)
                           : xfc_nearest(name, names, COMMAND_COUNT);
    if (nearest)
        xfc_print(stderr, "xferscope: there is no %s '%s'; did you mean '%s'?\n", what, name,
                  nearest);
    else
        xfc_print(stderr, "xferscope: there is no %s '%s'; xferscope --help lists them\n", what,
                  name);
    return XFERSCOPE_EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    const struct command *command;
    char option[] = "--help";

    if (argc < 2) {
        print_usage(stdout);
        return 0;
    }
    command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    char *help_argv[] = {argv[1], option, NULL};
    return command->run(2, help_argv);
}

/* Output that could not be written (full disk, closed pipe) is an error. */
static int finish(int status)
{
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) {
        fputs("xferscope: cannot write the output\n", stderr);
        return EXIT_FAILURE;
    }
    return status;
}

/* If a standard stream is closed, the next file opened would get its number, and messages would go
 * into that file. So the number is taken by a descriptor that can neither be read nor written; it
 * is closed before a program is started, which finds the stream closed as it was. */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", O_CLOEXEC | (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

int main(int argc, char **argv)
{
    const struct command *command;

    hold_streams();

    if (argc < 2) {
        print_usage(stderr);
        return XFERSCOPE_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("xferscope " XFERSCOPE_VERSION);
        return finish(0);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return finish(0);
    }
    if (strcmp(argv[1], "help") == 0)
        return finish(help(argc - 1, argv + 1));
    command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    return finish(command->run(argc - 1, argv + 1));
}
