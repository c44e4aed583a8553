#include "json_header.h"
#include <carillon/json.h>
#include <stdlib.h>

static carillon_str lent(const void *text, size_t len) {
    carillon_str lent = { text, len };
    return lent;
}

/* A string, decoded and written again. */
static void rewrite_string(carillon_json_out *out, carillon_json string, int is_name) {
    size_t len = carillon_json_text(string, NULL, 0);
    char *text = malloc(len + 1);
    if (text == NULL) abort();
    if (carillon_json_text(string, text, len) != len) abort();
    text[len] = '\0';
    if (memchr(text, '\0', len) == NULL && !carillon_json_equals(string, text)) abort();
    /* Cut short it is still UTF-8. */
    char some[5];
    size_t cut = carillon_json_text(string, some, sizeof some);
    if (cut != len) abort();
    if (is_name && memchr(text, '\0', len) == NULL) carillon_json_name(out, text);
    else if (is_name) carillon_json_name(out, "NUL");
    else carillon_json_string(out, lent(text, len));
    free(text);
}

static void rewrite(carillon_json_out *out, carillon_json value) {
    carillon_json name, inner;
    size_t at = 0, count = 0;
    int64_t integer;
    double number;
    switch (value.type) {
    case CARILLON_JSON_OBJECT:
    case CARILLON_JSON_ARRAY:
        if (value.type == CARILLON_JSON_OBJECT) carillon_json_object(out);
        else carillon_json_array(out);
        while (carillon_json_next(value, &at, &name, &inner)) {
            if (value.type == CARILLON_JSON_OBJECT) rewrite_string(out, name, 1);
            rewrite(out, inner);
            count++;
        }
        if (count != carillon_json_count(value)) abort();
        carillon_json_end(out);
        break;
    case CARILLON_JSON_STRING: rewrite_string(out, value, 0); break;
    case CARILLON_JSON_TRUE: carillon_json_boolean(out, 1); break;
    case CARILLON_JSON_FALSE: carillon_json_boolean(out, 0); break;
    case CARILLON_JSON_NULL: carillon_json_null(out); break;
    case CARILLON_JSON_NUMBER:
        carillon_json_to_double(value, &number);
        if (carillon_json_to_integer(value, &integer) && !(value.len == 2 && value.ptr[0] == '-' && value.ptr[1] == '0'))
            carillon_json_integer(out, integer);
        else carillon_json_copy(out, carillon_json_raw(value));
        break;
    default: abort();
    }
}

int json_header_reads(const void *text, size_t len) {
    return carillon_json_read(lent(text, len)).type != CARILLON_JSON_NONE;
}

size_t json_header_rewrite(const void *text, size_t len, char *buf, size_t capacity) {
    carillon_json value = carillon_json_read(lent(text, len));
    if (value.type == CARILLON_JSON_NONE) return 0;
    carillon_json_out out = carillon_json_to(buf, capacity);
    rewrite(&out, value);
    if (out.len <= capacity && !carillon_json_written(&out)) abort();
    return out.len;
}

size_t json_header_quote(const void *text, size_t len, char *buf, size_t capacity) {
    carillon_json_out out = carillon_json_to(buf, capacity);
    carillon_json_string(&out, lent(text, len));
    return out.len;
}
