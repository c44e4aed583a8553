/* A filter that keeps to the contract but for what its configuration says: {"do":"quote"} and so on. */
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const carillon_host *host; char behaviour[32]; } fixture;

static int is(const fixture *self, const char *behaviour) { return strcmp(self->behaviour, behaviour) == 0; }

static carillon_status refuse(carillon_error *error, const char *text) {
    error->len = strlen(text) < error->capacity ? strlen(text) : error->capacity;
    memcpy(error->buf, text, error->len);
    return CARILLON_INVALID;
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    static const char prefix[] = "{\"do\":\"";
    const char *start = config.ptr;
    fixture *self;
    if (config.len < sizeof prefix || memcmp(start, prefix, sizeof prefix - 1) != 0)
        return refuse(error, "expected {\"do\": ...}");
    if ((self = calloc(1, sizeof *self)) == NULL) return refuse(error, "out of memory");
    self->host = host;
    for (size_t i = sizeof prefix - 1, n = 0; i < config.len && start[i] != '"' && n < sizeof self->behaviour - 1; i++)
        self->behaviour[n++] = start[i];
    *instance = self;
    return CARILLON_OK;
}
static void destroy(void *instance) { free(instance); }

static carillon_status set(const carillon_filter_call *call, const char *field, const char *value) {
    return call->set(call->edit, (carillon_str){ field, strlen(field) }, (carillon_bytes){ value, strlen(value) });
}

static carillon_status decide(void *instance, const carillon_filter_call *lent, carillon_verdict *verdict) {
    static const char secret[] = "a conformance secret that must not leak";
    fixture *self = instance;
    carillon_filter_call own = { 0 }, *call = &own;
    /* Takes the header at its word, and shows where the host does not keep it. */
    if (is(self, "literal") && (lent->struct_size < offsetof(carillon_filter_call, author) || lent->recipient.len != 64
                                || (CARILLON_HAS(lent, author) && lent->author.len != 64 && lent->author.len != 0))) {
        *verdict = (carillon_verdict)9;
        return CARILLON_OK;
    }
    if (is(self, "exact-size") && lent->struct_size > sizeof own) return CARILLON_INVALID;
    memcpy(&own, lent, lent->struct_size < sizeof own ? lent->struct_size : sizeof own);
    if (is(self, "undecided") && own.zap_millisats > 0) return CARILLON_FAILED;
    if (is(self, "no-verdict")) return CARILLON_OK;
    if (is(self, "third-verdict")) { *verdict = (carillon_verdict)2; return CARILLON_OK; }
    if (is(self, "tattle")) self->host->log(self->host, CARILLON_INFO, own.recipient);
    *verdict = own.zap_millisats > 0 ? CARILLON_DROP : CARILLON_PASS;
    if (own.set == NULL) return CARILLON_OK;
    if (*verdict == CARILLON_DROP) set(call, "reason", "no zaps today");
    if (is(self, "long-reason")) set(call, "reason", "a reason that goes on and on and on, and then on and on, and on");
    if (is(self, "edit-early")) set(call, "title", "edited");
    if (is(self, "quote") && own.event.len > sizeof secret)
        for (size_t i = 0; i + sizeof secret < own.event.len; i++)
            if (memcmp((const char *)own.event.ptr + i, secret, sizeof secret - 1) == 0) set(call, "reason", secret);
#ifdef RENDERED
    if (own.notification != NULL) set(call, "title", "edited");
#endif
    return CARILLON_OK;
}

static uint32_t needs(void *instance) {
    return is(instance, "greedy") ? CARILLON_FILTER_ASKS_DISTANCE : 0;
}

static const uint32_t wanted_kinds[] = { 10000, 3 };
static const carillon_filter filter = {
    .struct_size = sizeof filter,
#ifdef RENDERED
    .flags = CARILLON_FILTER_RENDERED,
#else
    .flags = CARILLON_FILTER_ASKS_FOLLOWED,
#endif
    .name = CARILLON_STR("fixture"), .wanted_kinds = wanted_kinds, .wanted_kind_count = 2,
    .create = create, .destroy = destroy, .decide = decide, .needs = needs,
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.filter"), .version = CARILLON_STR("1"),
    .filters = filters, .filter_count = 1,
};

const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
