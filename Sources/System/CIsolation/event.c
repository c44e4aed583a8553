/* Wakes a thread that waits in poll. */
#include "cisolation.h"

#include <sys/eventfd.h>

int carillon_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
