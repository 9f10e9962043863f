/* The best set, of changes that are made up: who joins, as a whole or in part, and who has what. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/best_set.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/whatif.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

/* Copies of two sites, which block for 100 us each. */
enum { LEFT, RIGHT, SITES, COPIES = 20, COPY_NS = 100000, BYTES = 1 << 20 };

/* ---- changes --------------------------------------------------------------------------------- */

/* Its sites' copies take so long. */
struct shorter {
    struct xfw_change change;
    bool sites[SITES];
    double ns, prepared_ns, worst_ns; /* 0: at worst the same */
};

static void shorten(const struct xfw_change *change, void *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    const struct shorter *shorter = (const struct shorter *)change;
    (void)state;
    if (op->class == XFW_NONE)
        return;
    uint64_t site = xfa_class_at(&change->analysis->classes, op->class)->row;
    if (site >= SITES || !shorter->sites[site] || !xfw_player_take(player, op))
        return;
    xfw_op_drop(op);
    bool worst = xfw_player_certainty(player) == XFW_LOW && shorter->worst_ns > 0;
    op->own_ns = worst ? shorter->worst_ns : shorter->ns;
}

static struct shorter shorter(bool left, bool right, double ns)
{
    static const struct xfw_change_type type = {.name = "shorter", .op = shorten};
    struct shorter made = {.sites = {[LEFT] = left, [RIGHT] = right}, .ns = ns};
    made.change.type = &type;
    made.change.shares = XFW_IN_PARTS;
    return made;
}

/* Its sites' copies could be shorter, if anybody made them so. */
static void prepare(const struct xfw_change *change, void *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    (void)change, (void)state, (void)player;
    op->in_one = true;
}

static void shorten_prepared(const struct xfw_change *change, void *state,
                             struct xfw_player *player, struct xfw_op *op)
{
    if (op->in_one)
        shorten(change, state, player, op);
}

/* Shorter, and more so if it was prepared. */
static void either(const struct xfw_change *change, void *state, struct xfw_player *player,
                   struct xfw_op *op)
{
    struct shorter of = *(const struct shorter *)change;
    of.ns = op->in_one ? of.prepared_ns : of.ns;
    shorten(&of.change, state, player, op);
}

static struct shorter half(bool second, double ns)
{
    static const struct xfw_change_type first = {.name = "prepare", .op = prepare};
    static const struct xfw_change_type then = {.name = "shorten prepared", .op = shorten_prepared};
    struct shorter made = shorter(true, false, ns);
    made.change.type = second ? &then : &first;
    return made;
}

/* Those that share a site exclude each other, but for the third. */
static enum xfw_excluded sites_of(const void *self, size_t a, size_t b)
{
    const struct shorter *const *of = self, *one = of[a], *other = of[b];
    unsigned shared = 0, all = 0;
    for (unsigned site = 0; site < SITES; site++) {
        all += one->sites[site];
        shared += one->sites[site] && other->sites[site];
    }
    if (shared == 0 || a == 2 || b == 2)
        return XFW_EXCLUDED_NOT;
    return shared == all ? XFW_EXCLUDED : XFW_EXCLUDED_IN_PART;
}

/* ---- the run --------------------------------------------------------------------------------- */

struct set {
    struct analyzed a;
    struct xfw_whatif *whatif;
    struct xfw_change *changes[3];
};

static struct set set_of(struct shorter *shorter, size_t count)
{
    struct trace_builder b;
    struct play play;
    struct set set = {0};
    play_start(&play, &b, 1);
    play_site(&play, 10 + LEFT, "left", 1);
    play_site(&play, 10 + RIGHT, "right", 2);
    for (unsigned i = 0; i < COPIES; i++)
        for (unsigned site = 0; site < SITES; site++)
            play_copy(&play, 10 + site, XFT_DIR_H2D, XFT_MEM_PINNED, BYTES, COPY_NS);
    play_end(&play, XFT_STATE_CLOSED);
    set.a = analyzed_trace(&b, NULL);
    for (size_t i = 0; i < count; i++) {
        set.changes[i] = &shorter[i].change;
        set.changes[i]->analysis = set.a.analysis;
    }
    struct xfw_change *const *of = set.changes;
    set.whatif = xfw_whatif_of(set.a.analysis, of, count, sites_of, of, NULL);
    if (!set.whatif->known)
        fail_msg("%s", set.whatif->why);
    build_free(&b);
    return set;
}

