#include "common/nearest.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

enum { LONGEST = 32, MOST_DISTANCE = 3 /* a larger distance is not a typing error */ };

/* Edit distance of two words; very long words count as different from all. */
static unsigned distance_of(const char *a, size_t a_bytes, const char *b)
{
    size_t width = strlen(b);
    unsigned row[LONGEST + 1];

    if (a_bytes > LONGEST || width > LONGEST)
        return LONGEST;
    for (unsigned j = 0; j <= width; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_bytes; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[width];
}

struct search {
    const char *word;
    size_t bytes;
    const char *nearest;
    unsigned distance;
};

static void consider(struct search *search, const char *known)
{
    unsigned distance = distance_of(search->word, search->bytes, known);

    if (distance < search->distance && distance < strlen(known)) {
        search->distance = distance;
        search->nearest = known;
    }
}

const char *xfc_nearest(const char *word, const char *const *words, size_t count)
{
    struct search search = {word, strlen(word), NULL, MOST_DISTANCE + 1};

    for (size_t i = 0; i < count; i++)
        consider(&search, words[i]);
    return search.nearest;
}

const char *xfc_nearest_option(const char *argument, const struct option *options)
{
    const char *word = argument + strspn(argument, "-");
    struct search search = {word, strcspn(word, "="), NULL, MOST_DISTANCE + 1};

    for (; argument[0] == '-' && argument[1] == '-' && options->name; options++)
        consider(&search, options->name);
    return search.nearest;
}

const char *xfc_did_you_mean(char *text, size_t bytes, const char *dashes, const char *nearest)
{
    *text = '\0';
    if (nearest)
        snprintf(text, bytes, "; did you mean %s%s?", dashes, nearest);
    return text;
}

int xfc_wrong_word(const char *command, const char *what, const char *word, const char *nearest)
{
    char meant[64];

    xfc_print(stderr, "xferscope %s: %s: %s%s; see xferscope %s --help\n", command, what, word,
              xfc_did_you_mean(meant, sizeof meant, "", nearest), command);
    return -1;
}

int xfc_refused_option(const char *command, int option, char **argv, const struct option *options)
{
    const char *word = argv[optind > 0 ? optind - 1 : 0];
    char letter[] = {'-', (char)optopt, '\0'}, meant[64];

    if (optopt && word[1] != '-')
        word = letter;
    if (option == ':')
        xfc_print(stderr, "xferscope %s: %s lacks its value; see xferscope %s --help\n", command,
                  word, command);
    else
        xfc_print(stderr, "xferscope %s: unknown option: %s%s; see xferscope %s --help\n", command,
                  word,
                  xfc_did_you_mean(meant, sizeof meant, "--", xfc_nearest_option(word, options)),
                  command);
    return -1;
}
