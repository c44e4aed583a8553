#ifndef CARILLON_SQLITE_TUNING_H
#define CARILLON_SQLITE_TUNING_H

/// Turns off SQLite's memory statistics for the whole process. Has an effect only before SQLite is first used. Returns SQLite's
/// result.
int carillon_sqlite_leave_memory_uncounted(void);

#endif
