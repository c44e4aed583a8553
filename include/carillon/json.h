/* carillon/json.h - reads and writes JSON (RFC 8259), for plugins in C99 and C++11.
 *
 * The functions allocate no memory, keep no pointer, and depend on no locale and no library. They check
 * untrusted input: grammar, UTF-8, escapes, and up to CARILLON_JSON_DEPTH levels. A lone surrogate in an
 * escape is read as U+FFFD, because UTF-8 cannot encode it. Such escapes occur in practice: JSON.stringify
 * writes one if a string was cut within an emoji.
 *
 * Reading: a value points into the text it was read from, and is valid as long as that text.
 *
 *     carillon_json config = carillon_json_read(text);
 *     if (config.type != CARILLON_JSON_OBJECT) return CARILLON_INVALID;
 *     carillon_json words = carillon_json_get(config, "words"), word;
 *     size_t at = 0;
 *     char buf[64];
 *     while (carillon_json_next(words, &at, NULL, &word)) {
 *         size_t len = carillon_json_text(word, buf, sizeof buf);
 *         ...
 *     }
 *
 * A missing value has the type CARILLON_JSON_NONE, which every function accepts: paths such as
 * carillon_json_get(carillon_json_get(config, "a"), "b") need no checks in between.
 *
 * Writing: the functions write into your buffer and count the bytes they need, like snprintf. They add
 * commas and escapes automatically:
 *
 *     static void payload(carillon_json_out *out, const carillon_notification *notification) {
 *         carillon_json_object(out);
 *         carillon_json_name(out, "count");
 *         carillon_json_integer(out, notification->count);
 *         carillon_json_member(out, "title", notification->title); // skipped if it is empty
 *         carillon_json_end(out);
 *     }
 *     carillon_json_out size = carillon_json_to(NULL, 0);
 *     payload(&size, notification);
 *     char *buf = malloc(size.len);
 *     carillon_json_out out = carillon_json_to(buf, size.len);
 *     payload(&out, notification);
 *     if (carillon_json_written(&out)) ...                         // out.len bytes of JSON
 */
#ifndef CARILLON_JSON_H
#define CARILLON_JSON_H

#include "plugin.h"
#include <string.h>

#define CARILLON_JSON_DEPTH 64

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reading ------------------------------------------------------------------------- */

typedef enum carillon_json_type {
    CARILLON_JSON_NONE = 0, /* missing, or not JSON */
    CARILLON_JSON_NULL,
    CARILLON_JSON_FALSE,
    CARILLON_JSON_TRUE,
    CARILLON_JSON_NUMBER,
    CARILLON_JSON_STRING,
    CARILLON_JSON_ARRAY,
    CARILLON_JSON_OBJECT
} carillon_json_type;

/* A value and its bytes in the text; those of a string include the quotes. */
typedef struct carillon_json {
    carillon_json_type type;
    const char *ptr;
    size_t len;
} carillon_json;

/* Names that end in "_" are private to this header. */

/* The length of the UTF-8 sequence at `p`; 0 if it is invalid. */
static inline size_t carillon_json_utf8_(const unsigned char *p, size_t len) {
    size_t n, i;
    if (len == 0) return 0;
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4) return 0;
    n = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (len < n) return 0;
    for (i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
    }
    if (p[0] == 0xE0 && p[1] < 0xA0) return 0; /* overlong */
    if (p[0] == 0xED && p[1] > 0x9F) return 0; /* a surrogate */
    if (p[0] == 0xF0 && p[1] < 0x90) return 0; /* overlong */
    if (p[0] == 0xF4 && p[1] > 0x8F) return 0; /* beyond U+10FFFF */
    return n;
}

/* The four hex digits at `p`, or -1. */
static inline int32_t carillon_json_hex_(const unsigned char *p) {
    int32_t code = 0;
    int i;
    for (i = 0; i < 4; i++) {
        unsigned char c = p[i];
        if (c >= '0' && c <= '9') code = code * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f') code = code * 16 + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F') code = code * 16 + (c - 'A' + 10);
        else return -1;
    }
    return code;
}

