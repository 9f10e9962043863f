#include "analyzer/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

static void *checked(void *memory)
{
    if (!memory) {
        fputs("xferscope: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *xfa_alloc(size_t bytes)
{
    return checked(calloc(1, bytes ? bytes : 1));
}

void *xfa_alloc_unset(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1));
}

char *xfa_text(const char *text)
{
    return checked(strdup(text ? text : ""));
}

char *xfa_vprint(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    return checked(text);
}

char *xfa_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = xfa_vprint(format, arguments);
    va_end(arguments);
    return text;
}

char *xfa_append(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *more = xfa_vprint(format, arguments);
    va_end(arguments);
    size_t length = strlen(text), added = strlen(more) + 1;
    text = checked(realloc(text, length + added));
    memcpy(text + length, more, added);
    free(more);
    return text;
}

void *xfa_room(void *items, size_t *capacity, size_t needed, size_t item_bytes)
{
    if (needed <= *capacity)
        return items;
    size_t grown = *capacity ? *capacity : 16;
    while (grown < needed)
        grown *= 2;
    *capacity = grown;
    return checked(reallocarray(items, grown, item_bytes));
}

void *xfa_grown_more(void *items, size_t *capacity, size_t *count, size_t index, size_t item_bytes)
{
    items = xfa_room(items, capacity, index + 1, item_bytes);
    memset((char *)items + *count * item_bytes, 0, (index + 1 - *count) * item_bytes);
    *count = index + 1;
    return items;
}

void *xfa_trimmed(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
    if (count == 0 || count >= *capacity)
        return items;
    *capacity = count;
    return checked(reallocarray(items, count, item_bytes));
}

char *xfa_clean(const char *bytes, size_t n)
{
    return checked(xfc_shown(bytes, n));
}

char *xfa_kept(const char *bytes, size_t n)
{
    static const char instead[] = "\xef\xbf\xbd"; /* U+FFFD */
    char *text = xfa_alloc(n * (sizeof instead - 1) + 1), *end = text;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i])
            *end++ = bytes[i];
        else
            end = mempcpy(end, instead, sizeof instead - 1);
    }
    return text;
}

char *xfa_texts_joined(const char *const *texts, size_t count)
{
    char *all = xfa_text(texts[0]);
    for (size_t i = 1; i < count; i++) {
        all = xfa_append(all, ", %s", texts[i]);
    }
    return all;
}
