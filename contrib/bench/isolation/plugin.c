/* What IsolationBench delivers through: one request of APNs' size for each delivery, and little work besides. And a filter that
 * looks at the event once. */
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const carillon_host *host; } instance;
typedef struct { const carillon_host *host; uint64_t ticket; } job;

static carillon_status create(const carillon_host *host, carillon_str config, void **made, carillon_error *error) {
    (void)config, (void)error;
    instance *self = malloc(sizeof *self);
    if (self == NULL) return CARILLON_FAILED;
    self->host = host;
    *made = self;
    return CARILLON_OK;
}

static void destroy(void *self) { free(self); }

static void answered(void *context, const carillon_http_response *response) {
    job *task = context;
    const carillon_outcome outcome = { .struct_size = sizeof outcome, .provider_status = response->status };
    task->host->complete(task->host, task->ticket, &outcome);
    free(task);
}

static carillon_status deliver(void *context, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    const instance *self = context;
    const carillon_field headers[] = {
        { CARILLON_STR("authorization"), notification->body },
        { CARILLON_STR("apns-id"), CARILLON_STR("eabeae54-14a8-11e5-b60b-1697f925ec7b") },
        { CARILLON_STR("apns-topic"), CARILLON_STR("com.example.app") },
        { CARILLON_STR("apns-push-type"), CARILLON_STR("alert") },
        { CARILLON_STR("apns-expiration"), CARILLON_STR("1700000000") },
        { CARILLON_STR("apns-priority"), CARILLON_STR("10") },
    };
    const carillon_http_request request = {
        .struct_size = sizeof request, .method = CARILLON_STR("POST"), .url = registration->token, .headers = headers,
        .header_count = sizeof headers / sizeof *headers, .body = notification->body,
    };
    job *task = malloc(sizeof *task);
    if (task == NULL) return CARILLON_FAILED;
    *task = (job){ self->host, ticket };
    const carillon_status status = self->host->http_request(self->host, &request, answered, task);
    if (status != CARILLON_OK) free(task);
    return status;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("bench"), .create = create, .destroy = destroy,
    .deliver = deliver,
};
static const carillon_transport *const transports[] = { &transport };
static carillon_status decide(void *self, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)self;
    *verdict = memchr(call->event.ptr, 0, call->event.len) == NULL ? CARILLON_PASS : CARILLON_DROP;
    return CARILLON_OK;
}

static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR("bench"), .create = create, .destroy = destroy, .decide = decide,
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = 0, .id = CARILLON_STR("bench"), .version = CARILLON_STR("1"),
    .transports = transports, .transport_count = 1, .filters = filters, .filter_count = 1,
};

const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
