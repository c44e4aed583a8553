/* What two processes that wake each other cannot do without: two round trips over a socket for each delivery (out and back, 20 ms later
 * again), as those of a plugin in a process of its own, with nothing but a read and a write at each end.
 *
 *   floor RATE SECONDS      prints the median and the 99th percentile of both round trips together, in microseconds */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_size(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double round_trip(int socket, char *room, size_t size) {
    const double start = now();
    if (write(socket, room, 600) != 600 || read(socket, room, size) <= 0) exit(1);
    return now() - start;
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    const double rate = atof(arguments[1]), end = now() + atof(arguments[2]) * 1e6;
    static char room[4096];
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 1;
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        close(pair[0]);
        while (read(pair[1], room, sizeof room) > 0 && write(pair[1], room, 600) == 600) continue;
        _exit(0);
    }
    static double times[100000];
    size_t done = 0;
    do {
        usleep((useconds_t)(-log(drand48() + 1e-9) / rate * 1e6));
        times[done] = round_trip(pair[0], room, sizeof room);
        usleep(20000);
        times[done++] += round_trip(pair[0], room, sizeof room);
    } while (now() < end && done < sizeof times / sizeof *times);
    qsort(times, done, sizeof *times, by_size);
    printf("%.0f %.0f\n", times[done / 2], times[done * 99 / 100]);
    return 0;
}
