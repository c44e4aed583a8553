/* A transport and a filter that use what their header has, whichever minor version it is of: see Headers. */
#include <carillon/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const carillon_host *host; uint64_t waiting; } older;
typedef struct { older *older; uint64_t ticket; } job;

static carillon_str str(const char *text) { carillon_str result = { text, strlen(text) }; return result; }

static int is(carillon_str text, const char *word) {
    return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}

static void end(older *self, uint64_t ticket, const char *reason) {
    carillon_outcome outcome = { .struct_size = sizeof outcome, .provider_status = 200, .reason = str(reason) };
    self->host->complete(self->host, ticket, &outcome);
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    char line[64];
    older *self;
    if (is(config, "{}")) {
        error->len = (size_t)snprintf(error->buf, error->capacity, "key: expected one");
        return CARILLON_INVALID;
    }
    if ((self = calloc(1, sizeof *self)) == NULL) return CARILLON_FAILED;
    self->host = host;
    *instance = self;
    snprintf(line, sizeof line, "minor %d, host's is newer: %d", CARILLON_ABI_MINOR, host->abi_minor > CARILLON_ABI_MINOR);
    host->log(host, CARILLON_INFO, str(line));
    return CARILLON_OK;
}

static void destroy(void *instance) {
    older *self = instance;
    self->host->log(self->host, CARILLON_INFO, str("destroyed"));
    free(self);
}

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance;
    if (registration->field_count == 0) return CARILLON_OK;
    error->len = (size_t)snprintf(error->buf, error->capacity, "fields: expected none");
    return CARILLON_INVALID;
}

static void answered(void *context, const carillon_http_response *response) {
    job *task = context;
    end(task->older, task->ticket, response->status == 200 ? "answered" : "unanswered");
    free(task);
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    older *self = instance;
    carillon_http_request request = { .struct_size = sizeof request, .method = str("POST"), .url = registration->token,
                                      .body = notification->title };
    job *task;
    carillon_status status;
    if (is(notification->title, "wait")) { self->waiting = ticket; return CARILLON_OK; }
    if ((task = malloc(sizeof *task)) == NULL) return CARILLON_BUSY;
    task->older = self;
    task->ticket = ticket;
    status = self->host->http_request(self->host, &request, answered, task);
    if (status != CARILLON_OK) free(task);
    return status;
}

static void cancel(void *instance, uint64_t ticket) {
    older *self = instance;
    if (ticket == self->waiting) end(self, ticket, "cancelled");
}

#if CARILLON_ABI_MINOR >= 2
static carillon_status command(void *instance, const carillon_str *words, size_t count, carillon_command_done done, void *context) {
    (void)instance;
    if (count != 1 || !is(words[0], "hello")) return CARILLON_UNSUPPORTED;
    done(context, CARILLON_OK, str("hello too"));
    return CARILLON_OK;
}
#endif

#if CARILLON_ABI_MINOR >= 4
static carillon_status check(carillon_str block, carillon_error *error) {
    if (!is(block, "{\"bad\":1}")) return CARILLON_OK;
    error->len = (size_t)snprintf(error->buf, error->capacity, "/bad: expected nothing");
    return CARILLON_INVALID;
}
#endif

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("fixture"), .create = create, .destroy = destroy,
    .validate = validate, .deliver = deliver, .cancel = cancel,
#if CARILLON_ABI_MINOR >= 2
    .command = command,
#endif
#if CARILLON_ABI_MINOR >= 4
    .describe = CARILLON_STR("{\"version\":1,\"name\":\"Older\",\"block\":\"old\",\"target\":{\"kind\":\"token\"}}"), .check = check,
#endif
};

static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)instance;
    call->set(call->edit, str("reason"), str("because"));
    *verdict = is(call->signal, "mention") ? CARILLON_DROP : CARILLON_PASS;
    return CARILLON_OK;
}

#if CARILLON_ABI_MINOR >= 3
static uint32_t needs(void *instance) { (void)instance; return CARILLON_FILTER_ASKS_FOLLOWED; }
#endif

static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR("fixture"), .create = create, .destroy = destroy, .decide = decide,
#if CARILLON_ABI_MINOR >= 3
    .flags = CARILLON_FILTER_ASKS_DISTANCE, .needs = needs,
#endif
};

static const carillon_transport *const transports[] = { &transport };
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR, .id = CARILLON_STR("org.example.older"),
    .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1, .filters = filters, .filter_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
