#ifndef CARILLON_SQLITE_TUNING_H
#define CARILLON_SQLITE_TUNING_H

/// Has SQLite get memory without counting it from now on, for the whole process. Works before SQLite is used for the
/// first time; later it changes nothing. Returns SQLite's result.
int carillon_sqlite_leave_memory_uncounted(void);

#endif
