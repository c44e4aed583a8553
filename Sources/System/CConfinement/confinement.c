/* Links CIsolation into the library; there is nothing to add. */
#include "cconfinement.h"
