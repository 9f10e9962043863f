#include "analyzer/export/words.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/demangle.h"
#include "analyzer/base/json.h"
#include "common/text.h"

#define MOST_NAME 1024 /* bytes of a name that are shown */

struct named {
    uint64_t id; /* key */
    char *text;
};

char *xfa_words_made(enum xfa_words_form form, const char *text)
{
    if (!text)
        return NULL;
    return form == XFA_WORDS_JSON ? xfa_json_literal(text) : xfa_clean(text, strlen(text));
}

void xfa_words_init(struct xfa_words *words, enum xfa_words_form form)
{
    *words = (struct xfa_words){.form = form};
    xfa_table_init(&words->names, sizeof(uint64_t), sizeof(struct named));
}

static void forget_names(struct xfa_words *words)
{
    for (size_t i = 0; i < words->names.count; i++)
        free(((struct named *)xfa_table_at(&words->names, i))->text);
    xfa_table_free(&words->names);
    free(words->last[0]);
    free(words->last[1]);
    words->last[0] = words->last[1] = NULL;
    words->name_bytes = 0;
}

void xfa_words_process(struct xfa_words *words)
{
    forget_names(words);
    xfa_table_init(&words->names, sizeof(uint64_t), sizeof(struct named));
}

void xfa_words_free(struct xfa_words *words)
{
    for (size_t list = 0; list < XFA_WORDS_LISTS; list++) {
        for (size_t i = 0; i < words->lists[list].count; i++)
            free(words->lists[list].texts[i]);
        free(words->lists[list].texts);
    }
    forget_names(words);
}

static const char *listed(struct xfa_words *words, enum xfa_words_list list, size_t number,
                          const char *text)
{
    struct xfa_words_texts *kept = &words->lists[list];
    if (!text)
        return NULL;
    kept->texts =
        xfa_grown(kept->texts, &kept->capacity, &kept->count, number, sizeof *kept->texts);
    if (!kept->texts[number])
        kept->texts[number] = xfa_words_made(words->form, text);
    return kept->texts[number];
}

const char *xfa_words_site(struct xfa_words *words, const struct xfa_site *site,
                           enum xfa_words_list list)
{
    const struct xfa_frame *chosen = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    const char *text = list == XFA_WORDS_SITE            ? site->text
                       : !chosen                         ? NULL
                       : list == XFA_WORDS_SITE_FUNCTION ? chosen->function
                                                         : chosen->file;
    return listed(words, list, site->number, text);
}

const char *xfa_words_function(struct xfa_words *words, const struct xfa_function *function)
{
    return listed(words, XFA_WORDS_FUNCTION, function->number, function->name);
}

const char *xfa_words_host(struct xfa_words *words, const struct xfa_process *process)
{
    return listed(words, XFA_WORDS_HOST, process->host, process->run->hosts[process->host].name);
}

const char *xfa_words_file(struct xfa_words *words, const struct xfa_process *process)
{
    return listed(words, XFA_WORDS_PROCESS, process->number, process->file);
}

/* As people write it, not too long; C++'s names may grow much as they are demangled. */
static char *name_of(const struct xfa_words *words, const struct xfa_text *text)
{
    char *kept = xfa_kept(text->text, text->bytes), *readable = xfa_demangle(kept);
    free(kept);
    if (strlen(readable) > MOST_NAME)
        readable[MOST_NAME] = 0;
    char *made = xfa_words_made(words->form, readable);
    free(readable);
    return made;
}

const char *xfa_words_name(struct xfa_words *words, const struct xfa_process *process, uint64_t id)
{
    struct named *known = xfa_table_get(&words->names, &id);
    if (known)
        return known->text;
    const struct xfa_text *text = id ? xfa_trace_text(process->trace, id) : NULL;
    if (!text)
        return NULL;
    char *made = name_of(words, text);
    if (words->name_bytes < XFA_WORDS_NAMES) {
        words->name_bytes += strlen(made) + sizeof *known;
        known = xfa_table_put(&words->names, &id);
        known->text = made;
        return made;
    }
    free(words->last[1]);
    words->last[1] = words->last[0];
    words->last[0] = made;
    return made;
}

const char *xfa_words_event(unsigned kind)
{
    return kind == XFT_EVENT_TRANSFER ? "no-transfer" : xft_event_word(kind);
}
