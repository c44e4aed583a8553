/* A transport that takes several deliveries at once, as {"do":"..."} says, and requests from outside, as their path says. */
#include <carillon/plugin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef LIMIT
#define LIMIT 3
#endif
#ifndef FLAGS
#define FLAGS 0
#endif

typedef struct { const carillon_host *host; char behaviour[32]; } fixture;
typedef struct { fixture *fixture; size_t count; uint64_t tickets[LIMIT + 1]; } batch;

static int is(carillon_bytes text, const char *other) { return text.len == strlen(other) && memcmp(text.ptr, other, text.len) == 0; }
static int begins(carillon_bytes text, const char *other) { return text.len >= strlen(other) && memcmp(text.ptr, other, strlen(other)) == 0; }

static void end(fixture *self, uint64_t ticket, const char *reason) {
    carillon_outcome outcome = { .struct_size = sizeof outcome, .provider_status = 200, .reason = { reason, strlen(reason) } };
    self->host->complete(self->host, ticket, &outcome);
}

static void end_all(batch *batch) {
    char reason[32];
    snprintf(reason, sizeof reason, "together-%zu", batch->count);
    for (size_t i = 0; i < batch->count; i++) end(batch->fixture, batch->tickets[i], reason);
    free(batch);
}

static void *on_thread(void *context) { end_all(context); return NULL; }
static void answered(void *context, const carillon_http_response *response) { (void)response; end_all(context); }

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    fixture *self = calloc(1, sizeof *self);
    (void)error;
    if (self == NULL) return CARILLON_FAILED;
    self->host = host;
    if (config.len > 7) sscanf((const char *)config.ptr, "{\"do\":\"%31[a-z]", self->behaviour);
    *instance = self;
    return CARILLON_OK;
}

static void destroy(void *instance) { free(instance); }

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    (void)registration;
    if (is(notification->body, "crash")) abort();
    end(instance, ticket, "alone");
    return CARILLON_OK;
}

static carillon_status deliver_many(void *instance, const carillon_delivery *const *deliveries, size_t count) {
    fixture *self = instance;
    pthread_t thread;
    if (count < 2 || count > LIMIT) abort();
    if (strcmp(self->behaviour, "unsupported") == 0) return CARILLON_UNSUPPORTED;
    if (strcmp(self->behaviour, "busy") == 0) return CARILLON_BUSY;
    batch *all = calloc(1, sizeof *all);
    if (all == NULL) return CARILLON_FAILED;
    all->fixture = self;
    all->count = count;
    for (size_t i = 0; i < count; i++) {
        if (deliveries[i]->struct_size < sizeof **deliveries || deliveries[i]->registration->token.len == 0) abort();
        if (is(deliveries[i]->notification->body, "crash")) abort();
        all->tickets[i] = deliveries[i]->ticket;
    }
#if FLAGS & 4
    for (size_t i = 1; i < count; i++) {
        carillon_str first = deliveries[0]->registration->token, token = deliveries[i]->registration->token;
        if (first.len != token.len || memcmp(first.ptr, token.ptr, token.len) != 0) abort();
    }
#endif
    if (strcmp(self->behaviour, "thread") == 0) {
        if (pthread_create(&thread, NULL, on_thread, all) != 0) { free(all); return CARILLON_FAILED; }
        pthread_detach(thread);
    } else if (strcmp(self->behaviour, "request") == 0) {
        const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("POST"),
            .url = CARILLON_STR("https://example.com/"), .body = deliveries[0]->notification->body };
        carillon_status status = self->host->http_request(self->host, &request, answered, all);
        if (status != CARILLON_OK) free(all);
        return status;
    } else {
        end_all(all);
    }
    return CARILLON_OK;
}

static struct { carillon_inbound_done done; void *context; } kept; /* of a request that is answered later */

static void answer(carillon_inbound_done done, void *context, uint32_t status, carillon_bytes body) {
    const carillon_field headers[] = { { CARILLON_STR("x-one"), CARILLON_STR("1") } };
    carillon_inbound_answer answer = { .struct_size = sizeof answer, .status = status, .headers = headers, .header_count = 1, .body = body };
    done(context, &answer);
}

static void *answer_later(void *unused) {
    (void)unused;
    answer(kept.done, kept.context, 200, (carillon_bytes)CARILLON_STR("later"));
    return NULL;
}

