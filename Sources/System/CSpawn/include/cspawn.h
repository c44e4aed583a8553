/* Starts a process that inherits only the given descriptors. */
#ifndef CARILLON_SPAWN_H
#define CARILLON_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

/* Starts `program` with `arguments` and `environment` (both end with NULL). Its descriptors 0 and 1 are /dev/null, 2 is `error`,
 * and 3, 4 and 5 are `first`, `second` and `third`; no other descriptor is open. All signals have their default actions and none is
 * blocked. `process` receives its id, `handle` a pidfd. Returns 0 or errno. Callable from any thread. */
int carillon_spawn(const char *program, char *const arguments[], char *const environment[], int error, int first, int second,
                   int third, pid_t *process, int *handle);
/* Returns a process's result without waiting: 1 if it has ended (it is then reaped), 0 if it is running, or a negative errno.
 * `signal` is the signal that ended it, or 0; `status` its exit status. */
int carillon_reap(int handle, int *signal, int *status);
/* Sends `signal` to the process. Returns 0 or errno. */
int carillon_signal_process(int handle, int signal);
/* Sends `signal` to one thread of a process that is not reaped yet. Returns 0 or errno. */
int carillon_signal_thread(pid_t process, pid_t thread, int signal);
/* Makes a pipe that exec closes: ends[0] is for reading and never blocks. Returns 0 or errno. */
int carillon_pipe(int ends[2]);
/* Returns a counter that exec closes and that never blocks, for waking a thread that polls; -1 on failure. */
int carillon_wakeup(void);

#endif
