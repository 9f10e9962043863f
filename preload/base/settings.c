#include "preload/base/settings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/kept.h"
#include "preload/base/log.h"

#define PREFIX "XFERSCOPE_"

static bool parse_digits(const char *text, const char **end, uint64_t *value)
{
    uint64_t n = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *at - '0', &n))
            return false;
    }
    *end = at;
    *value = n;
    return at != text;
}

static bool parse_BOOL(const char *text, const char *unused, bool *value)
{
    *value = text[0] == '1';
    return (text[0] == '0' || text[0] == '1') && text[1] == '\0';
}

static bool copy_text(const char *text, char *value, size_t room)
{
    size_t bytes = strlen(text) + 1;
    if (bytes > room)
        return false;
    memcpy(value, text, bytes);
    return true;
}

static bool parse_TEXT(const char *text, const char *unused, char (*value)[XFS_TEXT_BYTES])
{
    return copy_text(text, *value, sizeof *value);
}

static bool parse_WORD(const char *text, const char *unused, char (*value)[XFS_WORD_BYTES])
{
    return copy_text(text, *value, sizeof *value);
}

static bool parse_NAME(const char *text, const char *unused, char (*value)[XFS_NAME_BYTES])
{
    return copy_text(text, *value, sizeof *value);
}

static bool parse_BYTES(const char *text, const char *unused, uint64_t *value)
{
    static const char suffixes[] = "KMG";
    const char *end;
    if (!parse_digits(text, &end, value))
        return false;
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix == NULL)
        return *end == '\0';
    unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);
    if (end[1] != '\0' || *value > UINT64_MAX >> shift)
        return false;
    *value <<= shift;
    return true;
}

/* Digits, and at most nine more behind a full stop. */
static bool parse_SECONDS(const char *text, const char *unused, uint64_t *value)
{
    const char *end;
    uint64_t whole, unit = 1000000000u;
    if (!parse_digits(text, &end, &whole) || whole > UINT32_MAX)
        return false;
    *value = whole * unit;
    if (*end == '.') {
        for (end++; *end >= '0' && *end <= '9' && unit > 1; end++)
            *value += (uint64_t)(*end - '0') * (unit /= 10);
    }
    return *end == '\0';
}

static bool parse_COUNT(const char *text, const char *unused, uint32_t *value)
{
    const char *end;
    uint64_t n;
    if (!parse_digits(text, &end, &n) || *end != '\0' || n > UINT32_MAX)
        return false;
    *value = (uint32_t)n;
    return true;
}

static bool parse_CHOICE(const char *text, const char *words, int *value)
{
    size_t bytes = strlen(text);
    *value = 0;
    for (const char *word = words; word && *word; (*value)++) {
        const char *bar = strchr(word, '|');
        size_t n = bar ? (size_t)(bar - word) : strlen(word);
        if (n == bytes && strncmp(word, text, n) == 0)
            return true;
        word = bar ? bar + 1 : NULL;
    }
    *value = 0;
    return false;
}

/* The default's text: of a CHOICE, the first word. */
#define DEFAULT_BOOL(text) text
#define DEFAULT_TEXT(text) text
#define DEFAULT_WORD(text) text
#define DEFAULT_NAME(text) text
#define DEFAULT_BYTES(text) text
#define DEFAULT_COUNT(text) text
#define DEFAULT_SECONDS(text) text
#define DEFAULT_CHOICE(text) "\0" text

bool xfs_settings_parse(struct xfs_settings *settings, const char *(*get)(const char *name))
{
    const char *text;
    bool good = true;
#define X(variable, field, type, default_text, meaning)                                            \
    text = get(variable);                                                                          \
    if (text == NULL || *text == '\0')                                                             \
        text = NULL;                                                                               \
    else if (!parse_##type(text, default_text, &settings->field)) {                                \
        xfs_log("%s=%s makes no sense; using the default", variable, text);                        \
        good = false;                                                                              \
        text = NULL;                                                                               \
    }                                                                                              \
    if (text == NULL)                                                                              \
        (void)parse_##type(DEFAULT_##type(default_text), default_text, &settings->field);
#include "preload/base/settings.def"
#undef X
    return good;
}

static char first_text[2 * XFS_TEXT_BYTES];
static struct xfs_kept first = {first_text, sizeof first_text, 0};

static bool is_setting(const char *entry)
{
    return strncmp(entry, PREFIX, strlen(PREFIX)) == 0;
}

__attribute__((constructor)) static void remember_start(void)
{
    xfs_keep(&first, is_setting);
}

/* A variable that the program has removed keeps its first value: a program that clears its
 * environment does not lead its trace elsewhere, nor those of its children
 * (preload/process/follow.h). */
const char *xfs_settings_text(const char *name)
{
    const char *value = getenv(name);
    return value ? value : xfs_kept_value(&first, name);
}

const struct xfs_settings *xfs_settings(void)
{
    static struct xfs_settings settings;
    static bool parsed;
    if (parsed)
        return &settings;
    parsed = true;
    xfs_settings_parse(&settings, xfs_settings_text);
    if (getauxval(AT_SECURE))
        settings.enable = false;
    if (settings.most_bytes > 0 && settings.most_bytes < XFS_LEAST_SIZE)
        settings.most_bytes = XFS_LEAST_SIZE;
    if (settings.stack_depth > 64)
        settings.stack_depth = 64;
    xfs_log_verbose(settings.verbose);
    return &settings;
}
