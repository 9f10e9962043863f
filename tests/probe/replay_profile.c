/*
 * The fuzz target without a fuzzer: usage: replay_profile ROUNDS FILE...
 *
 * Reads every file as it is, and that many mutations of it by a generator that is the same
 * everywhere; 0 rounds repeat what a fuzzer found.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM ((size_t)4 << 20)

static uint64_t random_state = 88172645463325252ull;

static size_t random_below(size_t limit) /* xorshift */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

static void set_byte(uint8_t *text, size_t *size)
{
    static const char bytes[] = "0123456789-.eE\"\"{}[],:  nt\\\n\x01\x7f\xff";

    text[random_below(*size)] = (uint8_t)bytes[random_below(sizeof(bytes))];
}

static void erase(uint8_t *text, size_t *size)
{
    size_t at = random_below(*size), most = *size - at, n = 1 + random_below(most < 64 ? most : 64);

    memmove(text + at, text + at + n, *size - at - n);
    *size -= n;
}

/* From anywhere to anywhere: a number under another key, an object within another. */
static void copy_over(uint8_t *text, size_t *size)
{
    size_t from = random_below(*size), to = random_below(*size), n = 1 + random_below(24);
    size_t most = *size - (from > to ? from : to);

    memmove(text + to, text + from, n < most ? n : most);
}

static void mutate(uint8_t *text, size_t *size)
{
    static void (*const ways[])(uint8_t *, size_t *) = {set_byte, erase, copy_over};

    for (size_t n = 1 + random_below(4); n > 0 && *size > 1; n--)
        ways[random_below(3)](text, size);
}

static int replay(const char *name, long rounds)
{
    static uint8_t sound[ROOM], text[ROOM];
    FILE *file = fopen(name, "rb");
    size_t size;

    if (!file) {
        perror(name);
        return 1;
    }
    size = fread(sound, 1, ROOM, file);
    fclose(file);
    LLVMFuzzerTestOneInput(sound, size);
    for (long i = 0; i < rounds && size; i++) {
        size_t bytes = size;

        memcpy(text, sound, size);
        mutate(text, &bytes);
        LLVMFuzzerTestOneInput(text, bytes);
    }
    return 0;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 0;
    int failed = argc < 3;

    for (int i = 2; i < argc; i++)
        failed |= replay(argv[i], rounds);
    printf("%d profiles read, and %ld mutations of each\n", argc - 2, rounds);
    return failed;
}
