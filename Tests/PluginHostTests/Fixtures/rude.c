/* A transport and a filter that break rules without breaking down: {"do":"twice","at":"deliver"} answers twice,
 * "huge" gives lengths beyond all memory, "late" uses the host of an instance that was destroyed. What the host takes
 * that it must not take is in the log as an error. */
#include <carillon/plugin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const carillon_host *host; char config[64]; uint64_t ticket; } rude;

static const carillon_host *destroyed;

static int has(const rude *self, const char *word) { return strstr(self->config, word) != NULL; }
static void end(const carillon_host *host, uint64_t ticket) {
    const carillon_outcome outcome = { .struct_size = sizeof outcome, .kind = CARILLON_DELIVERED };
    host->complete(host, ticket, &outcome);
}
static void expect_refusal(rude *self, carillon_status status, const char *what) {
    carillon_str line = { what, strlen(what) };
    if (status == CARILLON_OK) self->host->log(self->host, CARILLON_ERROR, line);
}

static void never_answered(void *context, const carillon_http_response *response) {
    rude *self = context;
    if (response != NULL) expect_refusal(self, CARILLON_OK, "a request was answered that was refused");
}
static void never_fired(void *context) { expect_refusal(context, CARILLON_OK, "a timer fired that was refused"); }
static void never_read(void *context, carillon_bytes value) { (void)context; (void)value; }
static void never_closed(void *context, carillon_str failure) { (void)context; (void)failure; }

static void answer_twice(rude *self, uint64_t ticket) {
    end(self->host, ticket);
    end(self->host, ticket);
    end(self->host, UINT64_MAX);
}

static void give_huge_lengths(rude *self, uint64_t ticket) {
    const carillon_host *const host = self->host;
    const carillon_str endless = { "x", SIZE_MAX }, long_one = { "x", (size_t)1 << 60 };
    const carillon_field fields[] = { { endless, long_one } };
    const carillon_http_request good = { .struct_size = sizeof good, .method = CARILLON_STR("GET"),
                                         .url = CARILLON_STR("https://example.com/") };
    carillon_http_request requests[] = { good, good, good, good, good };
    requests[0].url = endless;
    requests[1].method = long_one;
    requests[2].headers = fields, requests[2].header_count = 1;
    requests[3].headers = fields, requests[3].header_count = SIZE_MAX;
    requests[4].body = long_one;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        expect_refusal(self, host->http_request(host, &requests[i], never_answered, self), "a huge request");
    host->log(host, CARILLON_INFO, (carillon_str){ NULL, SIZE_MAX });
    if (host->query(host, endless) != NULL) expect_refusal(self, CARILLON_OK, "a huge name of a service");

    uint64_t number = 0;
    const carillon_timers *timers = host->query(host, (carillon_str)CARILLON_STR("carillon.timer/1"));
    if (timers != NULL)
        expect_refusal(self, timers->start(host, UINT64_MAX, UINT64_MAX, never_fired, self, &number), "a huge time");
    const carillon_states *states = host->query(host, (carillon_str)CARILLON_STR("carillon.state/1"));
    if (states != NULL) {
        expect_refusal(self, states->get(host, endless, never_read, self), "a huge key to get");
        expect_refusal(self, states->set(host, endless, (carillon_bytes)CARILLON_STR("x")), "a huge key");
        expect_refusal(self, states->set(host, (carillon_str)CARILLON_STR("k"), endless), "a huge value");
    }
    const carillon_streams *streams = host->query(host, (carillon_str)CARILLON_STR("carillon.stream/1"));
    if (streams != NULL) {
        const carillon_stream_target target = { .struct_size = sizeof target, .host = endless, .port = 1,
                                                .authorities = endless };
        const carillon_stream_events events = { .struct_size = sizeof events, .closed = never_closed };
        expect_refusal(self, streams->open(host, &target, &events, self, &number), "a huge name of a host");
    }
    const carillon_client_certificates *certificates =
        host->query(host, (carillon_str)CARILLON_STR("carillon.client-certificate/1"));
    carillon_error error = { 0 };
    if (certificates != NULL)
        expect_refusal(self, certificates->present(host, endless, long_one, endless, &error), "a huge certificate");
    const carillon_outcome outcome = { .struct_size = UINT32_MAX, .reason = endless };
    host->complete(host, ticket, &outcome);
}

static void use_what_is_gone(rude *self, uint64_t ticket) {
    if (destroyed == NULL) return;
    const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
                                            .url = CARILLON_STR("https://example.com/") };
    end(destroyed, ticket);
    destroyed->log(destroyed, CARILLON_ERROR, (carillon_str)CARILLON_STR("a line of what is gone"));
    expect_refusal(self, destroyed->http_request(destroyed, &request, never_answered, self), "a request of what is gone");
}

static void at(rude *self, const char *here, uint64_t ticket) {
    if (!has(self, here)) return;
    if (has(self, "twice")) answer_twice(self, ticket);
    if (has(self, "huge")) give_huge_lengths(self, ticket);
    if (has(self, "late")) use_what_is_gone(self, ticket);
}

/* Nothing is freed, so that nothing but the host's memory can be gone. */
static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    rude *self = calloc(1, sizeof *self);
    if (self == NULL || config.len >= sizeof self->config) return CARILLON_FAILED;
    self->host = host;
    memcpy(self->config, config.ptr, config.len);
    *instance = self;
    at(self, "create", 0);
    if (has(self, "huge")) error->len = SIZE_MAX;
    return CARILLON_OK;
}
static void destroy(void *instance) {
    rude *self = instance;
    at(self, "destroy", self->ticket);
    destroyed = self->host;
}
static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)registration;
    at(instance, "validate", 0);
    if (has(instance, "huge")) error->len = SIZE_MAX;
    return CARILLON_OK;
}
static void answered(void *context, const carillon_http_response *response) {
    rude *self = context;
    (void)response;
    at(self, "done", self->ticket);
    end(self->host, self->ticket);
}
static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    rude *self = instance;
    (void)registration; (void)notification;
    self->ticket = ticket;
    at(self, "deliver", ticket);
    if (!has(self, "done")) { end(self->host, ticket); return CARILLON_OK; }
    const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
                                            .url = CARILLON_STR("https://example.com/") };
    return self->host->http_request(self->host, &request, answered, self);
}
static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    rude *self = instance;
    at(self, "decide", 0);
    if (has(self, "huge") && has(self, "decide")) {
        expect_refusal(self, call->set(call->edit, (carillon_str){ "x", SIZE_MAX }, (carillon_bytes)CARILLON_STR("x")),
                       "a huge field");
        expect_refusal(self, call->set(call->edit, (carillon_str)CARILLON_STR("reason"), (carillon_bytes){ "x", SIZE_MAX }),
                       "a huge reason");
    }
    *verdict = CARILLON_PASS;
    return CARILLON_OK;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("rude"), .create = create, .destroy = destroy,
    .validate = validate, .deliver = deliver,
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR("rude"), .create = create, .destroy = destroy, .decide = decide,
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR, .id = CARILLON_STR("org.example.rude"),
    .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1, .filters = filters, .filter_count = 1,
};

const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
