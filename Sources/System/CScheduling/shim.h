#pragma once
#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lowers the priority of the calling thread below all others: `steps` nicer than it is, as a batch, and with slices of 100 ms. A
 * thread with a longer slice yields immediately to one that wakes up (Linux 6.12 and later). With equal slices it would keep its
 * core for up to a millisecond. Older systems ignore the slice. Requires no privileges. Returns 0 or errno. glibc has no function
 * for the call before 2.41. */
static inline int carillon_yield_to_others(int steps) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {0};
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    if (nice == -1 && errno != 0) return errno;
    nice = nice + steps > 19 ? 19 : nice + steps;
    attributes.size = sizeof attributes;
    attributes.policy = 3; /* SCHED_BATCH */
    attributes.nice = nice;
    attributes.runtime = 100000000;
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return 0;
    /* If it is forbidden, the niceness still helps. On Linux each thread has its own. */
    return setpriority(PRIO_PROCESS, 0, nice) == 0 ? 0 : errno;
}
