/*
 * A run's ops in memory, compressed, so that its files are read and its ops are found once, however
 * often it is played. Private to whatif/.
 *
 * An op differs from the one like it before it, of the same thread, in few figures and in these by
 * little. Stored is what has changed, exact to the bit: some 60 bytes of an op's 512. What is known
 * only as an op is played (op.h) is not stored: of an op that is read it is 0. What is more than
 * the limit goes into a file (spill.h), where that is asked for and can be. Else all is dropped,
 * and the run's files are read again each time.
 */
#ifndef XFW_OP_STORE_H
#define XFW_OP_STORE_H

#include "analyzer/base/team.h"
#include "analyzer/whatif/op/op.h"
#include "analyzer/whatif/schedule/schedule.h"

/* Bytes, where nobody says how many. */
#define XFW_OP_STORE_MOST ((size_t)512 << 20)

#define XFW_NO_RANGE UINT64_MAX

struct xfw_op_store;
struct xfw_op_store *xfw_op_store_new(size_t most);
void xfw_op_store_free(struct xfw_op_store *store);
/* From now on, what has no room goes into a file, or not. */
void xfw_op_store_spills(struct xfw_op_store *store, bool spills);
bool xfw_op_store_has_spilled(const struct xfw_op_store *store);
/* More bytes may not be stored in this process, whose address space may be limited. */
size_t xfw_op_store_room(void);

/* One process after the other: its ops, then its end. */
void xfw_op_store_add(struct xfw_op_store *store, const struct xfw_op *op);
/* end_ns: as struct xfw_sink (ops.h) has it. ranges: the names of its ranges, ids in NAMES, 0 of
 * one without a name; XFW_NO_RANGE ends them. */
void xfw_op_store_end(struct xfw_op_store *store, double end_ns, const uint64_t ranges[XFW_RANGES]);
/* For other members of a team: the ops of one process, by its place in the order in which they were
 * stored; and those that another one gave, before xfw_op_store_end(). They take up just the room
 * that adding them one by one does. False: they are none. */
void xfw_op_store_give(const struct xfw_op_store *store, size_t process, struct xfa_parcel *parcel);
bool xfw_op_store_take(struct xfw_op_store *store, const struct xfa_parcel *parcel);
/* The ops that come now, until it is over, can be skipped by who reads them: of one process, and
 * not for other members. */
void xfw_op_store_apart(struct xfw_op_store *store);
void xfw_op_store_apart_over(struct xfw_op_store *store);
/* All that was added is there. */
bool xfw_op_store_all(const struct xfw_op_store *store);

/* Reads from the start. False: the process has no more ops; xfw_op_store_over() has its end, and
 * the next process's ops come next. */
void xfw_op_store_rewind(struct xfw_op_store *store);
bool xfw_op_store_next(struct xfw_op_store *store, struct xfw_op *op);
const uint64_t *xfw_op_store_over(struct xfw_op_store *store, double *end_ns);
/* Ops that were stored apart come next: they are read, or all of them skipped. Once they are: */
void xfw_op_store_read_apart(struct xfw_op_store *store);
void xfw_op_store_behind_apart(struct xfw_op_store *store);

/* The same of one process, by its place in the order in which they were stored, beside others. */
struct xfw_op_reader;
struct xfw_op_reader *xfw_op_reader_new(const struct xfw_op_store *store, size_t process);
void xfw_op_reader_free(struct xfw_op_reader *reader); /* NULL is allowed */
bool xfw_op_reader_next(struct xfw_op_reader *reader, struct xfw_op *op);
const uint64_t *xfw_op_reader_over(const struct xfw_op_reader *reader, double *end_ns);

#endif
