/* A filter for Carillon: drops events that contain one of the operator's words.
 *
 *     filter_plugins:
 *       wordlist: {settings: {words: [casino, lottery]}}
 */
#include <carillon/json.h>
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>

typedef struct { size_t count; char words[32][64]; } settings; /* NUL-terminated, in lower case */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static carillon_status refuse(carillon_error *error, const char *said) {
    error->len = strlen(said) < error->capacity ? strlen(said) : error->capacity;
    if (error->len > 0) memcpy(error->buf, said, error->len);
    return CARILLON_INVALID;
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    (void)host;
    carillon_json words = carillon_json_get(carillon_json_read(config), "words"), word;
    if (words.type != CARILLON_JSON_ARRAY) return refuse(error, "words: expected a list of texts");
    settings *self = calloc(1, sizeof *self);
    if (self == NULL) return refuse(error, "out of memory");
    for (size_t at = 0; carillon_json_next(words, &at, NULL, &word);) {
        char *room = self->count < 32 ? self->words[self->count++] : NULL;
        size_t len = room != NULL ? carillon_json_text(word, room, 63) : 0;
        if (len == 0 || len > 63 || strlen(room) != len) {
            free(self);
            return refuse(error, "words: expected at most 32 texts of 1 to 63 bytes");
        }
        for (char *c = room; *c != '\0'; c++) *c = lower(*c);
    }
    *instance = self;
    return CARILLON_OK;
}
static void destroy(void *instance) { free(instance); }

static int contains(const char *text, size_t len, const char *word) {
    size_t n = strlen(word), i;
    for (; len >= n; text++, len--) {
        for (i = 0; i < n && lower(text[i]) == word[i]; i++) {}
        if (i == n) return 1;
    }
    return 0;
}

/* Events are verified, but their text is untrusted: any length, any character. */
static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    const settings *self = instance;
    carillon_json content = carillon_json_get(carillon_json_read(call->event), "content");
    if (content.type != CARILLON_JSON_STRING) return CARILLON_FAILED; /* the operator's on_error applies */
    *verdict = CARILLON_PASS;
    char *text = malloc(content.len); /* decoded text is never longer */
    if (text == NULL) return CARILLON_FAILED;
    size_t len = carillon_json_text(content, text, content.len);
    for (size_t i = 0; i < self->count && *verdict == CARILLON_PASS; i++)
        if (contains(text, len, self->words[i])) *verdict = CARILLON_DROP;
    free(text);
    if (*verdict == CARILLON_DROP) /* for the log: never content of the event */
        call->set(call->edit, (carillon_str)CARILLON_STR("reason"), (carillon_str)CARILLON_STR("it has an unwanted word"));
    return CARILLON_OK;
}

static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR("wordlist"),
    .create = create, .destroy = destroy, .decide = decide,
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.wordlist"), .version = CARILLON_STR("1.0.0"),
    .filters = filters, .filter_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
