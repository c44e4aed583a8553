/* Synchronization.Mutex as ThreadSanitizer can follow it. Its fast way is compiled into our code, where its atomics are seen; what
 * happens when threads meet is in the standard library, which is not instrumented. This stands before it and says what it does.
 * The same for sem_clockwait, the one call on semaphores that ThreadSanitizer does not know.
 * Loaded into the tests by contrib/sanitize. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

/* Programs that the tests start have no ThreadSanitizer. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

typedef __attribute__((swiftcall)) void (*lock_function)(uint32_t state, __attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) void (*unlock_function)(__attribute__((swift_context)) void *mutex);

static void *standard_library(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function) return function;
    fprintf(stderr, "contrib/sanitize.mutex.c: the standard library has no %s any more\n", name);
    abort();
}

__attribute__((swiftcall)) void lock_slow(uint32_t state, __attribute__((swift_context)) void *mutex) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void lock_slow(uint32_t state, __attribute__((swift_context)) void *mutex) {
    static lock_function standard;
    if (!standard) standard = (lock_function)standard_library(LOCK_SLOW);
    standard(state, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *mutex) __asm__(UNLOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *mutex) {
    static unlock_function standard;
    if (!standard) standard = (unlock_function)standard_library(UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(mutex);
    standard(mutex);
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict deadline) {
    static int (*standard)(sem_t *restrict, clockid_t, const struct timespec *restrict);
    if (!standard) standard = (__typeof__(standard))dlsym(RTLD_NEXT, "sem_clockwait");
    int result = standard(semaphore, clock, deadline);
    if (result == 0 && __tsan_acquire) __tsan_acquire(semaphore);
    return result;
}
