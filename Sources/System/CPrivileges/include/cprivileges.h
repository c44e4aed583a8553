#ifndef CARILLON_CPRIVILEGES_H
#define CARILLON_CPRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

/* Functions that Swift cannot call: prctl is variadic, and capset has no prototype in the C library. */

/* Permanently changes a root process to another user. With reads_as_root, a program that this thread then starts by exec can read
 * everything that root can read, if the system allows it. Returns 0 or errno; on an error the process must exit. */
int carillon_become(uid_t user, gid_t group, bool reads_as_root);

#endif