/* The length of the escape at `p`, which starts with a backslash; 0 if it is invalid. `code` receives its character. */
static inline size_t carillon_json_escape_(const unsigned char *p, size_t len, uint32_t *code) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int32_t high, low;
    size_t i;
    if (len < 2) return 0;
    if (p[1] != 'u') {
        for (i = 0; i < sizeof from - 1; i++) {
            if (p[1] == (unsigned char)from[i]) {
                *code = (unsigned char)to[i];
                return 2;
            }
        }
        return 0;
    }
    if (len < 6 || (high = carillon_json_hex_(p + 2)) < 0) return 0;
    if (high < 0xD800 || high > 0xDFFF) {
        *code = (uint32_t)high;
        return 6;
    }
    *code = 0xFFFD;
    if (high > 0xDBFF || len < 12 || p[6] != '\\' || p[7] != 'u') return 6;
    low = carillon_json_hex_(p + 8);
    if (low < 0xDC00 || low > 0xDFFF) return 6;
    *code = 0x10000u + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
    return 12;
}

static inline size_t carillon_json_space_(const unsigned char *text, size_t len, size_t at) {
    while (at < len && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) at++;
    return at;
}

static inline size_t carillon_json_digits_(const unsigned char *text, size_t len, size_t at) {
    while (at < len && text[at] >= '0' && text[at] <= '9') at++;
    return at;
}

/* The end of the string, number or literal at `at`; 0 if it is malformed. */
static inline size_t carillon_json_string_(const unsigned char *text, size_t len, size_t at) {
    uint32_t code;
    size_t n;
    if (at >= len || text[at] != '"') return 0;
    for (at++; at < len; at += n) {
        if (text[at] == '"') return at + 1;
        if (text[at] < 0x20) return 0;
        n = text[at] == '\\' ? carillon_json_escape_(text + at, len - at, &code)
                             : carillon_json_utf8_(text + at, len - at);
        if (n == 0) return 0;
    }
    return 0;
}

static inline size_t carillon_json_scan_number_(const unsigned char *text, size_t len, size_t at) {
    size_t start;
    if (at < len && text[at] == '-') at++;
    start = at;
    at = carillon_json_digits_(text, len, at);
    if (at == start || (text[start] == '0' && at > start + 1)) return 0;
    if (at < len && text[at] == '.') {
        start = at + 1;
        at = carillon_json_digits_(text, len, start);
        if (at == start) return 0;
    }
    if (at < len && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < len && (text[at] == '+' || text[at] == '-')) at++;
        start = at;
        at = carillon_json_digits_(text, len, start);
        if (at == start) return 0;
    }
    return at;
}

static inline size_t carillon_json_literal_(const unsigned char *text, size_t len, size_t at, const char *word) {
    size_t n = strlen(word);
    return len - at >= n && memcmp(text + at, word, n) == 0 ? at + n : 0;
}

/* The start of the value of the member whose name is at `at`; 0 if it is malformed. */
static inline size_t carillon_json_name_(const unsigned char *text, size_t len, size_t at) {
    at = carillon_json_string_(text, len, carillon_json_space_(text, len, at));
    if (at == 0) return 0;
    at = carillon_json_space_(text, len, at);
    return at < len && text[at] == ':' ? at + 1 : 0;
}

/* The end of the value at `at`; 0 if it is malformed or too deep. Not recursive: `objects` has one bit for each open
 * level, 1 for an object. */
