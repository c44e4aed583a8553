/* Links CIsolation into the library. It needs no other code. */
#include "cconfinement.h"
