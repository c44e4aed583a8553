#ifndef CARILLON_CPRIVILEGES_H
#define CARILLON_CPRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

/* What Swift cannot call: prctl is variadic, and capset has no prototype in the C library. */

/* Turns a process of root's into one of another user for good. With reads_as_root, a program that this thread then starts by
   exec can read everything that root can read, if the system allows it. Returns 0, or errno: the process must end then. */
int carillon_become(uid_t user, gid_t group, bool reads_as_root);

#endif
