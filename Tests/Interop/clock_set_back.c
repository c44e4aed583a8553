/* Loaded into a program by LD_PRELOAD: its time of day is as many seconds away from the machine's as the file CLOCK_OFFSET says. Clocks that
 * cannot be set go on as they are. Looks at the file at each call, so that the clock is set at once, also for those who wait for a time of
 * day already: these look again ten times a second. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name)                 \
    static __typeof__(name) *next; \
    if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static long long nanoseconds(const struct timespec *time) { return time->tv_sec * 1000000000LL + time->tv_nsec; }

static struct timespec moment(long long nanoseconds) {
    return (struct timespec){.tv_sec = nanoseconds / 1000000000LL, .tv_nsec = nanoseconds % 1000000000LL};
}

static long offset(void) {
    int saved = errno;
    char text[32] = {0};
    const char *path = getenv("CLOCK_OFFSET");
    int file = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file >= 0) {
        if (syscall(SYS_read, file, text, sizeof text - 1) < 0) text[0] = 0;
        syscall(SYS_close, file);
    }
    errno = saved;
    return atol(text);
}

static long long true_time(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return nanoseconds(&now);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += offset();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, time, zone);
    if (result == 0) time->tv_sec += offset();
    return result;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place != NULL) *place = now.tv_sec;
    return now.tv_sec;
}

/* How far to wait for `deadline` before the clock is looked at again, as the machine's time; 0 when it has come. */
static int part(const struct timespec *deadline, struct timespec *until) {
    long long now = true_time(), end = nanoseconds(deadline) - offset() * 1000000000LL;
    *until = moment(end < now + 100000000 ? end : now + 100000000);
    return end > now;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
    NEXT(sem_timedwait);
    for (;;) {
        struct timespec until;
        int waits = part(deadline, &until);
        int result = next(semaphore, &until);
        if (result == 0 || errno != ETIMEDOUT || !waits) return result;
    }
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline
) {
    NEXT(pthread_cond_timedwait);
    /* No machine has been up for thirty years: this is no time of day. */
    if (deadline->tv_sec < 1000000000) return next(condition, mutex, deadline);
    for (;;) {
        struct timespec until;
        int waits = part(deadline, &until);
        int result = next(condition, mutex, &until);
        if (result != ETIMEDOUT || !waits) return result;
    }
}
