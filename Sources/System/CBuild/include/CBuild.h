#ifndef CARILLON_BUILD_H
#define CARILLON_BUILD_H

/// The commit that a packaged binary was built from; empty in all other builds, so that they stay incremental.
const char *_Nonnull carillon_build_commit(void);

#endif
