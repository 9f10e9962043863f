/*
 * Does what its arguments say, one after the other:
 *
 *   copy        one copy of 100 bytes to the device
 *   close       closes every descriptor from 3 on
 *   close-all   and standard input, output and error
 *   keys        takes all thread-specific keys
 *   say TEXT    a line on standard output
 *   touch FILE, mkdir FOLDER
 *   wait FILE   until it is there
 *   child FILE  what follows is for a child; this process ends when that has made the file
 *
 * usage: steps STEP...
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/runtime_api.h"

static void fail(const char *step)
{
    fprintf(stderr, "steps: %s\n", step);
    _exit(99);
}

static void copy(void)
{
    static char bytes[100];
    static void *buffer;
    if (buffer == NULL && cudaMalloc(&buffer, sizeof bytes) != 0)
        fail("cudaMalloc");
    if (cudaMemcpy(buffer, bytes, sizeof bytes, XRT_COPY_H2D) != 0)
        fail("cudaMemcpy");
}

static void close_from(int first)
{
    for (int fd = first; fd < 4096; fd++)
        close(fd);
}

static void take_keys(void)
{
    pthread_key_t key;
    while (pthread_key_create(&key, NULL) == 0)
        ;
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        fail(path);
    close(fd);
}

static void wait_for(const char *path)
{
    while (access(path, F_OK) != 0)
        usleep(1000);
}

static void become_child(const char *file)
{
    pid_t child = fork();
    if (child == 0)
        return;
    while (access(file, F_OK) != 0 && waitpid(child, NULL, WNOHANG) == 0)
        usleep(1000);
    exit(0);
}

/* With an argument; false when there is no such step. */
static bool take_pair(const char *step, const char *argument)
{
    if (strcmp(step, "say") == 0)
        puts(argument), fflush(stdout);
    else if (strcmp(step, "touch") == 0)
        touch(argument);
    else if (strcmp(step, "mkdir") == 0)
        mkdir(argument, 0700);
    else if (strcmp(step, "wait") == 0)
        wait_for(argument);
    else if (strcmp(step, "child") == 0)
        become_child(argument);
    else
        return false;
    return true;
}

static bool take(const char *step)
{
    if (strcmp(step, "copy") == 0)
        copy();
    else if (strcmp(step, "close") == 0)
        close_from(3);
    else if (strcmp(step, "close-all") == 0)
        close_from(0);
    else if (strcmp(step, "keys") == 0)
        take_keys();
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (take(argv[i]))
            continue;
        if (i + 1 == argc || !take_pair(argv[i], argv[i + 1]))
            fail(argv[i]);
        i++;
    }
    return 0;
}
