/* A webhook transport for Carillon: POSTs every notification as JSON to the URL that the device's owner registered.
 *
 *     cc -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I include -o webhook.so contrib/examples/plugins/webhook.c
 */
#include <carillon/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char *ptr; size_t len, capacity; int failed; } text; /* grows; a failed allocation sticks */
typedef struct { const carillon_host *host; uint64_t ticket; } job;

static void put(text *out, const void *bytes, size_t len) {
    if (!out->failed && len > out->capacity - out->len) {
        char *larger = realloc(out->ptr, (out->len + len) * 2);
        if (larger == NULL) { out->failed = 1; return; }
        out->ptr = larger;
        out->capacity = (out->len + len) * 2;
    }
    if (!out->failed && len > 0) { memcpy(out->ptr + out->len, bytes, len); out->len += len; }
}

/* ,"name":"value", or nothing when there is no value. What comes from the host is valid UTF-8, so that only
 * quotes, backslashes and control characters need escaping (RFC 8259 section 7). */
static void put_member(text *out, const char *name, carillon_str value) {
    if (value.len == 0) return;
    put(out, ",\"", 2);
    put(out, name, strlen(name));
    put(out, "\":\"", 3);
    for (const unsigned char *c = value.ptr, *end = c + value.len; c < end; c++) {
        char escape[6] = { '\\', 'u', '0', '0', "0123456789abcdef"[*c >> 4], "0123456789abcdef"[*c & 15] };
        if (*c < 0x20) put(out, escape, 6);
        else { if (*c == '"' || *c == '\\') put(out, "\\", 1); put(out, c, 1); }
    }
    put(out, "\"", 1);
}

static void answered(void *context, const carillon_http_response *response) {
    job *job = context;
    uint32_t status = response->status;
    carillon_outcome outcome = { .struct_size = sizeof outcome, .provider_status = status };
    if (status >= 200 && status < 300) outcome.kind = CARILLON_DELIVERED;
    else if (status == 404 || status == 410) outcome.kind = CARILLON_GONE;
    else if (status == 0 || status == 429 || status >= 500) outcome.kind = CARILLON_RETRY;
    else outcome.kind = CARILLON_REJECTED;
    if (status == 0) outcome.reason = response->failure;
    job->host->complete(job->host, job->ticket, &outcome);
    free(job);
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    (void)config, (void)error; /* nothing to configure */
    *instance = (void *)host;
    return CARILLON_OK;
}
static void destroy(void *instance) { (void)instance; }

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    static const char said[] = "the token must be an https:// URL";
    (void)instance;
    if (registration->token.len > 8 && memcmp(registration->token.ptr, "https://", 8) == 0) return CARILLON_OK;
    error->len = sizeof said - 1 < error->capacity ? sizeof said - 1 : error->capacity;
    memcpy(error->buf, said, error->len);
    return CARILLON_INVALID;
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    const carillon_host *host = instance;
    switch (notification->mode) {
    case CARILLON_WAKE: case CARILLON_NUDGE: case CARILLON_ALERT: break;
    default: return CARILLON_UNSUPPORTED; /* never shows what it cannot seal, nor in a mode it does not know */
    }
    text json = { 0 };
    char start[32];
    put(&json, start, (size_t)snprintf(start, sizeof start, "{\"count\":%u", (unsigned)notification->count));
    put_member(&json, "id", notification->id);
    put_member(&json, "signal", notification->signal);
    put_member(&json, "title", notification->title);
    put_member(&json, "body", notification->body);
    put_member(&json, "url", notification->url);
    put(&json, "}", 1);
    job *context = malloc(sizeof *context);
    carillon_status status = CARILLON_BUSY; /* out of memory */
    if (context != NULL && !json.failed) {
        const carillon_field headers[] = { { CARILLON_STR("content-type"), CARILLON_STR("application/json") } };
        const carillon_http_request request = {
            .struct_size = sizeof request, .flags = CARILLON_HTTP_UNTRUSTED_URL,
            .method = CARILLON_STR("POST"), .url = registration->token,
            .headers = headers, .header_count = 1, .body = { json.ptr, json.len },
        };
        *context = (job){ host, ticket };
        status = host->http_request(host, &request, answered, context);
    }
    if (status != CARILLON_OK) free(context);
    free(json.ptr);
    return status;
}

static const carillon_transport webhook = {
    .struct_size = sizeof webhook, .platform = CARILLON_STR("webhook"),
    .create = create, .destroy = destroy, .validate = validate, .deliver = deliver,
};
static const carillon_transport *const transports[] = { &webhook };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.webhook"), .version = CARILLON_STR("1.0.0"),
    .transports = transports, .transport_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
