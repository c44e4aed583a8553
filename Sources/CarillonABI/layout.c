/* The layout of include/carillon/plugin.h, asserted in every build: a field moved or widened is a broken ABI. 64-bit. */
#include <carillon/plugin.h>