static inline size_t carillon_json_value_(const unsigned char *text, size_t len, size_t at) {
    uint64_t objects = 0;
    unsigned depth = 0;
    for (;;) {
        at = carillon_json_space_(text, len, at);
        if (at >= len) return 0;
        switch (text[at]) {
        case '{':
        case '[':
            if (depth == CARILLON_JSON_DEPTH) return 0;
            objects = objects << 1 | (text[at] == '{' ? 1u : 0u);
            depth++;
            at = carillon_json_space_(text, len, at + 1);
            if (at >= len) return 0;
            if (text[at] != ((objects & 1) != 0 ? '}' : ']')) {
                if ((objects & 1) != 0 && (at = carillon_json_name_(text, len, at)) == 0) return 0;
                continue;
            }
            at++;
            objects >>= 1;
            depth--;
            break;
        case '"': at = carillon_json_string_(text, len, at); break;
        case 'n': at = carillon_json_literal_(text, len, at, "null"); break;
        case 't': at = carillon_json_literal_(text, len, at, "true"); break;
        case 'f': at = carillon_json_literal_(text, len, at, "false"); break;
        default: at = carillon_json_scan_number_(text, len, at); break;
        }
        if (at == 0) return 0;
        for (;;) { /* a value has ended */
            if (depth == 0) return at;
            at = carillon_json_space_(text, len, at);
            if (at >= len) return 0;
            if (text[at] == ',') break;
            if (text[at] != ((objects & 1) != 0 ? '}' : ']')) return 0;
            at++;
            objects >>= 1;
            depth--;
        }
        at++;
        if ((objects & 1) != 0 && (at = carillon_json_name_(text, len, at)) == 0) return 0;
    }
}

static inline carillon_json carillon_json_make_(const char *ptr, size_t len) {
    carillon_json value;
    value.ptr = ptr;
    value.len = len;
    switch (len == 0 ? '\0' : ptr[0]) {
    case '\0': value.type = CARILLON_JSON_NONE; break;
    case 'n': value.type = CARILLON_JSON_NULL; break;
    case 'f': value.type = CARILLON_JSON_FALSE; break;
    case 't': value.type = CARILLON_JSON_TRUE; break;
    case '"': value.type = CARILLON_JSON_STRING; break;
    case '[': value.type = CARILLON_JSON_ARRAY; break;
    case '{': value.type = CARILLON_JSON_OBJECT; break;
    default: value.type = CARILLON_JSON_NUMBER; break;
    }
    return value;
}

/* Parses the whole of `text` as one value. CARILLON_JSON_NONE: it is not valid JSON. */
static inline carillon_json carillon_json_read(carillon_str text) {
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t start = carillon_json_space_(bytes, text.len, 0);
    size_t end = carillon_json_value_(bytes, text.len, start);
    if (end == 0 || carillon_json_space_(bytes, text.len, end) != text.len) return carillon_json_make_(NULL, 0);
    return carillon_json_make_((const char *)text.ptr + start, end - start);
}

/* Iterates over an array or an object: start with *at = 0. `name` may be NULL; it receives the member's name, or
 * CARILLON_JSON_NONE in an array. 0: there are no more elements, or `list` is neither. */
static inline int carillon_json_next(carillon_json list, size_t *at, carillon_json *name, carillon_json *value) {
    const unsigned char *text = (const unsigned char *)list.ptr;
    size_t start, end;
    if (name != NULL) *name = carillon_json_make_(NULL, 0);
    *value = carillon_json_make_(NULL, 0);
    if ((list.type != CARILLON_JSON_ARRAY && list.type != CARILLON_JSON_OBJECT) || *at >= list.len) return 0;
    start = carillon_json_space_(text, list.len, *at == 0 ? 1 : *at);
    if (*at != 0 && start < list.len && text[start] == ',') start = carillon_json_space_(text, list.len, start + 1);
    if (start + 1 >= list.len) { /* at the closing bracket */
        *at = list.len;
        return 0;
    }
    if (list.type == CARILLON_JSON_OBJECT) {
        end = carillon_json_string_(text, list.len, start);
        if (end == 0) return 0;
        if (name != NULL) *name = carillon_json_make_(list.ptr + start, end - start);
        start = carillon_json_space_(text, list.len, carillon_json_name_(text, list.len, start));
    }
    end = carillon_json_value_(text, list.len, start);
    if (end == 0) return 0;
    *value = carillon_json_make_(list.ptr + start, end - start);
    *at = end;
    return 1;
}