static void finish(struct set *set)
{
    xfw_whatif_free(set->whatif);
    analyzed_free(&set->a);
}

static bool saves(double ns, double each, unsigned sites)
{
    return fabs(ns - sites * COPIES * (COPY_NS - each)) < 1;
}

static uint64_t taken(const struct set *set, size_t change, unsigned site)
{
    const struct xfa_classes *classes = &set->a.analysis->classes;
    const struct xfa_class *class = xfa_row_class(classes, xfa_row_at(classes, site), NULL);
    return xfw_whatif_taken(set->whatif, set->changes[change], class->number);
}

/* ---- who joins ------------------------------------------------------------------------------- */

/* The first has one site, the second the rest: what it makes of that is what it adds. */
static void test_the_rest(void **state)
{
    struct shorter both[] = {shorter(true, false, 10000), shorter(true, true, 60000)};
    struct set set = set_of(both, 2);
    const struct xfw_whatif *whatif = set.whatif;
    assert_true(saves(whatif->alone[1].likely, 60000, 2));
    assert_int_equal(whatif->order[0], 1);
    assert_int_equal(whatif->order[1], 2);
    assert_true(saves(whatif->added[0].likely, 10000, 1));
    assert_true(saves(whatif->added[1].likely, 60000, 1));
    assert_true(saves(whatif->set.likely - whatif->added[1].likely, 10000, 1));
    assert_int_equal(taken(&set, 1, LEFT), 0);
    assert_int_equal(taken(&set, 1, RIGHT), COPIES);
    assert_int_equal(taken(&set, 0, LEFT), COPIES);
    /* Without the first the second has all. */
    assert_true(fabs(whatif->last[0].likely - COPIES * 50000.0) < 1);
    finish(&set);
}

/* Nothing saves more than what need not be done: at best the other site's copies stay as they are,
 * but for what two runs differ by, and a fifth of what is left of its own goes (XFW_MODEL_ERROR).
 */
static void test_what_is_left_stays(void **state)
{
    (void)state;
    struct shorter one[] = {shorter(true, false, 10000)};
    struct set set = set_of(one, 1);
    const struct xfw_whatif *whatif = set.whatif;
    double most = COPIES * (COPY_NS - (1 - XFW_MODEL_ERROR) * 10000.0);
    assert_true(saves(whatif->set.likely, 10000, 1));
    assert_true(whatif->set.high > whatif->set.likely);
    assert_true(whatif->set.high < most + 3 * XFW_RUN_ERROR * whatif->alone_ns);
    assert_true(whatif->alone[0].high == whatif->set.high);
    finish(&set);
}

/* One that is about the run as a whole is not made in part, and leaves nothing; one that needs all
 * of its transfers leaves something and has no rest; of whose transfers all are taken has none. */
