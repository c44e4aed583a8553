/* libcarillon-confinement.so: CIsolation for a program that is not linked with it, such as the one in Python. */
#ifndef CARILLON_CONFINEMENT_H
#define CARILLON_CONFINEMENT_H

#include "cisolation.h"

#endif
