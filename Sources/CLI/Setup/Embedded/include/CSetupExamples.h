#ifndef CARILLON_SETUP_EXAMPLES_H
#define CARILLON_SETUP_EXAMPLES_H

/// The text of a file in contrib/examples, such as `rules/social` for rules/social.yaml; null for one that setup does
/// not know.
const char *_Nullable setup_example(const char *_Nonnull name);

#endif
