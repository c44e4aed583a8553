#include "csqlitetuning.h"

#include <sqlite3.h>

/* Variadic, so Swift cannot call it. Debian's SQLite is built without lookaside memory, so each cursor and each bound string
 * calls malloc, some thirty times per push, each time under one mutex for the statistics. */
int carillon_sqlite_leave_memory_uncounted(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
