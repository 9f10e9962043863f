/*
 * Prints the descriptions of the families of benchmarks (probe/bench/bench.h).
 *
 * usage: families_table json | families | tables | scalars
 *
 * json: all of them, for described_test.py. The others: a table of docs/probe.md (families) or of
 * docs/profile-format.md (tables, scalars), in Markdown.
 */
#include <stdio.h>
#include <string.h>

#include "probe/bench/bench.h"

static const char *const part_keys[] = {
#define KEY(symbol, key) key,
    XFP_PART_LIST(KEY)
#undef KEY
};

/* "4 MiB", "4 KiB"; "" for 0. */
static const char *bytes_text(uint64_t bytes, char text[32])
{
    bool large = bytes >= 1 << 20;

    text[0] = '\0';
    if (bytes)
        snprintf(text, 32, "%llu %s", (unsigned long long)bytes >> (large ? 20 : 10),
                 large ? "MiB" : "KiB");
    return text;
}

static void print_json_family(const struct xfp_family *family, const char *symbol)
{
    printf("{\"name\": \"%s\", \"symbol\": \"%s\", \"part\": \"%s\", \"by\": \"%s\", "
           "\"bytes\": %llu, \"benchmarks\": \"%s\", \"names\": [",
           family->name, symbol, part_keys[family->part], family->by ? xfp_by_word(family->by) : "",
           (unsigned long long)family->bytes, family->bench_names ? family->bench_names : "");
    for (const struct xfp_names *n = family->names; n->pattern; n++)
        printf("%s\"%s\"", n == family->names ? "" : ", ", n->pattern);
    printf("]}");
}

static void print_json(void)
{
    const char *before = "[";

#define XFP_FAMILY(name)                                                                           \
    printf("%s", before);                                                                          \
    print_json_family(&xfp_family_##name, #name);                                                  \
    before = ",\n ";
#include "probe/bench/families.def"
#undef XFP_FAMILY
    puts("]");
}

static void print_families(void)
{
    puts("| family | names | what is measured | needs |\n|---|---|---|---|");
    for (const struct xfp_family *const *f = xfp_families; *f; f++) {
        char needs[XFP_NEEDS_TEXT];

        printf("| %s | ", (*f)->name);
        if ((*f)->bench_names)
            printf("`%s`", (*f)->bench_names);
        else
            for (const struct xfp_names *n = (*f)->names; n->pattern; n++)
                printf("%s`%s`", n == (*f)->names ? "" : ", ", n->pattern);
        printf(" | %s | %s |\n", (*f)->summary, xfp_family_needs(*f, needs));
    }
}

static void print_part(enum xfp_part part)
{
    bool tables = part == XFP_PART_TABLES;
    char bytes[32];

    puts(tables ? "| tables | by | `bytes` | cost |\n|---|---|---|---|"
                : "| scalars | cost |\n|---|---|");
    for (const struct xfp_family *const *f = xfp_families; *f; f++)
        for (const struct xfp_names *n = (*f)->names; (*f)->part == part && n->pattern; n++) {
            printf("| `%s` | ", n->pattern);
            if (tables)
                printf("%s | %s | ", xfp_by_word((*f)->by), bytes_text((*f)->bytes, bytes));
            printf("%s%s |\n", strncmp(n->pattern, "records/", 8) ? "" : "what records add to ",
                   n->what ? n->what : "");
        }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (!strcmp(what, "json"))
        print_json();
    else if (!strcmp(what, "families"))
        print_families();
    else if (!strcmp(what, "tables"))
        print_part(XFP_PART_TABLES);
    else if (!strcmp(what, "scalars"))
        print_part(XFP_PART_SCALARS);
    else
        return 2;
    return 0;
}
