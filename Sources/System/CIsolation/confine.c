#define _GNU_SOURCE
#include "cisolation.h"
#include "parts.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/* The limit of descriptors that a plugin may still open. Those already open keep working. */
#define DESCRIPTORS 64
#define THREAD_STACK (1 << 20)
#define ARENAS 2

static bool calls_restricted;

/* Process-wide limits come before the filter, which forbids changing limits. */
static void restrict_calls_while_loading(void) {
    struct rlimit none = {0, 0}, descriptors = {DESCRIPTORS, DESCRIPTORS};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_NOFILE, &descriptors);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    calls_restricted = carillon_restrict_calls_while_loading();
}

/* The filter of stage 1 applies to all threads together: after threads had set their own filters, no common one could be set. */
static bool are_calls_restricted(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, restrict_calls_while_loading);
    return calls_restricted;
}

int carillon_confine_loading(const char *const *readable, size_t count) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
    int bits = 0;
    if (carillon_restrict_files(readable, count)) bits |= CARILLON_CONFINED_FILES;
    if (are_calls_restricted()) bits |= CARILLON_CONFINED_CALLS;
    return bits;
}

int carillon_confine_running(void) {
    /* Reads the time zone while files can be read. */
    tzset();
    return carillon_restrict_calls_while_running() ? CARILLON_CONFINED_FILES | CARILLON_CONFINED_CALLS : 0;
}

int carillon_limit_memory(uint64_t bytes) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return errno;
    /* Few threads run at a time; each additional arena keeps memory. */
    mallopt(M_ARENA_MAX, ARENAS);
    pthread_attr_t attributes;
    int failure = pthread_attr_init(&attributes);
    if (failure == 0) failure = pthread_attr_setstacksize(&attributes, THREAD_STACK);
    if (failure == 0) failure = pthread_setattr_default_np(&attributes);
    if (failure != 0 || bytes == 0) return failure;
    struct rlimit data = {bytes, bytes};
    return setrlimit(RLIMIT_DATA, &data) == 0 ? 0 : errno;
}
