/*
 * What META says of the machine: the driver and its GPUs.
 */
#ifndef XFS_MACHINE_H
#define XFS_MACHINE_H

/* Once the driver is initialised. Uses only functions that create no context. Needs a large stack.
 */
void xfs_machine_note(void);

#endif
