#pragma once

/* POSIX.1-2024, and glibc from 2.30 on, whose header hides it from Swift. Takes a `sem_t *`, a `clockid_t` and a
 * `const struct timespec *`. Without glibc's headers, because Swift would look for their types in this module. */
int sem_clockwait(void *semaphore, int clock, const void *deadline);
