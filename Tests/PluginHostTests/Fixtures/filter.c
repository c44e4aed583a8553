/* A filter that does what its configuration says: {"do":"drop"} and so on. With -DOLDER it is one of ABI 1.2. */
#define _DEFAULT_SOURCE
#include <carillon/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OLDER /* the struct as that header had it, with somebody else's memory behind */
#define FILTER_SIZE offsetof(carillon_filter, needs)
#else
#define FILTER_SIZE sizeof(carillon_filter)
#endif
#ifndef FLAGS
#define FLAGS CARILLON_FILTER_ASKS_DISTANCE
#endif

typedef struct { const carillon_host *host; char behaviour[32]; carillon_filter_call last; } fixture;

static int is(const fixture *self, const char *behaviour) { return strcmp(self->behaviour, behaviour) == 0; }

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    static const char prefix[] = "{\"do\":\"", expected[] = "do: expected a behaviour";
    const char *start = config.ptr;
    if (config.len < sizeof prefix || memcmp(start, prefix, sizeof prefix - 1) != 0) {
        memcpy(error->buf, expected, sizeof expected - 1);
        error->len = sizeof expected - 1;
        return CARILLON_INVALID;
    }
    fixture *self = calloc(1, sizeof *self);
    if (self == NULL) return CARILLON_FAILED;
    self->host = host;
    for (size_t i = sizeof prefix - 1, n = 0; i < config.len && start[i] != '"' && n < sizeof self->behaviour - 1; i++)
        self->behaviour[n++] = start[i];
    *instance = self;
    return CARILLON_OK;
}

static void destroy(void *instance) {
    fixture *self = instance;
    self->host->log(self->host, CARILLON_INFO, (carillon_str)CARILLON_STR("destroyed"));
    free(self);
}

static carillon_status set(const carillon_filter_call *call, const char *field, const char *value, size_t len) {
    return call->set(call->edit, (carillon_str){ field, strlen(field) }, (carillon_bytes){ value, len });
}

static void tell(const fixture *self, const carillon_filter_call *call) {
    char line[512];
    int len = snprintf(line, sizeof line, "%.*s %.*s %.*s %.*s lists=%zu zap=%llu now=%llu distance=%d title=%.*s",
                       (int)call->signal.len, (const char *)call->signal.ptr,
                       (int)call->relation.len, call->relation.len ? (const char *)call->relation.ptr : "",
                       (int)call->author.len, call->author.len ? (const char *)call->author.ptr : "",
                       (int)call->recipient.len, (const char *)call->recipient.ptr, call->recipient_event_count,
                       (unsigned long long)call->zap_millisats, (unsigned long long)call->now_unix_ms,
                       (int)call->follow_distance,
                       call->notification ? (int)call->notification->title.len : 0,
                       call->notification && call->notification->title.len ? (const char *)call->notification->title.ptr : "");
    self->host->log(self->host, CARILLON_INFO, (carillon_str){ line, (size_t)len });
    for (size_t i = 0; i < call->recipient_event_count; i++)
        self->host->log(self->host, CARILLON_INFO, call->recipient_events[i]);
    self->host->log(self->host, CARILLON_INFO, call->event);
}

static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    fixture *self = instance;
    char line[64];
    *verdict = CARILLON_PASS;
    if (is(self, "tell")) tell(self, call);
    if (is(self, "fail")) return CARILLON_FAILED;
    if (is(self, "third")) *verdict = (carillon_verdict)3;
    if (is(self, "drop") || is(self, "drop-mutely")) *verdict = CARILLON_DROP;
    if (is(self, "drop")) set(call, "reason", "because", 7);
    if (is(self, "name") || is(self, "stumble")) { /* says for which recipient it was asked, as long as it lives */
        static const char dies[] = "dies", hangs[] = "hangs";
        int stumbles = is(self, "stumble");
        if (stumbles && call->recipient.len == 4 && memcmp(call->recipient.ptr, dies, 4) == 0) abort();
        while (stumbles && call->recipient.len == 5 && memcmp(call->recipient.ptr, hangs, 5) == 0) sleep(1);
        *verdict = CARILLON_DROP;
        call->set(call->edit, (carillon_str){ "reason", 6 }, call->recipient);
    }
    if (is(self, "babble")) {
        *verdict = CARILLON_DROP;
        static const char *reasons[] = { "sixty-one bytes are one too many, whatever it is that they say", "two\nlines", "\xff", "\xc3\xa4" };
        for (size_t i = 0; i < 4; i++) {
            carillon_status status = set(call, "reason", reasons[i], strlen(reasons[i]));
            int len = snprintf(line, sizeof line, "reason %d", (int)status);
            self->host->log(self->host, CARILLON_INFO, (carillon_str){ line, (size_t)len });
        }
    }
    if (is(self, "late") && self->last.set != NULL) {
        carillon_status status = set(&self->last, "reason", "late", 4);
        int len = snprintf(line, sizeof line, "late %d", (int)status);
        self->host->log(self->host, CARILLON_INFO, (carillon_str){ line, (size_t)len });
    }
    if (is(self, "edit")) {
        static const char *fields[][2] = {
            { "title", "T" }, { "subtitle", "S" }, { "body", "B" }, { "category", "C" }, { "thread", "H" },
            { "collapse_key", "K" }, { "url", "https://x.example" }, { "data", "{\"a\":1}" }, { "data", "[1]" },
            { "urgency", "low" }, { "urgency", "frantic" }, { "native", "{}" }, { "id", "x" }, { "title", "\xff" },
        };
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            carillon_status status = set(call, fields[i][0], fields[i][1], strlen(fields[i][1]));
            int len = snprintf(line, sizeof line, "%s %d", fields[i][0], (int)status);
            self->host->log(self->host, CARILLON_INFO, (carillon_str){ line, (size_t)len });
        }
    }
    if (is(self, "edit-and-fail")) { set(call, "title", "T", 1); return CARILLON_FAILED; }
    self->last = *call;
    return CARILLON_OK;
}

static uint32_t needs(void *instance) { return is(instance, "need-less") ? CARILLON_FILTER_ASKS_FOLLOWED : CARILLON_FILTER_ASKS_DISTANCE; }

#ifdef STRANGE_KIND
static const uint32_t kinds[] = { 10000, 30000 };
#else
static const uint32_t kinds[] = { 10000, 3, 10000 };
#endif
static const carillon_filter filter = {
    .struct_size = FILTER_SIZE, .flags = FLAGS, .name = CARILLON_STR("fixture"),
#ifdef MANY_KINDS
    .wanted_kinds = kinds, .wanted_kind_count = 100000,
#else
    .wanted_kinds = kinds, .wanted_kind_count = sizeof kinds / sizeof *kinds,
#endif
    .create = create, .destroy = destroy, .decide = decide, .needs = needs,
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.filter"), .version = CARILLON_STR("1"),
    .filters = filters, .filter_count = 1,
};

const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
