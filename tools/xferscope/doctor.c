/* xferscope doctor: docs/doctor.md */
#include "tools/xferscope/doctor.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/nearest.h"
#include "common/text.h"
#include "tools/xferscope/commands.h"

static const char usage[] =
    "usage: xferscope doctor [OPTIONS]\n"
    "\n"
    "Says what will and will not work on this machine, and why.\n"
    "\n"
    "  -f, --format FORMAT    text (default) or json\n"
    "  -h, --help             print this\n"
    "\n"
    "The exit status is 0, or 1 when something fails that recording needs.\n";

static const char *const verdicts[] = {"ok", "warn", "fail"};

/* ---- output ----------------------------------------------------------------------------- */

struct tally {
    size_t of[3];
};

static void look_at_all(const struct doctor_check *checks, size_t count, struct tally *tally,
                        json_t *list)
{
    for (size_t i = 0; i < count; i++) {
        struct doctor_finding finding = {.verdict = DOCTOR_OK};
        checks[i].look(&finding);
        tally->of[finding.verdict]++;
        if (list)
            json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:s}", "check", checks[i].name, "verdict",
                                            verdicts[finding.verdict], "text", finding.text));
        else
            xfc_print(stdout, "%-4s  %-14s %s\n", verdicts[finding.verdict], checks[i].name,
                      finding.text);
    }
}

static void print_json(json_t *list, const struct tally *tally)
{
    json_t *document =
        json_pack("{s:s, s:s, s:o, s:I, s:I, s:I}", "schema", "xferscope-doctor-1", "version",
                  XFERSCOPE_VERSION, "checks", list, "ok", (json_int_t)tally->of[DOCTOR_OK], "warn",
                  (json_int_t)tally->of[DOCTOR_WARN], "fail", (json_int_t)tally->of[DOCTOR_FAIL]);
    json_dumpf(document, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(document);
}

static int examine(bool json)
{
    struct tally tally = {{0}};
    json_t *list = json ? json_array() : NULL;
    look_at_all(doctor_system_checks, doctor_system_count, &tally, list);
    look_at_all(doctor_program_checks, doctor_program_count, &tally, list);
    look_at_all(doctor_cuda_checks, doctor_cuda_count, &tally, list);
    if (json)
        print_json(list, &tally);
    else
        printf("\n%zu ok, %zu to know of, %zu failed\n", tally.of[DOCTOR_OK], tally.of[DOCTOR_WARN],
               tally.of[DOCTOR_FAIL]);
    return tally.of[DOCTOR_FAIL] ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- options ---------------------------------------------------------------------------- */

static int usage_error(const char *what, const char *word)
{
    xfc_print(stderr, "xferscope doctor: %s%s; xferscope help doctor\n", what, word);
    return XFERSCOPE_EXIT_USAGE;
}

static int wrong_format(const char *word)
{
    static const char *const words[] = {"text", "json"};
    char meant[64];
    xfc_print(stderr,
              "xferscope doctor: --format wants text or json, not %s%s; xferscope help doctor\n",
              word, xfc_did_you_mean(meant, sizeof meant, "", xfc_nearest(word, words, 2)));
    return XFERSCOPE_EXIT_USAGE;
}

int xferscope_doctor(int argc, char **argv)
{
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool json = false;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":f:h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (option != 'f') {
            xfc_refused_option("doctor", option, argv, options);
            return XFERSCOPE_EXIT_USAGE;
        }
        json = strcmp(optarg, "json") == 0;
        if (!json && strcmp(optarg, "text") != 0)
            return wrong_format(optarg);
    }
    if (optind < argc)
        return usage_error("no arguments are taken: ", argv[optind]);
    return examine(json);
}
