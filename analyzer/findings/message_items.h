/*
 * What findings of messages share: things that were met at a call site between two ranks, added up
 * (an item), and where each of them lies in its thread's own time, for the replay.
 */
#ifndef XFA_MESSAGE_ITEMS_H
#define XFA_MESSAGE_ITEMS_H

#include "analyzer/base/exact.h"
#include "analyzer/base/met.h"
#include "analyzer/findings/finding.h"

#define XFA_MOST_MESSAGE_ITEMS 16384

struct xfa_message_item {
    struct xfa_message_item_key { /* key; zeroed before it is filled in */
        uint64_t communicator;    /* id */
        uint32_t site, function;
        uint32_t from, to;   /* ranks of the communicator */
        uint32_t size_class; /* of one message */
        uint32_t of;         /* enum xfw_cut_of, where a kind distinguishes sides; else 0 */
    } key;
    struct xfa_met met;
    uint64_t times;    /* met */
    uint64_t among;    /* of these times: another thread of the process was waiting in MPI, too */
    uint64_t messages; /* in them */
    uint64_t bytes;
    struct xfa_exact message_time; /* ns in calls of messages, and waits for them */
    struct xfa_exact copy_time;    /* ns in copies, and waits for them */
    double saved_ns;               /* what each of them would save; set when it is judged */
    double likely_ns;              /* as likely; saved_ns is at best then */
    double first_ns;               /* once for the two ranks, as likely: it takes that at first */
    double direct_ns; /* then: its copies go, and its message takes this; NAN: it does not */
    uint8_t judged;   /* the kind's own */
};

struct xfa_message_items {
    struct xfa_table all; /* struct xfa_message_item */
    struct xfa_message_place {
        uint32_t item, process;
        int32_t tid;
        uint8_t of;      /* enum xfw_cut_of: what is sent, or received */
        double at_ns;    /* of the call whose time it is, since the process began to be recorded */
        double began_ns; /* of the call that began the message */
        double most_ns;  /* of the call's time may go */
        double
            copy_ns; /* when the copy began that it was staged by, by the same clock; NAN: none */
        double part; /* of what the item saves each time */
    } * places;
    size_t count, capacity;
    bool beyond; /* there are more places than XFW_MOST_CUTS: some were left out */
};

void xfa_message_items_init(struct xfa_message_items *items);
void xfa_message_items_free(struct xfa_message_items *items);

/* Where one of its messages lies in its process. Times are those of events. */
struct xfa_message_spot {
    const struct xfa_process *process;
    int32_t tid;
    enum xfw_cut_of of;
    uint64_t at_ns, began_ns;
    uint64_t copy_at_ns; /* when the copy began that it was staged by; 0: none */
    double message_ns;
    bool of_two; /* the call does another message too: half of its time may go */
    bool among;  /* as in struct xfa_message_item */
};

/* One more of that key; NULL: there are too many. */
struct xfa_message_item *xfa_message_items_add(struct xfa_message_items *items,
                                               const struct xfa_message_item_key *key,
                                               const struct xfa_message_spot *spot);
/* The same of several messages that save something together, each the same part of it. */
struct xfa_message_item *xfa_message_items_add_all(struct xfa_message_items *items,
                                                   const struct xfa_message_item_key *key,
                                                   const struct xfa_message_spot *spots,
                                                   size_t count);

/* Of members of a team (divided.h); the first as struct xfa_observer has it. */
double xfa_message_items_filled(const struct xfa_message_items *items);
void xfa_message_items_give(const struct xfa_message_items *items, struct xfa_parcel *parcel);
void xfa_message_items_take(struct xfa_message_items *items, const struct xfa_analysis *analysis,
                            struct xfa_unpacking *from);
void xfa_message_items_taken(struct xfa_message_items *items);

static inline struct xfa_message_item *xfa_message_item(const struct xfa_message_items *items,
                                                        size_t i)
{
    return xfa_table_at(&items->all, i);
}

/* What the network achieves between the two ranks of an item; nothing where their hosts are not
 * known. */
struct xfa_message_path xfa_message_item_path(const struct xfa_analysis *analysis,
                                              const struct xfa_message_item *item);

/* Adds the sites of the items that are judged so to findings like that: each call site once, if it
 * loses more than the thresholds. With lost_ns NAN where its items have no saved_ns: then its time
 * in copies is compared with them. */
void xfa_message_items_report(const struct xfa_analysis *analysis,
                              const struct xfa_message_items *items, unsigned judged,
                              const struct xfa_finding *like, struct xfa_findings *findings);

/* What is judged so goes from the own time of the threads of the finding's sites: at best, and
 * (likely) as likely, of each place what its item says, at most its time; or its copy goes, and its
 * message takes what the item says. NULL: not known. */
struct xfw_change *xfa_message_items_change(const struct xfa_analysis *analysis,
                                            const struct xfa_message_items *items, unsigned judged,
                                            const struct xfa_finding *finding);

#endif