/* The next character of a string as UTF-8, and its length; 0 at the end. *at starts at 1, after the quote. */
static inline size_t carillon_json_character_(carillon_json string, size_t *at, char utf8[4]) {
    const unsigned char *text = (const unsigned char *)string.ptr;
    uint32_t code = 0;
    size_t n;
    if (string.type != CARILLON_JSON_STRING || *at + 1 >= string.len) return 0;
    if (text[*at] != '\\') {
        n = carillon_json_utf8_(text + *at, string.len - *at);
        memcpy(utf8, text + *at, n);
        *at += n;
        return n;
    }
    n = carillon_json_escape_(text + *at, string.len - *at, &code);
    if (n == 0) return 0;
    *at += n;
    if (code < 0x80) {
        utf8[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        utf8[0] = (char)(0xC0 | code >> 6);
        utf8[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        utf8[0] = (char)(0xE0 | code >> 12);
        utf8[1] = (char)(0x80 | (code >> 6 & 0x3F));
        utf8[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    utf8[0] = (char)(0xF0 | code >> 18);
    utf8[1] = (char)(0x80 | (code >> 12 & 0x3F));
    utf8[2] = (char)(0x80 | (code >> 6 & 0x3F));
    utf8[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* Writes a string as UTF-8 to `buf`, without a terminating NUL, and returns its full length. If it exceeds `capacity`,
 * only the characters that fit are written. 0 if the string is empty or the value is not a string. The string may
 * contain NUL. */
static inline size_t carillon_json_text(carillon_json string, char *buf, size_t capacity) {
    size_t at = 1, len = 0, n;
    int fits = 1;
    char utf8[4];
    while ((n = carillon_json_character_(string, &at, utf8)) > 0) {
        fits = fits && n <= capacity && len <= capacity - n;
        if (fits) memcpy(buf + len, utf8, n);
        len += n;
    }
    return len;
}

/* Whether the value is a string that equals `text`. */
static inline int carillon_json_equals(carillon_json string, const char *text) {
    size_t at = 1, n, rest = strlen(text);
    char utf8[4];
    if (string.type != CARILLON_JSON_STRING) return 0;
    while ((n = carillon_json_character_(string, &at, utf8)) > 0) {
        if (n > rest || memcmp(text, utf8, n) != 0) return 0;
        text += n;
        rest -= n;
    }
    return rest == 0;
}

/* The member of an object with this name, the last one if there are several; otherwise CARILLON_JSON_NONE. */
static inline carillon_json carillon_json_get(carillon_json object, const char *name) {
    carillon_json found = carillon_json_make_(NULL, 0), key, value;
    size_t at = 0;
    if (object.type != CARILLON_JSON_OBJECT) return found;
    while (carillon_json_next(object, &at, &key, &value)) {
        if (carillon_json_equals(key, name)) found = value;
    }
    return found;
}

/* The number of elements or members; 0 if it is neither array nor object. */
static inline size_t carillon_json_count(carillon_json list) {
    size_t at = 0, count = 0;
    carillon_json value;
    while (carillon_json_next(list, &at, NULL, &value)) count++;
    return count;
}

/* The value as JSON text. */
static inline carillon_str carillon_json_raw(carillon_json value) {
    carillon_str text;
    text.ptr = value.ptr;
    text.len = value.len;
    return text;
}

/* 1 if it is a number without fraction and exponent that fits into `result`. */
static inline int carillon_json_to_integer(carillon_json number, int64_t *result) {
    size_t at = 0;
    uint64_t magnitude = 0, most = INT64_MAX;
    int negative;
    if (number.type != CARILLON_JSON_NUMBER) return 0;
    negative = number.ptr[0] == '-';
    if (negative) at = 1, most++;
    for (; at < number.len; at++) {
        unsigned digit = (unsigned)((unsigned char)number.ptr[at] - '0');
        if (digit > 9 || magnitude > (most - digit) / 10) return 0;
        magnitude = magnitude * 10 + digit;
    }
    if (negative) *result = magnitude == most ? INT64_MIN : -(int64_t)magnitude;
    else *result = (int64_t)magnitude;
    return 1;
}

/* 1 if it is a number within the range of a double; precise to about 14 digits. */
static inline int carillon_json_to_double(carillon_json number, double *result) {
    const char *p = number.ptr, *end;
    uint64_t mantissa = 0;
    long exponent = 0, written = 0;
    int negative, isFraction = 0, isNegativeExponent = 0;
    double value;
    if (number.type != CARILLON_JSON_NUMBER) return 0;
    end = p + number.len;
    negative = *p == '-';
    if (negative) p++;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            isFraction = 1;
        } else if (mantissa < 100000000000000000u) {
            mantissa = mantissa * 10 + (uint64_t)(*p - '0');
            exponent -= isFraction;
        } else {
            exponent += !isFraction; /* a digit beyond the precision */
        }
    }
    if (p < end) {
        p++;
        isNegativeExponent = *p == '-';
        if (*p == '+' || *p == '-') p++;
        for (; p < end; p++) {
            if (written < 100000000) written = written * 10 + (*p - '0');
        }
        exponent += isNegativeExponent ? -written : written;
    }
    value = (double)mantissa;
    if (exponent > 400) exponent = 400;
    while (exponent < 0 && value > 0) {
        value /= exponent <= -20 ? 1e20 : 10;
        exponent += exponent <= -20 ? 20 : 1;
    }
    for (; exponent > 0 && value > 0 && value <= 1.7976931348623157e308; exponent--) value *= 10;
    if (value > 1.7976931348623157e308) return 0;
    *result = negative ? -value : value;
    return 1;
}

/* ---- Writing ------------------------------------------------------------------------- */

typedef struct carillon_json_out {
    char *buf;
    size_t capacity;
    size_t len;       /* of the complete text, even if it exceeds `capacity` */
    uint64_t objects; /* one bit for each open level, 1 for an object */
    unsigned depth;
    char last;        /* the last byte; decides whether a comma is needed */
    char failed;      /* the output is not valid JSON: a value without a name, or too many ends */
} carillon_json_out;

/* Starts JSON text in `buf`. With capacity 0 it only counts. */
static inline carillon_json_out carillon_json_to(char *buf, size_t capacity) {
    carillon_json_out out;
    memset(&out, 0, sizeof out);
    out.buf = buf;
    out.capacity = capacity;
    return out;
}

/* 1 if the output is one complete value and fits into the buffer. */
static inline int carillon_json_written(const carillon_json_out *out) {
    return !out->failed && out->depth == 0 && out->len > 0 && out->len <= out->capacity;
}

static inline void carillon_json_put_(carillon_json_out *out, const char *bytes, size_t len) {
    size_t i;
    for (i = 0; i < len; i++, out->len++) {
        if (out->len < out->capacity) out->buf[out->len] = bytes[i];
    }
    if (len > 0) out->last = bytes[len - 1];
}

/* Writes the comma before a value or a name, if it needs one. */
static inline void carillon_json_comma_(carillon_json_out *out, int isName) {
    int isInObject = out->depth > 0 && (out->objects & 1) != 0;
    if (isName ? !isInObject || out->last == ':' : isInObject && out->last != ':') out->failed = 1;
    if (out->depth == 0 && out->len > 0) out->failed = 1;
    if (out->last != '\0' && out->last != ':' && out->last != '{' && out->last != '[') carillon_json_put_(out, ",", 1);
}

static inline void carillon_json_quoted_(carillon_json_out *out, const char *text, size_t len) {
    static const char hex[] = "0123456789abcdef";
    size_t at, n, plain = 0; /* the pending unescaped text starts at `plain` */
    char escape[6] = { '\\', 'u', '0', '0', '0', '0' };
    carillon_json_put_(out, "\"", 1);
    for (at = 0; at < len; at += n) {
        unsigned char c = (unsigned char)text[at];
        n = carillon_json_utf8_((const unsigned char *)text + at, len - at);
        if (n > 0 && c >= 0x20 && c != '"' && c != '\\') continue;
        carillon_json_put_(out, text + plain, at - plain);
        if (n == 0) {
            n = 1;
            carillon_json_put_(out, "\xEF\xBF\xBD", 3);
        } else if (c == '"' || c == '\\') {
            escape[1] = (char)c;
            carillon_json_put_(out, escape, 2);
            escape[1] = 'u';
        } else {
            escape[4] = hex[c >> 4];
            escape[5] = hex[c & 15];
            carillon_json_put_(out, escape, 6);
        }
        plain = at + n;
    }
    if (len > plain) carillon_json_put_(out, text + plain, len - plain);
    carillon_json_put_(out, "\"", 1);
}

static inline void carillon_json_begin_(carillon_json_out *out, const char *bracket, unsigned isObject) {
    carillon_json_comma_(out, 0);
    if (out->depth == CARILLON_JSON_DEPTH) {
        out->failed = 1;
        return;
    }
    out->objects = out->objects << 1 | isObject;
    out->depth++;
    carillon_json_put_(out, bracket, 1);
}

/* Starts an object or an array; carillon_json_end ends it. */
static inline void carillon_json_object(carillon_json_out *out) { carillon_json_begin_(out, "{", 1); }
static inline void carillon_json_array(carillon_json_out *out) { carillon_json_begin_(out, "[", 0); }

/* Ends the innermost object or array. */
static inline void carillon_json_end(carillon_json_out *out) {
    if (out->depth == 0 || out->last == ':') {
        out->failed = 1;
        return;
    }
    carillon_json_put_(out, (out->objects & 1) != 0 ? "}" : "]", 1);
    out->objects >>= 1;
    out->depth--;
}

/* Writes a member's name; its value must come next. */
static inline void carillon_json_name(carillon_json_out *out, const char *name) {
    carillon_json_comma_(out, 1);
    carillon_json_quoted_(out, name, strlen(name));
    carillon_json_put_(out, ":", 1);
}

/* Writes a string. Each byte that is not UTF-8 becomes U+FFFD. */
static inline void carillon_json_string(carillon_json_out *out, carillon_str text) {
    carillon_json_comma_(out, 0);
    carillon_json_quoted_(out, (const char *)text.ptr, text.len);
}

static inline void carillon_json_integer(carillon_json_out *out, int64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? (uint64_t)(-(number + 1)) + 1 : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) digits[--at] = '-';
    carillon_json_comma_(out, 0);
    carillon_json_put_(out, digits + at, sizeof digits - at);
}

static inline void carillon_json_boolean(carillon_json_out *out, int isTrue) {
    carillon_json_comma_(out, 0);
    if (isTrue) carillon_json_put_(out, "true", 4);
    else carillon_json_put_(out, "false", 5);
}

static inline void carillon_json_null(carillon_json_out *out) {
    carillon_json_comma_(out, 0);
    carillon_json_put_(out, "null", 4);
}

/* Writes a value that is JSON already, such as a notification's `data`. Invalid JSON becomes null. */
static inline void carillon_json_copy(carillon_json_out *out, carillon_str json) {
    carillon_json value = carillon_json_read(json);
    if (value.type == CARILLON_JSON_NONE) {
        carillon_json_null(out);
        return;
    }
    carillon_json_comma_(out, 0);
    carillon_json_put_(out, value.ptr, value.len);
}

/* Writes a member with a string, or nothing if `text` is empty. */
static inline void carillon_json_member(carillon_json_out *out, const char *name, carillon_str text) {
    if (text.len == 0) return;
    carillon_json_name(out, name);
    carillon_json_string(out, text);
}

#ifdef __cplusplus
}
#endif
#endif
