#include "CBuild.h"

// Package.swift defines it from the environment of contrib/package/run.
#ifndef CARILLON_COMMIT
#define CARILLON_COMMIT ""
#endif

const char *carillon_build_commit(void) { return CARILLON_COMMIT; }