static void test_no_rest(void **state)
{
    static const struct {
        enum xfw_shares first, second;
        bool right;
        unsigned joins;
    } cases[] = {
        {XFW_IN_PARTS, XFW_WHOLE, true, 0}, {XFW_IN_PARTS, XFW_TAKES, true, 0},
        {XFW_WHOLE, XFW_IN_PARTS, true, 0}, {XFW_IN_PARTS, XFW_IN_PARTS, false, 0},
        {XFW_TAKES, XFW_IN_PARTS, true, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shorter both[] = {shorter(true, false, 10000), shorter(true, cases[i].right, 60000)};
        both[0].change.shares = cases[i].first;
        both[1].change.shares = cases[i].second;
        struct set set = set_of(both, 2);
        assert_int_equal(set.whatif->order[0], 1);
        assert_int_equal(set.whatif->order[1], cases[i].joins);
        finish(&set);
    }
}

/* One that saves hardly more than a simpler one comes behind it, for what that one has not. */
static void test_simpler_first(void **state)
{
    struct shorter both[] = {shorter(true, false, 20000), shorter(true, true, 57500)};
    struct set set = set_of(both, 2);
    assert_true(set.whatif->alone[1].likely > set.whatif->alone[0].likely);
    assert_int_equal(set.whatif->order[0], 1);
    assert_int_equal(set.whatif->order[1], 2);
    assert_true(saves(set.whatif->added[1].likely, 57500, 1));
    finish(&set);
}

/* Where the simpler one saves more at worst, the other one has to save a fifth more. */
static void test_surer_first(void **state)
{
    static const struct {
        double ns, worst_ns;
        unsigned order;
    } others[] = {{54000, 0, 2}, {54000, 90000, 1}, {48000, 90000, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct shorter both[] = {shorter(true, false, 20000), shorter(true, true, others[i].ns)};
        both[1].worst_ns = others[i].worst_ns;
        struct set set = set_of(both, 2);
        assert_true(set.whatif->alone[1].likely > 1.1 * set.whatif->alone[0].likely);
        assert_int_equal(set.whatif->order[0] == 1, others[i].order == 1);
        assert_int_equal(set.whatif->order[1] == 1, others[i].order != 1);
        finish(&set);
    }
}

/* Of what saves about as much, transfers that need not be made are left out; with the others the
 * set has what is left. */
static void test_rather_left_out(void **state)
{
    struct shorter three[] = {shorter(true, false, 25000), shorter(false, false, 0),
                              shorter(true, false, 20000)};
    (void)state;
    for (int leaves_out = 0; leaves_out < 2; leaves_out++) {
        three[0].change.leaves_out = leaves_out;
        struct set set = set_of(three, 3);
        assert_int_equal(set.whatif->order[0], leaves_out);
        assert_int_equal(set.whatif->order[2], 1 + leaves_out);
        assert_true(saves(set.whatif->set.likely, 20000, 1));
        finish(&set);
    }
}

/* They come first in the set, though they save less. */
static void test_left_out_comes_first(void **state)
{
    struct shorter both[] = {shorter(true, false, 10000), shorter(false, true, 60000)};
    (void)state;
    both[1].change.leaves_out = true;
    struct set set = set_of(both, 2);
    assert_int_equal(set.whatif->order[0], 2);
    assert_int_equal(set.whatif->order[1], 1);
    assert_true(saves(set.whatif->added[0].likely, 10000, 1));
    assert_true(saves(set.whatif->added[1].likely, 60000, 1));
    finish(&set);
}

/* What can be made as a whole is made before anything in part, though it adds less. */
static void test_wholes_first(void **state)
{
    struct shorter three[] = {shorter(true, false, 10000), shorter(true, true, 60000),
                              shorter(false, true, 90000)};
    struct set set = set_of(three, 3);
    assert_int_equal(set.whatif->order[0], 1);
    assert_int_equal(set.whatif->order[2], 2);
    assert_int_equal(set.whatif->order[1], 3);
    assert_true(saves(set.whatif->added[2].likely, 90000, 1));
    assert_true(fabs(set.whatif->added[1].likely - COPIES * 30000.0) < 1);
    finish(&set);
}

/* Two that save nothing by themselves: they stand behind what does, and who is not missed is not in
 * it. */
static void test_only_together(void **state)
{
    for (int useless = 0; useless < 2; useless++) {
        struct shorter all[] = {half(false, 0), shorter(false, true, 60000), half(true, 20000)};
        if (useless) /* prepared, but as long as before */
            all[2] = half(true, COPY_NS);
        struct set set = set_of(all, 3);
        const struct xfw_whatif *whatif = set.whatif;
        assert_true(fabs(whatif->alone[0].likely) < 1 && fabs(whatif->alone[2].likely) < 1);
        assert_int_equal(whatif->order[1], 1);
        assert_int_equal(whatif->search.together, useless ? 0 : 2);
        assert_int_equal(whatif->order[0], useless ? 0 : 2);
        assert_int_equal(whatif->order[2], useless ? 0 : 3);
        assert_false(whatif->search.left_out);
        if (!useless) {
            assert_true(saves(whatif->added[0].likely + whatif->added[2].likely, 20000, 1));
            assert_true(saves(whatif->last[0].likely, 20000, 1));
            assert_true(saves(whatif->set.likely - whatif->added[1].likely, 20000, 1));
            assert_false(isnan(whatif->alone[0].low));
        }
        finish(&set);
    }
}

/* What pays only together is not looked for once more where a question is answered. */
static void test_answer_with_what_was_found(void **state)
{
    (void)state;
    struct shorter all[] = {half(false, 0), shorter(false, true, 60000), half(true, 20000)};
    all[1].change.from = XFW_HIGH;
    all[1].change.question = true;
    struct set set = set_of(all, 3);
    const struct xfw_whatif *whatif = set.whatif;
    const double answered = whatif->answered[1].likely;
    assert_true(whatif->order[0] && whatif->order[2] && !whatif->order[1]);
    assert_true(saves(whatif->set.likely, 20000, 1));
    assert_true(saves(answered - whatif->set.likely, 60000, 1));
    assert_true(whatif->up_to[1].run_ns >= answered && whatif->up_to[1].span_ns >= answered);
    assert_false(whatif->needless[1]);
    assert_int_equal(whatif->search.not_asked, 0);
    finish(&set);
}

/* Who comes with them and is not missed does not join. */
static void test_no_passengers(void **state)
{
    struct shorter all[] = {half(false, 0), shorter(false, true, COPY_NS), half(true, 20000)};
    struct set set = set_of(all, 3);
    assert_int_equal(set.whatif->search.together, 2);
    assert_int_equal(set.whatif->order[0], 1);
    assert_int_equal(set.whatif->order[1], 0);
    assert_int_equal(set.whatif->order[2], 2);
    finish(&set);
}

/* Of two that do not exclude each other and save as much, as far as the replay can tell, the first
 * is chosen. */
static void test_simpler_of_equals(void **state)
{
    struct shorter all[] = {shorter(true, false, 60100), shorter(false, true, 60000)};
    struct set set = set_of(all, 2);
    assert_int_equal(set.whatif->order[0], 1);
    assert_int_equal(set.whatif->order[1], 2);
    finish(&set);
}

/* What nobody could tell from another run of the same program is no change. */
static void test_not_worth_a_change(void **state)
{
    (void)state;
    for (int worth = 0; worth < 2; worth++) {
        struct shorter all[] = {shorter(true, false, 60000),
                                shorter(false, true, worth ? 98900 : 99200)};
        struct set set = set_of(all, 2);
        assert_int_equal(set.whatif->order[0], 1);
        assert_int_equal(set.whatif->order[1], worth ? 2 : 0);
        finish(&set);
    }
}

/* What is more work than other changes has to add as much as to be advice by itself, also with
 * those that it only pays with. */
static void test_more_work(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct shorter steps[] = {shorter(true, false, 60000), shorter(false, true, 95000)};
        steps[1].change.least_part = 0.05;
        steps[1].change.of_span = more;
        struct set set = set_of(steps, 2);
        assert_int_equal(set.whatif->order[0], 1);
        assert_int_equal(set.whatif->order[1], more ? 0 : 2);
        finish(&set);
        struct shorter both[] = {half(false, 0), shorter(false, true, 60000), half(true, 20000)};
        both[2].change.least_part = more ? 0.5 : 0.3;
        both[2].change.of_span = true;
        set = set_of(both, 3);
        assert_int_equal(set.whatif->search.together, more ? 0 : 2);
        finish(&set);
    }
}

static void longer(const struct xfw_change *change, void *state, struct xfw_player *player,
                   struct xfw_op *op)
{
    struct shorter of = *(const struct shorter *)change;
    of.ns = op->in_one ? of.prepared_ns : of.ns;
    shorten(&of.change, state, player, op);
}

static void shorten_and_prepare(const struct xfw_change *change, void *state,
                                struct xfw_player *player, struct xfw_op *op)
{
    shorten(change, state, player, op);
    op->in_one = true;
}

/* Numbers that cost much by themselves are tried with the set: of a family, and not where they are
 * more work than others and add too little for that. */
static void test_numbers_that_pay_with_the_set(void **state)
{
    static const struct xfw_change_type first = {.name = "prepare", .op = shorten_and_prepare};
    static const struct xfw_change_type then = {.name = "longer", .op = longer};
    (void)state;
    for (int of_family = 0; of_family < 3; of_family++) {
        struct shorter all[] = {shorter(false, true, 60000), shorter(true, false, 3.0 * COPY_NS)};
        all[0].change.type = &first;
        all[1].change.type = &then;
        all[1].change.family = of_family ? "numbers" : NULL;
        all[1].prepared_ns = 50000;
        all[1].change.of_span = of_family > 1;
        all[1].change.least_part = of_family > 1 ? 0.5 : 0;
        struct set set = set_of(all, 2);
        assert_int_equal(set.whatif->order[0], 1);
        assert_int_equal(set.whatif->order[1], of_family == 1 ? 2 : 0);
        finish(&set);
    }
}

/* Who is to be last sees what the others make of an op, wherever it stands in the set. */
static void test_last_in_the_set(void **state)
{
    static const struct xfw_change_type first = {.name = "prepare", .op = shorten_and_prepare};
    static const struct xfw_change_type then = {.name = "longer", .op = longer};
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct shorter all[] = {shorter(false, true, 60000), shorter(true, false, 50000)};
        all[0].change.type = &first;
        all[1].change.type = &then;
        all[1].change.last = last;
        all[1].prepared_ns = 20000;
        struct set set = set_of(all, 2);
        assert_int_equal(set.whatif->order[1], last ? 1 : set.whatif->order[1]);
        double each = last ? 20000 : 50000;
        assert_true(saves(set.whatif->set.likely, (each + 60000) / 2, 2));
        finish(&set);
    }
}

