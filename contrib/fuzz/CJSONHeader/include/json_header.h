#pragma once

#include <stddef.h>

// What the fuzzer asks of include/carillon/json.h, compiled as plugins in C compile it, with the fuzzer's counters.

/// Whether the header reads `text` as JSON.
int json_header_reads(const void *text, size_t len);

/// Reads `text`, visits every value, and writes all of it again to `buf`. The length of what there is to write, or 0 when
/// `text` is no JSON.
size_t json_header_rewrite(const void *text, size_t len, char *buf, size_t capacity);

/// Writes `text`, whatever it is, as one string to `buf`; the length of what there is to write.
size_t json_header_quote(const void *text, size_t len, char *buf, size_t capacity);
