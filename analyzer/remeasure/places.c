#include "analyzer/remeasure/places.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

static bool known(const char *text)
{
    return text && *text;
}

static bool same(const char *a, const char *b)
{
    return known(a) && known(b) && strcmp(a, b) == 0;
}

static bool differ(const char *a, const char *b)
{
    return known(a) && known(b) && strcmp(a, b) != 0;
}

static int by_uuid(const struct xfp_machine *machine, const char *uuid)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (same(machine->gpus[i].uuid, uuid))
            return (int)i;
    return -1;
}

/* A GPU of this name: the one with that number, if it is one, else the first. */
static int by_name(const struct xfp_machine *machine, const char *name, int ordinal)
{
    bool counted = ordinal >= 0 && (size_t)ordinal < machine->gpu_count;
    if (counted && !differ(machine->gpus[ordinal].name, name))
        return ordinal;
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (same(machine->gpus[i].name, name))
            return (int)i;
    return -1;
}

int xfa_place_here(const struct xfa_places *places, int gpu)
{
    const struct xfp_machine *here = places->here;
    if (gpu < 0 || (size_t)gpu >= places->run->gpu_count)
        return gpu >= 0 && (size_t)gpu < here->gpu_count ? gpu : -1;
    const struct xfa_gpu *of = &places->run->gpus[gpu];
    int found = by_uuid(here, of->uuid);
    return found >= 0 ? found : by_name(here, of->name, of->ordinal);
}

int xfa_place_in_profile(const struct xfa_places *places, int ordinal)
{
    const struct xfp_gpu *gpu = &places->here->gpus[ordinal];
    if (!places->profile)
        return ordinal;
    int found = by_uuid(places->profile, gpu->uuid);
    return found >= 0 ? found : by_name(places->profile, gpu->name, ordinal);
}

/* ---- may it be done? ------------------------------------------------------------------------- */

static const char *kind_of(bool simulated)
{
    return simulated ? "a simulated GPU" : "a real GPU";
}

static char *of_run(struct xfa_places *places)
{
    const struct xfa_run *run = places->run;
    const struct xfp_machine *here = places->here;
    size_t found = 0;
    if (run->simulated != here->simulated)
        return xfa_print("the trace has %s, this machine %s", kind_of(run->simulated),
                         kind_of(here->simulated));
    for (size_t i = 0; i < run->gpu_count; i++) {
        int ordinal = xfa_place_here(places, (int)i);
        found += ordinal >= 0;
        if (ordinal >= 0 && differ(run->gpus[i].uuid, here->gpus[ordinal].uuid))
            places->other_gpus = true;
    }
    if (found || run->gpu_count == 0)
        return NULL;
    return xfa_print("this machine has other GPUs (%s; the trace: %s)",
                     here->gpu_count ? here->gpus[0].name : "none",
                     run->gpus[0].name ? run->gpus[0].name : "not named");
}

/* By uuid where it is known: a container has a machine id of its own. */
static bool is_same(const struct xfp_machine *a, int gpu, const struct xfp_machine *b, int other)
{
    const char *x = a->gpus[gpu].uuid, *y = b->gpus[other].uuid;
    if (known(x) && known(y))
        return same(x, y);
    return !differ(a->machine_id, b->machine_id);
}

static char *of_profile(struct xfa_places *places)
{
    const struct xfp_machine *here = places->here, *profile = places->profile;
    size_t found = 0;
    if (!profile)
        return NULL;
    if (profile->simulated != here->simulated)
        return xfa_print("the profile has %s, this machine %s", kind_of(profile->simulated),
                         kind_of(here->simulated));
    places->other_profile =
        profile->driver_version && here->driver_version != profile->driver_version;
    for (size_t i = 0; i < here->gpu_count; i++) {
        int ordinal = xfa_place_in_profile(places, (int)i);
        found += ordinal >= 0;
        if (ordinal >= 0 && !is_same(here, (int)i, profile, ordinal))
            places->other_profile = true;
    }
    if (found)
        return NULL;
    return xfa_print("this machine has other GPUs (%s) than the profile (%s)",
                     here->gpu_count ? here->gpus[0].name : "none",
                     profile->gpu_count ? profile->gpus[0].name : "none");
}

void xfa_places_init(struct xfa_places *places, const struct xfa_run *run,
                     const struct xfp_machine *here, const struct xfp_machine *profile)
{
    *places = (struct xfa_places){.run = run, .here = here, .profile = profile};
    places->refusal = of_run(places);
    if (!places->refusal)
        places->refusal = of_profile(places);
    if (places->refusal)
        return;
    if (places->other_gpus)
        places->note = xfa_text("measured on GPUs of the same name that are not the trace's");
    else if (places->run->gpu_count == 0)
        places->note = xfa_text("the trace does not tell which GPU it is of");
}

void xfa_places_free(struct xfa_places *places)
{
    free(places->refusal);
    free(places->note);
}