/* The shortest alone keeps out another one that is shorter once it is prepared; but what is simpler
 * stays where the other saves hardly more. */
static void test_in_the_place_of_another(void **state)
{
    static const double prepared_ns[] = {10000, 44000, 46000};
    (void)state;
    for (int i = 0; i < 3; i++) {
        bool hardly = i == 2;
        struct shorter all[] = {shorter(true, false, 50000), shorter(true, false, 60000),
                                half(false, 0)};
        static const struct xfw_change_type type = {.name = "either", .op = either};
        all[1].change.type = &type;
        all[1].prepared_ns = prepared_ns[i];
        all[2].change.first = true;
        struct set set = set_of(all, 3);
        const struct xfw_whatif *whatif = set.whatif;
        assert_int_equal(whatif->order[0], hardly ? 1 : 0);
        assert_int_equal(whatif->order[1] > 0, !hardly);
        assert_int_equal(whatif->order[2] > 0, !hardly);
        assert_true(saves(whatif->set.likely, hardly ? 50000 : prepared_ns[i], 1));
        assert_int_equal(isnan(whatif->added[0].likely), !hardly);
        if (!hardly)
            assert_true(
                saves(whatif->added[1].likely + whatif->added[2].likely, prepared_ns[i], 1));
        finish(&set);
    }
}

