#include "preload/apply/site/proof.h"

#define MIB ((float)(1 << 20))
#define WORTH 0.9f /* of the program's way: what gains less is not worth its risk */
#define FEW_TRIALS 2
#define FIRST_INTERVAL 64
#define MOST_INTERVAL 4096

static float median(const float values[XFS_TRIALS], uint32_t count)
{
    float sorted[XFS_TRIALS];
    uint32_t n = count < XFS_TRIALS ? count : XFS_TRIALS;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > values[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
    }
    return n ? sorted[n / 2] : 0;
}

static float end_of(const float values[XFS_TRIALS], uint32_t count, bool most)
{
    float end = values[0];
    for (uint32_t i = 1; i < count && i < XFS_TRIALS; i++)
        if ((values[i] > end) == most)
            end = values[i];
    return end;
}

/* The best of ours takes half as much again as the worst as asked: more trials would only cost. */
static bool is_hopeless(const struct xfs_proof *proof)
{
    uint32_t asked = proof->samples[XFS_WAY_AS_ASKED], ours = proof->samples[XFS_WAY_OURS];
    return asked >= FEW_TRIALS && ours >= FEW_TRIALS &&
           end_of(proof->per_mib_ns[XFS_WAY_OURS], ours, false) >
               1.5f * end_of(proof->per_mib_ns[XFS_WAY_AS_ASKED], asked, true);
}

/* Does the program lose half of what its copies gain, or more, between them? */
static bool is_lost_between(const struct xfs_proof *proof, float gained_per_mib_ns)
{
    const float *asked = proof->gap_ns[XFS_WAY_AS_ASKED], *ours = proof->gap_ns[XFS_WAY_OURS];
    uint32_t asked_count = proof->gaps[XFS_WAY_AS_ASKED], ours_count = proof->gaps[XFS_WAY_OURS];
    if (asked_count < XFS_TRIALS || ours_count < XFS_TRIALS ||
        end_of(ours, ours_count, false) <= end_of(asked, asked_count, true))
        return false;
    float lost = median(ours, ours_count) - median(asked, asked_count);
    return lost > gained_per_mib_ns * proof->mib / 2;
}

static void decide(struct xfs_proof *proof)
{
    float asked = median(proof->per_mib_ns[XFS_WAY_AS_ASKED], proof->samples[XFS_WAY_AS_ASKED]);
    float ours = median(proof->per_mib_ns[XFS_WAY_OURS], proof->samples[XFS_WAY_OURS]);
    uint8_t before = proof->verdict;
    bool enough = proof->samples[0] >= XFS_TRIALS && proof->samples[1] >= XFS_TRIALS;
    if (is_hopeless(proof))
        proof->verdict = XFS_LOSES;
    else if (enough)
        proof->verdict =
            ours < asked * WORTH && !is_lost_between(proof, asked - ours) ? XFS_GAINS : XFS_LOSES;
    if (proof->verdict != before)
        proof->interval = FIRST_INTERVAL;
}

/* A look is one copy the other way and one as usual; after it the next is further away. */
static enum xfs_way by_verdict(struct xfs_proof *proof, bool *timed)
{
    enum xfs_way usual = proof->verdict == XFS_GAINS ? XFS_WAY_OURS : XFS_WAY_AS_ASKED;
    if (proof->looking == 0 && ++proof->since >= proof->interval) {
        proof->since = 0;
        proof->looking = 2;
        if (proof->interval < MOST_INTERVAL)
            proof->interval *= 2;
    }
    *timed = proof->looking > 0;
    if (proof->looking == 0 || --proof->looking == 0)
        return usual;
    return usual == XFS_WAY_OURS ? XFS_WAY_AS_ASKED : XFS_WAY_OURS;
}

enum xfs_way xfs_proof_choose(struct xfs_proof *proof, bool *timed)
{
    *timed = true;
    if (proof->verdict != XFS_TRYING)
        return by_verdict(proof, timed);
    if (proof->samples[XFS_WAY_AS_ASKED] == proof->samples[XFS_WAY_OURS])
        return proof->ours_first ? XFS_WAY_OURS : XFS_WAY_AS_ASKED;
    return proof->samples[XFS_WAY_AS_ASKED] < proof->samples[XFS_WAY_OURS] ? XFS_WAY_AS_ASKED
                                                                           : XFS_WAY_OURS;
}

void xfs_proof_took(struct xfs_proof *proof, enum xfs_way way, uint64_t bytes, uint64_t ns)
{
    proof->per_mib_ns[way][proof->samples[way]++ % XFS_TRIALS] = (float)ns * MIB / (float)bytes;
    proof->mib = (float)bytes / MIB;
    decide(proof);
}

void xfs_proof_whole(struct xfs_proof *proof, uint64_t bytes, uint64_t ns)
{
    if (proof->wholes < XFS_TRIALS)
        proof->whole_per_mib_ns[proof->wholes++] = (float)ns * MIB / (float)bytes;
}

void xfs_proof_gap(struct xfs_proof *proof, enum xfs_way way, uint64_t ns)
{
    proof->gap_ns[way][proof->gaps[way]++ % XFS_TRIALS] = (float)ns;
    decide(proof);
}

uint64_t xfs_proof_expects(const struct xfs_proof *proof, enum xfs_way way, uint64_t bytes)
{
    bool by_wholes = way == XFS_WAY_OURS && proof->wholes > 0;
    float per_mib = by_wholes ? median(proof->whole_per_mib_ns, proof->wholes)
                              : median(proof->per_mib_ns[way], proof->samples[way]);
    return (uint64_t)(per_mib * (float)bytes / MIB);
}

void xfs_proof_give_up(struct xfs_proof *proof)
{
    proof->verdict = XFS_LOSES;
    proof->since = 0;
    proof->interval = FIRST_INTERVAL;
}
