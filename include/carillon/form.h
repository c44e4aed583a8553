/* carillon/form.h - writes forms (application/x-www-form-urlencoded), for plugins in C99 and C++11.
 *
 * Like json.h it allocates no memory, keeps no pointer, and depends on no locale and no library. It writes into your
 * buffer and counts the bytes it needs, like snprintf:
 *
 *     static void payload(carillon_form *out, const carillon_notification *notification) {
 *         carillon_form_integer(out, "count", notification->count);
 *         carillon_form_text(out, "message", notification->body);
 *         carillon_form_member(out, "title", notification->title); // skipped if it is empty
 *     }
 *     carillon_form size = carillon_form_to(NULL, 0);
 *     payload(&size, notification);
 *     char *buf = malloc(size.len);
 *     carillon_form out = carillon_form_to(buf, size.len);
 *     payload(&out, notification);
 *     if (carillon_form_written(&out)) ...                         // out.len bytes
 *
 * The header is { CARILLON_STR("content-type"), CARILLON_STR("application/x-www-form-urlencoded") }. You can write
 * the query of a URL in the same way.
 */
#ifndef CARILLON_FORM_H
#define CARILLON_FORM_H

#include "plugin.h"
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct carillon_form {
    char *buf;
    size_t capacity;
    size_t len; /* of the complete form, even if it exceeds `capacity` */
} carillon_form;

/* Starts a form in `buf`. With capacity 0 it only counts. */
static inline carillon_form carillon_form_to(char *buf, size_t capacity) {
    carillon_form out;
    out.buf = buf;
    out.capacity = capacity;
    out.len = 0;
    return out;
}

/* 1 if the complete form fits into the buffer. */
static inline int carillon_form_written(const carillon_form *out) { return out->len <= out->capacity; }

/* Names that end in "_" are private to this header. */

static inline void carillon_form_put_(carillon_form *out, char byte) {
    if (out->len < out->capacity) out->buf[out->len] = byte;
    out->len++;
}

static inline void carillon_form_escape_(carillon_form *out, const char *text, size_t len) {
    static const char hex[] = "0123456789ABCDEF";
    size_t i;
    for (i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'
            || c == '~') {
            carillon_form_put_(out, text[i]);
        } else if (c == ' ') {
            carillon_form_put_(out, '+');
        } else {
            carillon_form_put_(out, '%');
            carillon_form_put_(out, hex[c >> 4]);
            carillon_form_put_(out, hex[c & 15]);
        }
    }
}

/* Appends a field; its value may be empty. */
static inline void carillon_form_text(carillon_form *out, const char *name, carillon_str text) {
    if (out->len > 0) carillon_form_put_(out, '&');
    carillon_form_escape_(out, name, strlen(name));
    carillon_form_put_(out, '=');
    carillon_form_escape_(out, text.ptr, text.len);
}

/* Appends a field, or nothing if `text` is empty. */
static inline void carillon_form_member(carillon_form *out, const char *name, carillon_str text) {
    if (text.len > 0) carillon_form_text(out, name, text);
}

static inline void carillon_form_integer(carillon_form *out, const char *name, int64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? (uint64_t)(-(number + 1)) + 1 : (uint64_t)number;
    carillon_str text;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) digits[--at] = '-';
    text.ptr = digits + at;
    text.len = sizeof digits - at;
    carillon_form_text(out, name, text);
}

#ifdef __cplusplus
}
#endif
#endif
