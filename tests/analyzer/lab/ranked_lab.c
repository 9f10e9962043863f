#include "tests/analyzer/lab/ranked_lab.h"

#include "analyzer/whatif/whatif.h"

void ranked_start_all(struct ranked *ranks, uint32_t count, const char *const *hosts)
{
    for (uint32_t i = 0; i < count; i++)
        ranked_start(&ranks[i], i, count, hosts ? hosts[i] : "node1");
}

void ranked_analyse_all(struct analyzed *a, struct ranked *ranks, uint32_t count, uint32_t there)
{
    for (uint32_t i = 0; i < count; i++)
        ranked_end(&ranks[i]);
    for (uint32_t i = 0; i < there; i++)
        analyzed_add(a, &ranks[i].b);
    analyzed_finish(a);
    for (uint32_t i = 0; i < count; i++)
        build_free(&ranks[i].b);
}

void ranked_lab_start(struct ranked_lab *lab, uint32_t count)
{
    *lab = (struct ranked_lab){.count = count};
    ranked_start_all(lab->ranks, count, NULL);
}

void ranked_lab_analyse(struct ranked_lab *lab)
{
    lab->a = analyzed_start(NULL);
    for (uint32_t i = 0; i < lab->count; i++) {
        ranked_end(&lab->ranks[i]);
        analyzed_add(&lab->a, &lab->ranks[i].b);
    }
    analyzed_finish(&lab->a);
}

void ranked_lab_free(struct ranked_lab *lab)
{
    analyzed_free(&lab->a);
    for (uint32_t i = 0; i < lab->count; i++)
        build_free(&lab->ranks[i].b);
}

static void take_less(const struct xfw_change *change, void *self, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct ranked_faster *what = &((const struct ranked_change *)change)->what;
    (void)self;
    if (xfw_player_process(player)->number != what->process)
        return;
    if (op->gap_ns >= what->least_ns)
        op->gap_ns /= what->by;
    if (what->kernels && op->what == XFW_KERNEL && !op->correlation &&
        op->duration_ns >= what->least_ns)
        op->duration_ns /= what->by;
}

struct ranked_change ranked_lab_change(const struct ranked_lab *lab, struct ranked_faster what)
{
    static const struct xfw_change_type type = {.name = "faster", .op = take_less};
    return (struct ranked_change){{.type = &type, .analysis = lab->a.analysis}, what};
}

struct xfw_whatif *ranked_lab_play(const struct ranked_lab *lab, struct ranked_faster what)
{
    struct ranked_change change = ranked_lab_change(lab, what);
    struct xfw_change *changes[] = {&change.change};
    return xfw_whatif_of(lab->a.analysis, changes, 1, NULL, NULL, NULL);
}
