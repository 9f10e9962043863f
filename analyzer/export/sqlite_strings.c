#include "analyzer/export/sqlite_strings.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

#define MOST_STRINGS (1u << 20) /* written once each; further ones are written anew */

struct known_string {
    uint64_t hash; /* key */
    int64_t id;
};

int64_t xfa_sqlite_string(struct xfa_export *export, const char *text)
{
    struct xfa_sqlite_strings *strings = export->self;
    struct known_string *known = NULL, other;
    if (!text)
        return 0;
    uint64_t hash = XXH3_64bits(text, strlen(text));
    if (strings->known.count < MOST_STRINGS || xfa_table_get(&strings->known, &hash))
        known = xfa_table_put(&strings->known, &hash);
    else
        *(known = &other) = (struct known_string){0};
    if (known->id)
        return known->id;
    known->id = ++strings->count;
    sqlite3_bind_int64(strings->insert, 1, known->id);
    sqlite3_bind_text(strings->insert, 2, text, -1, SQLITE_STATIC);
    strings->failed |= sqlite3_step(strings->insert) != SQLITE_DONE;
    sqlite3_reset(strings->insert);
    return known->id;
}

/* "vectorized_elementwise_kernel" of "void at::native::vectorized_elementwise_kernel<4, ...>(...)"
 */
static char *brief_name(const char *name)
{
    size_t start = 0, end = 0;
    int depth = 0;
    for (; name[end]; end++) {
        char c = name[end];
        if (depth == 0 && (c == '<' || c == '(') && end > start)
            break;
        depth += (c == '<' || c == '(') - (c == '>' || c == ')');
        if (depth == 0 && (c == ' ' || c == ':' || c == ')' || c == '>'))
            start = end + 1;
    }
    return end > start ? xfa_kept(name + start, end - start) : xfa_text(name);
}

const struct xfa_sqlite_names *xfa_sqlite_names_of(struct xfa_export *export,
                                                   const struct xfa_event *event)
{
    struct xfa_sqlite_strings *strings = export->self;
    uint64_t id = event->work.name;
    struct xfa_sqlite_names *known = xfa_table_get(&strings->kernels, &id);
    if (known)
        return known;
    const struct xfa_text *text = id ? xfa_trace_text(event->process->trace, id) : NULL;
    const char *demangled = text ? xfa_words_name(&export->words, event->process, id) : "(no name)";
    char *brief = brief_name(demangled);
    char *mangled = text ? xfa_clean(text->text, text->bytes) : NULL;
    known = xfa_table_put(&strings->kernels, &id);
    known->demangled = xfa_sqlite_string(export, demangled);
    known->brief = xfa_sqlite_string(export, brief);
    known->mangled = xfa_sqlite_string(export, mangled);
    free(brief);
    free(mangled);
    return known;
}

void xfa_sqlite_strings_begin(struct xfa_export *export, sqlite3 *sql)
{
    struct xfa_sqlite_strings *strings = export->self;
    xfa_table_init(&strings->known, sizeof(uint64_t), sizeof(struct known_string));
    xfa_table_init(&strings->kernels, sizeof(uint64_t), sizeof(struct xfa_sqlite_names));
    strings->failed |= sqlite3_prepare_v2(sql, "INSERT INTO StringIds VALUES (?,?)", -1,
                                          &strings->insert, NULL) != SQLITE_OK;
}

void xfa_sqlite_strings_process(struct xfa_export *export)
{
    struct xfa_sqlite_strings *strings = export->self;
    xfa_table_free(&strings->kernels);
    xfa_table_init(&strings->kernels, sizeof(uint64_t), sizeof(struct xfa_sqlite_names));
}

void xfa_sqlite_strings_end(struct xfa_export *export)
{
    struct xfa_sqlite_strings *strings = export->self;
    sqlite3_finalize(strings->insert);
    xfa_table_free(&strings->known);
    xfa_table_free(&strings->kernels);
}
