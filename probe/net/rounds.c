#include "probe/net/rounds.h"

#include <stdlib.h>

/* Of the tournament: who meets whom in this round. An odd number of ranks has one who rests, who
 * meets rank `ranks`. */
static void list_round(int ranks, int round, struct xfp_net_pair *pairs)
{
    int circle = ranks - 1;

    for (int i = 0; i < ranks / 2; i++) {
        int x = i ? (round + i) % circle : circle;
        int y = (round - i + circle) % circle;

        pairs[i] = (struct xfp_net_pair){.a = x < y ? x : y, .b = x < y ? y : x, .round = -1};
    }
}

/* Gives pairs of one round of the tournament rounds of their own while they meet on a host. taken:
 * by host, the last round that uses it. */
static int spread_round(struct xfp_net_pair *pairs, int count, int real, const int *hosts,
                        int *taken, int round)
{
    int left = 0;

    for (int i = 0; i < count; i++)
        left += pairs[i].b < real;
    for (; left; round++)
        for (int i = 0; i < count; i++) {
            struct xfp_net_pair *p = &pairs[i];

            if (p->b >= real || p->round >= 0 || taken[hosts[p->a]] == round ||
                taken[hosts[p->b]] == round)
                continue;
            taken[hosts[p->a]] = taken[hosts[p->b]] = round;
            p->round = round;
            left--;
        }
    return round;
}

static int by_round(const void *a, const void *b)
{
    const struct xfp_net_pair *x = a, *y = b;

    return x->round != y->round ? x->round - y->round : x->a - y->a;
}

int xfp_net_make_rounds(int ranks, const int *hosts, bool loaded, struct xfp_net_rounds *rounds)
{
    int even = ranks + ranks % 2;
    struct xfp_net_pair *one = calloc((size_t)even, sizeof(*one));
    int *taken = calloc((size_t)even, sizeof(*taken));

    *rounds = (struct xfp_net_rounds){
        .pairs = calloc((size_t)even * (size_t)even / 2 + 1, sizeof(*rounds->pairs))};
    if (!one || !taken || !rounds->pairs) {
        free(one);
        free(taken);
        return -1;
    }
    for (int i = 0; i < even; i++)
        taken[i] = -1;
    for (int r = 0; r < even - 1; r++) {
        int next = rounds->rounds + 1;

        list_round(even, r, one);
        if (!loaded)
            next = spread_round(one, even / 2, ranks, hosts, taken, rounds->rounds);
        for (int i = 0; i < even / 2; i++) {
            if (one[i].b >= ranks)
                continue;
            if (loaded)
                one[i].round = rounds->rounds;
            rounds->pairs[rounds->count++] = one[i];
        }
        rounds->rounds = next;
    }
    qsort(rounds->pairs, rounds->count, sizeof(*rounds->pairs), by_round);
    free(one);
    free(taken);
    return 0;
}