/* Of a family each that saves a little more than the one before: one is the best all the same. What
 * is for comparison is not, and keeps out those that save hardly more. */
static void test_best_of_family(void **state)
{
    static const struct {
        double saved[4];
        int best;
    } cases[] = {{{100, 101, 102.5, 104}, 2},
                 {{100, 101, 101.5, 101.9}, 0},
                 {{50, 100, 101, 99}, 1},
                 {{-3, -2, -5, -4}, 1}};
    struct xfw_change members[5] = {{.family = "overlap", .for_comparison = true}};
    struct xfw_change *changes[5];
    struct xfw_saving alone[5] = {{0}};
    struct xfw_whatif whatif = {.count = 5, .alone = alone, .alone_ns = 1000};
    (void)state;
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        alone[0].likely = c == 2 ? 90.5 : -100;
        for (size_t i = 0; i < 5; i++) {
            members[i].family = "overlap";
            changes[i] = &members[i];
            alone[i].likely = i ? cases[c].saved[i - 1] : alone[0].likely;
        }
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(xfw_whatif_best_of_family(&whatif, changes, i),
                             (int)i == cases[c].best + 1);
    }
    alone[0].likely = 99;
    alone[2].likely = 100;
    assert_false(xfw_whatif_best_of_family(&whatif, changes, 2));
    alone[2].likely = 105;
    assert_false(xfw_whatif_best_of_family(&whatif, changes, 2));
    whatif.span.alone_ns = 120; /* a quarter of what is left, which is less than a tenth more */
    assert_true(xfw_whatif_best_of_family(&whatif, changes, 2));
}

