#ifndef CARILLON_CPRIVILEGES_H
#define CARILLON_CPRIVILEGES_H

#include <sys/types.h>

/* What Swift cannot call: prctl is variadic, and capset has no prototype in the C library. */

/* Turns a process of root's into one of another user for good. What it runs by exec from this thread on may, where the system
   allows it, read everything as root may, and do nothing else that this user may not. Returns 0, or errno: the process is then
   not to go on. */
int carillon_become(uid_t user, gid_t group);

#endif