static void bad_answer(int kind, carillon_inbound_done done, void *context) {
    static char large[(256 << 10) + 1];
    carillon_field many[17];
    carillon_field one = { CARILLON_STR("x-one"), CARILLON_STR("1") };
    carillon_inbound_answer answer = { .struct_size = sizeof answer, .status = 200, .headers = &one, .header_count = 1 };
    for (size_t i = 0; i < 17; i++) many[i] = one;
    switch (kind) {
    case 0: done(context, NULL); return;
    case 1: answer.struct_size = 0; break;
    case 2: answer.status = 199; break;
    case 3: answer.status = 600; break;
    case 4: answer.headers = many; answer.header_count = 17; break;
    case 5: answer.headers = NULL; break;
    case 6: answer.header_count = SIZE_MAX; break;
    case 7: one.name = (carillon_str)CARILLON_STR("transfer-encoding"); break;
    case 8: one.name = (carillon_str)CARILLON_STR("content-length"); break;
    case 9: one.name = (carillon_str)CARILLON_STR("X-Upper"); break;
    case 10: one.value = (carillon_str)CARILLON_STR("a\r\nset-cookie: b"); break;
    case 11: one.value.len = SIZE_MAX; break;
    case 12: answer.body = (carillon_bytes){ large, sizeof large }; break;
    case 13: answer.body.len = 1; break;
    case 14: answer.body = (carillon_bytes){ large, SIZE_MAX }; break;
    default: one.name.len = 0; break;
    }
    done(context, &answer);
}

static void say_url(void *context, carillon_bytes value) { /* lent for this call only */
    carillon_bytes *room = context;
    if (value.len > room->len) return;
    memcpy((char *)room->ptr, value.ptr, value.len);
    room->len = value.len;
}

static carillon_status receive(void *instance, const carillon_inbound_request *request, carillon_inbound_done done, void *context) {
    fixture *self = instance;
    carillon_bytes path = request->path;
    int number = path.len > 3 ? atoi((const char *)path.ptr + path.len - 2) : 0;
    pthread_t thread;
    if (begins(path, "/bad/")) { bad_answer(number, done, context); return CARILLON_OK; }
    if (begins(path, "/refuse/")) return (carillon_status)number;
    if (is(path, "/crash")) abort();
    if (is(path, "/hang")) for (;;) { }
    if (is(path, "/never")) { kept.done = done; kept.context = context; return CARILLON_OK; }
    if (is(path, "/release")) { answer_later(NULL); answer(done, context, 204, (carillon_bytes){ 0 }); return CARILLON_OK; }
    if (is(path, "/thread")) {
        kept.done = done; kept.context = context;
        if (pthread_create(&thread, NULL, answer_later, NULL) != 0) return CARILLON_FAILED;
        pthread_detach(thread);
        return CARILLON_OK;
    }
    if (is(path, "/twice")) {
        answer(done, context, 200, (carillon_bytes)CARILLON_STR("first"));
        answer(done, context, 200, (carillon_bytes)CARILLON_STR("second"));
        return CARILLON_BUSY;
    }
    if (is(path, "/url")) {
        carillon_str name = CARILLON_STR("carillon.inbound/1");
        char room[256];
        carillon_bytes url = { room, sizeof room };
        const carillon_inbound *service = self->host->query(self->host, name);
        if (service == NULL || !CARILLON_HAS(service, url)) return CARILLON_FAILED;
        if (service->url(self->host, NULL, NULL) != CARILLON_INVALID) return CARILLON_FAILED;
        if (service->url(self->host, say_url, &url) != CARILLON_OK) return CARILLON_UNSUPPORTED;
        answer(done, context, 200, url);
        return CARILLON_OK;
    }
    char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "%u %.*s %.*s?%.*s", request->struct_size >= sizeof *request, (int)request->method.len,
        (const char *)request->method.ptr, (int)path.len, path.len == 0 ? "" : (const char *)path.ptr, (int)request->query.len,
        request->query.len == 0 ? "" : (const char *)request->query.ptr);
    for (size_t i = 0; i < request->header_count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "|%.*s=%.*s", (int)request->headers[i].name.len, (const char *)request->headers[i].name.ptr,
            (int)request->headers[i].value.len, request->headers[i].value.len == 0 ? "" : (const char *)request->headers[i].value.ptr);
    n += (size_t)snprintf(text + n, sizeof text - n, "|%zu bytes", request->body.len);
    answer(done, context, 200, (carillon_bytes){ text, n });
    return CARILLON_OK;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .flags = FLAGS, .platform = CARILLON_STR("fixture"), .create = create, .destroy = destroy,
    .deliver = deliver,
#ifndef NO_MANY
    .deliver_many = deliver_many,
#endif
    .deliver_many_limit = LIMIT, .receive = receive,
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.many"), .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