/* At worst its copies take as long as they took, and at_worst_ns on top. */
static void doubt(const struct xfw_change *change, void *state, struct xfw_player *player,
                  struct xfw_op *op)
{
    const struct shorter *shorter = (const struct shorter *)change;
    struct shorter of = *shorter;
    if (xfw_player_certainty(player) == XFW_LOW)
        of.ns = COPY_NS + shorter->prepared_ns;
    shorten(&of.change, state, player, op);
}

static struct shorter doubtful(double ns, double at_worst_ns)
{
    static const struct xfw_change_type type = {.name = "doubtful", .op = doubt};
    struct shorter made = shorter(true, false, ns);
    made.change.type = &type;
    made.prepared_ns = at_worst_ns;
    return made;
}

/* What may cost more than it likely saves is in no set, unless it is much; or with others that make
 * it sure. Nor are two of these. */
static void test_may_cost_more(void **state)
{
    static const struct {
        double ns, at_worst_ns;
        bool is_set;
    } cases[] = {{97000, 3500, false}, {97000, 0, true}, {60000, 45000, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shorter one = doubtful(cases[i].ns, cases[i].at_worst_ns);
        struct set set = set_of(&one, 1);
        assert_true(saves(set.whatif->alone[0].likely, cases[i].ns, 1));
        assert_int_equal(set.whatif->order[0], cases[i].is_set);
        assert_int_equal(isnan(set.whatif->set.likely), !cases[i].is_set);
        finish(&set);
    }
    struct shorter both[] = {doubtful(97000, 3500), shorter(false, true, 60000)};
    struct set set = set_of(both, 2);
    assert_int_equal(set.whatif->order[0], 2);
    assert_int_equal(set.whatif->order[1], 1);
    finish(&set);
    struct shorter alike[] = {doubtful(98900, 3500), doubtful(98900, 3500)};
    alike[1].sites[LEFT] = false;
    alike[1].sites[RIGHT] = true;
    set = set_of(alike, 2);
    assert_true(saves(set.whatif->alone[0].likely, 98900, 1));
    assert_int_equal(set.whatif->order[0] + set.whatif->order[1], 0);
    assert_true(isnan(set.whatif->set.likely) && isnan(set.whatif->added[0].likely));
    finish(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_may_cost_more),
        cmocka_unit_test(test_the_rest),
        cmocka_unit_test(test_what_is_left_stays),
        cmocka_unit_test(test_best_of_family),
        cmocka_unit_test(test_only_together),
        cmocka_unit_test(test_answer_with_what_was_found),
        cmocka_unit_test(test_no_passengers),
        cmocka_unit_test(test_simpler_of_equals),
        cmocka_unit_test(test_no_rest),
        cmocka_unit_test(test_simpler_first),
        cmocka_unit_test(test_surer_first),
        cmocka_unit_test(test_rather_left_out),
        cmocka_unit_test(test_left_out_comes_first),
        cmocka_unit_test(test_wholes_first),
        cmocka_unit_test(test_numbers_that_pay_with_the_set),
        cmocka_unit_test(test_last_in_the_set),
        cmocka_unit_test(test_in_the_place_of_another),
        cmocka_unit_test(test_not_worth_a_change),
        cmocka_unit_test(test_more_work),
    };
    return cmocka_run_group_tests_name("what if: the best set", tests, NULL, NULL);
}
