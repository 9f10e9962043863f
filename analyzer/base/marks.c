#include "analyzer/base/marks.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* ---- marks ----------------------------------------------------------------------------------- */

void xfw_mark(struct xfw_marks *marks, uint32_t process, uint64_t transfer)
{
    marks->processes = xfa_grown(marks->processes, &marks->process_capacity, &marks->process_count,
                                 process, sizeof *marks->processes);
    struct xfw_mark_bits *bits = &marks->processes[process];
    bits->words =
        xfa_grown(bits->words, &bits->capacity, &bits->count, transfer / 64, sizeof *bits->words);
    bits->words[transfer / 64] |= (uint64_t)1 << transfer % 64;
}

bool xfw_marked(const struct xfw_marks *marks, uint32_t process, uint64_t transfer)
{
    if (process >= marks->process_count)
        return false;
    const struct xfw_mark_bits *bits = &marks->processes[process];
    return transfer / 64 < bits->count && bits->words[transfer / 64] >> transfer % 64 & 1;
}

void xfw_marks_give(const struct xfw_marks *marks, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, marks->process_count);
    for (size_t i = 0; i < marks->process_count; i++) {
        const struct xfw_mark_bits *bits = &marks->processes[i];
        xfa_parcel_number(parcel, bits->count);
        xfa_parcel_put(parcel, bits->words, bits->count * sizeof *bits->words);
    }
}

static void take_bits(struct xfw_marks *marks, struct xfa_unpacking *from, uint32_t process,
                      size_t words)
{
    marks->processes = xfa_grown(marks->processes, &marks->process_capacity, &marks->process_count,
                                 process, sizeof *marks->processes);
    struct xfw_mark_bits *bits = &marks->processes[process];
    bits->words =
        xfa_grown(bits->words, &bits->capacity, &bits->count, words - 1, sizeof *bits->words);
    for (size_t i = 0; i < words; i++)
        bits->words[i] |= xfa_unpack_number(from);
}

void xfw_marks_take(struct xfw_marks *marks, struct xfa_unpacking *from, size_t processes)
{
    uint32_t count = xfa_unpack_below(from, processes + 1);
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        size_t words = xfa_unpack_count(from, sizeof(uint64_t));
        if (words)
            take_bits(marks, from, i, words);
    }
}

void xfw_marks_free(struct xfw_marks *marks)
{
    for (size_t i = 0; i < marks->process_count; i++)
        free(marks->processes[i].words);
    free(marks->processes);
    *marks = (struct xfw_marks){0};
}

/* ---- sets ------------------------------------------------------------------------------------ */

void xfw_set_add(struct xfw_set *set, uint32_t number)
{
    set->words =
        xfa_grown(set->words, &set->capacity, &set->count, number / 64, sizeof *set->words);
    set->words[number / 64] |= (uint64_t)1 << number % 64;
}

bool xfw_set_has(const struct xfw_set *set, uint32_t number)
{
    return number / 64 < set->count && set->words[number / 64] >> number % 64 & 1;
}

void xfw_set_free(struct xfw_set *set)
{
    free(set->words);
    *set = (struct xfw_set){0};
}
