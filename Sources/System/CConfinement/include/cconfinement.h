/* libcarillon-confinement.so: CIsolation for programs that are not linked with it, such as Python plugins. */
#ifndef CARILLON_CONFINEMENT_H
#define CARILLON_CONFINEMENT_H

#include "cisolation.h"

#endif
