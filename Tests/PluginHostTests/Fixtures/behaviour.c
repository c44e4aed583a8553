/* A transport that behaves as its configuration says: {"do":"twice"} and so on. */
#define _GNU_SOURCE
#include <carillon/plugin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct { const carillon_host *host; char behaviour[64]; uint64_t before; } fixture;
typedef struct { fixture *fixture; uint64_t ticket; } job;

static int is(const fixture *self, const char *behaviour) { return strcmp(self->behaviour, behaviour) == 0; }

static void say(fixture *self, const char *text) {
    carillon_str message = { text, strlen(text) };
    self->host->log(self->host, CARILLON_INFO, message);
}

static void end(fixture *self, uint64_t ticket, const char *reason) {
    carillon_outcome outcome = { .struct_size = sizeof outcome, .provider_status = 200, .retry_after_ms = 7,
                                 .reason = { reason, strlen(reason) } };
    self->host->complete(self->host, ticket, &outcome);
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    fixture *self = calloc(1, sizeof *self);
    const char *start = config.ptr;
    const char prefix[] = "{\"do\":\"";
    if (self == NULL || config.len < sizeof prefix || memcmp(start, prefix, sizeof prefix - 1) != 0) {
        free(self);
        error->len = (size_t)snprintf(error->buf, error->capacity, "expected\n\x1b[31m {\"do\": ...}");
        return CARILLON_INVALID;
    }
    self->host = host;
    for (size_t i = sizeof prefix - 1, n = 0; i < config.len && start[i] != '"' && n < sizeof self->behaviour - 1; i++)
        self->behaviour[n++] = start[i];
    *instance = self;
    if (is(self, "refuse-silently")) { error->len = 1000000; memset(error->buf, 0, error->capacity); error->len = 0; return CARILLON_FAILED; }
    if (is(self, "refuse-without-end")) { memset(error->buf, 'x', error->capacity); error->len = SIZE_MAX; return CARILLON_FAILED; }
    if (is(self, "refuse-at-length")) { memset(error->buf, 'x', error->capacity); error->len = 1000000; return CARILLON_FAILED; }
    return CARILLON_OK;
}

static const carillon_host *ghost; /* of an instance that was destroyed */

static void destroy(void *instance) {
    fixture *self = instance;
    if (is(self, "leave-a-ghost")) ghost = self->host;
    say(self, "destroyed");
    free(self);
}

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance;
    if (registration->field_count == 2 && registration->token.len == 5) return CARILLON_OK;
    error->len = (size_t)snprintf(error->buf, error->capacity, "%zu fields", registration->field_count);
    return CARILLON_INVALID;
}

static void *on_thread(void *context) {
    job *job = context;
    end(job->fixture, job->ticket, "thread");
    free(job);
    return NULL;
}

static void answered(void *context, const carillon_http_response *response) {
    job *job = context;
    char said[128];
    snprintf(said, sizeof said, "status %u, %zu headers, %zu bytes, failure %.*s", response->status,
             response->header_count, response->body.len, (int)response->failure.len, (const char *)response->failure.ptr);
    say(job->fixture, said);
    end(job->fixture, job->ticket, "answered");
    free(job);
}

/* Tries every malformed request; "all-refused" when the host took none of them. */
static const char *malformed_requests(fixture *self) {
    static const char bad_utf8[] = "\xff\xfe", large[2 << 20];
    const carillon_field plain[65] = { { CARILLON_STR("a"), CARILLON_STR("b") } };
    const carillon_field injected = { CARILLON_STR("a"), CARILLON_STR("b\r\nx: y") };
    const carillon_field upper = { CARILLON_STR("Content-Type"), CARILLON_STR("b") };
    const carillon_field pseudo = { CARILLON_STR(":path"), CARILLON_STR("/") };
    const carillon_field framing = { CARILLON_STR("transfer-encoding"), CARILLON_STR("chunked") };
    const carillon_field odd_name = { { bad_utf8, 2 }, CARILLON_STR("b") };
    const carillon_field odd_value = { CARILLON_STR("a"), { bad_utf8, 2 } };
    const carillon_field null_value = { CARILLON_STR("a"), { NULL, 5 } };
    const carillon_field endless_value = { CARILLON_STR("a"), { "b", SIZE_MAX } };
    const carillon_field heavy = { CARILLON_STR("a"), { large, 33 << 10 } };
    static const char long_word[129] = "w";
    const carillon_http_request good = { .struct_size = sizeof good, .method = CARILLON_STR("POST"),
                                         .url = CARILLON_STR("https://example.com/") };
    carillon_http_request bad[33];
    size_t n = 0;
#define BAD(change) do { bad[n] = good; carillon_http_request *r = &bad[n++]; change; } while (0)
    BAD(r->struct_size = 0);
    BAD(r->struct_size = 1u << 30);
    BAD(r->struct_size = offsetof(carillon_http_request, url)); /* so the URL is not there */
    BAD(r->method.ptr = NULL);
    BAD(r->method.len = 0);
    BAD(r->method = (carillon_str)CARILLON_STR("PO ST"));
    BAD(r->url.ptr = NULL);
    BAD(r->url = (carillon_str)CARILLON_STR("file:///etc/passwd"));
    BAD(r->url = (carillon_str)CARILLON_STR("https://exa mple.com/"));
    BAD(r->url = (carillon_str)CARILLON_STR("https://example.com/\r\nhost: x"));
    BAD(r->url = (carillon_str)CARILLON_STR("https://example.com/\xff"));
    BAD(r->headers = NULL; r->header_count = 1);
    BAD(r->headers = plain; r->header_count = 65);
    BAD(r->headers = &injected; r->header_count = 1);
    BAD(r->headers = &upper; r->header_count = 1);
    BAD(r->headers = &pseudo; r->header_count = 1);
    BAD(r->headers = &framing; r->header_count = 1);
    BAD(r->headers = &odd_name; r->header_count = 1);
    BAD(r->headers = &odd_value; r->header_count = 1);
    BAD(r->headers = &null_value; r->header_count = 1);
    BAD(r->headers = &heavy; r->header_count = 1);
    BAD(r->headers = &endless_value; r->header_count = 1);
    BAD(r->headers = plain; r->header_count = SIZE_MAX);
    BAD(r->url.len = SIZE_MAX);
    BAD(r->body.ptr = large; r->body.len = SIZE_MAX);
    BAD(r->body.len = 1);
    BAD(r->body.ptr = large; r->body.len = sizeof large);
    BAD(r->timeout_ms = 3600000);
    BAD(r->connection = (carillon_str)CARILLON_STR("two\nlines"));
    BAD(r->connection = (carillon_str)CARILLON_STR("\xc3\xa4"));
    BAD(r->connection.ptr = long_word; r->connection.len = sizeof long_word);
    BAD(r->connection.len = 1);
    BAD(r->connection.ptr = "w"; r->connection.len = SIZE_MAX);
    for (size_t i = 0; i < n; i++)
        if (self->host->http_request(self->host, &bad[i], answered, NULL) != CARILLON_INVALID) return "one-accepted";
    if (self->host->http_request(self->host, NULL, answered, NULL) != CARILLON_INVALID) return "null-accepted";
    if (self->host->http_request(self->host, &good, NULL, NULL) != CARILLON_INVALID) return "null-done-accepted";
    carillon_http_request flagged = good;
    flagged.flags = 1u << 31;
    if (self->host->http_request(self->host, &flagged, answered, NULL) != CARILLON_UNSUPPORTED) return "flag-accepted";
    return "all-refused";
}

/* One request on the connection that the notification's body names; 0 when the host takes it. */
static carillon_status request_on(fixture *self, uint64_t ticket, carillon_str connection) {
    const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
                                            .url = CARILLON_STR("https://example.com/"), .connection = connection };
    carillon_http_request older = request; /* whose word is not one, for its struct ends before */
    older.struct_size = offsetof(carillon_http_request, connection);
    older.connection.len = SIZE_MAX;
    job *task = malloc(sizeof *task);
    if (task == NULL) return CARILLON_BUSY;
    *task = (job){ self, ticket };
    carillon_status status = self->host->http_request(self->host, is(self, "older-request") ? &older : &request, answered, task);
    if (status != CARILLON_OK) free(task);
    return status;
}

/* Presents title (certificates) and subtitle (key) on the connection that the body names, and says what the host said. */
static void present(fixture *self, uint64_t ticket, const carillon_notification *notification) {
    const carillon_client_certificates *service;
    char said[256] = "", line[512];
    carillon_error error = { said, sizeof said, 0 };
    carillon_str name = CARILLON_STR("carillon.client-certificate/1");
    service = self->host->query(self->host, name);
    if (service == NULL || !CARILLON_HAS(service, present)) { end(self, ticket, "no-service"); return; }
    carillon_status status = service->present(self->host, notification->body, notification->title, notification->subtitle, &error);
    snprintf(line, sizeof line, "present %d: %.*s", (int)status, (int)error.len, error.buf);
    say(self, line);
    carillon_error none = { NULL, 0, 0 };
    const carillon_str no_text = { NULL, 9 };
    if (service->present(self->host, notification->body, no_text, no_text, &none) != CARILLON_INVALID
        || service->present(self->host, notification->body, no_text, no_text, NULL) != CARILLON_INVALID
        || service->present(NULL, notification->body, no_text, no_text, &none) != CARILLON_INVALID) { end(self, ticket, "took-nothing"); return; }
    end(self, ticket, status == CARILLON_OK ? "presented" : "refused");
}

static struct { carillon_command_done done; void *context; } kept; /* of a command that is answered later */

static void *answer_command(void *unused) {
    (void)unused;
    kept.done(kept.context, CARILLON_OK, (carillon_str)CARILLON_STR("from a thread"));
    return NULL;
}

static carillon_status command(void *instance, const carillon_str *words, size_t count, carillon_command_done done, void *context) {
    char line[256];
    pthread_t thread;
    (void)instance;
#define WORD(i, text) (count > (i) && words[i].len == sizeof text - 1 && memcmp(words[i].ptr, text, sizeof text - 1) == 0)
    if (WORD(0, "echo")) {
        size_t n = 0;
        for (size_t i = 1; i < count; i++) n += (size_t)snprintf(line + n, sizeof line - n, "[%.*s]", (int)words[i].len, (const char *)words[i].ptr);
        done(context, CARILLON_OK, (carillon_str){ line, n });
        return CARILLON_OK;
    }
    if (WORD(0, "lines")) { done(context, CARILLON_OK, (carillon_str)CARILLON_STR("one\n\ttwo\x1b[31m\xff")); return CARILLON_OK; }
    if (WORD(0, "fail")) { done(context, CARILLON_FAILED, (carillon_str)CARILLON_STR("no such channel")); return CARILLON_OK; }
    if (WORD(0, "twice")) {
        done(context, CARILLON_OK, (carillon_str)CARILLON_STR("first"));
        done(context, CARILLON_OK, (carillon_str)CARILLON_STR("second"));
        return CARILLON_OK;
    }
    if (WORD(0, "stray")) {
        done(NULL, CARILLON_OK, (carillon_str){ NULL, 5 });
        done((void *)((uintptr_t)0xfffff << 40 | 5), CARILLON_OK, (carillon_str){ NULL, 5 });
        done((void *)UINTPTR_MAX, CARILLON_OK, (carillon_str){ NULL, SIZE_MAX });
        done(context, CARILLON_OK, (carillon_str){ NULL, 5 });
        return CARILLON_OK;
    }
    if (WORD(0, "refuse-and-answer")) { done(context, CARILLON_OK, (carillon_str)CARILLON_STR("answered")); return CARILLON_BUSY; }
    if (WORD(0, "never")) { kept.done = done; kept.context = context; return CARILLON_OK; }
    if (WORD(0, "late")) { kept.done(kept.context, CARILLON_OK, (carillon_str)CARILLON_STR("late")); done(context, CARILLON_OK, (carillon_str)CARILLON_STR("now")); return CARILLON_OK; }
    if (WORD(0, "thread")) {
        kept.done = done; kept.context = context;
        if (pthread_create(&thread, NULL, answer_command, NULL) != 0) return CARILLON_FAILED;
        pthread_detach(thread);
        return CARILLON_OK;
    }
    if (WORD(0, "busy")) return CARILLON_BUSY;
    return count == 0 || words == NULL ? CARILLON_INVALID : CARILLON_UNSUPPORTED;
}

static void cancel(void *instance, uint64_t ticket) {
    fixture *self = instance;
    char said[64];
    snprintf(said, sizeof said, "cancel %llu", (unsigned long long)ticket);
    say(self, said);
    if (is(self, "ends-when-cancelled")) end(self, ticket, "cancelled");
}

static void hostile_log(fixture *self) {
    const char escape[] = "red \x1b[31m, two\nlines, broken \xff\xc3 utf-8, \xe2\x80\xaeturned";
    static char large[100000];
    carillon_str nothing = { NULL, 10 }, much = { memset(large, 'm', sizeof large), sizeof large };
    say(self, escape);
    self->host->log(self->host, CARILLON_ERROR, nothing);
    self->host->log(self->host, (carillon_log_level)77, much);
    self->host->log(NULL, CARILLON_INFO, much);
}

/* Takes 600 MiB that RLIMIT_DATA does not count, and keeps it for longer than a test waits: memory that processes could share,
 * or a piece of the stack, moved. */
static const char *take_memory(int is_stack) {
    const size_t size = (size_t)600 << 20, page = 4096;
    char *here = __builtin_frame_address(0), *memory;
    here = (char *)((uintptr_t)here & ~(page - 1)) - 16 * page;
    memset(here, 1, page);
    memory = is_stack ? mremap(here, page, size, MREMAP_MAYMOVE)
                      : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return "no-memory";
    memset(memory, 1, size);
    sleep(60);
    return "memory";
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    fixture *self = instance;
    const carillon_host *host = self->host;
    carillon_outcome odd = { .struct_size = sizeof odd, .kind = CARILLON_RETRY, .provider_status = 70000, .retry_after_ms = 1500 };
    job *task;
    pthread_t thread;
    if (is(self, "twice")) { end(self, ticket, "first"); end(self, ticket, "second"); }
    else if (is(self, "unknown")) { end(self, ticket + 1, "stray"); end(self, 0, "stray"); end(self, UINT64_MAX, "stray"); end(self, ticket, "own"); }
    else if (is(self, "thread")) {
        if ((task = malloc(sizeof *task)) == NULL) return CARILLON_BUSY;
        *task = (job){ self, ticket };
        if (pthread_create(&thread, NULL, on_thread, task) != 0) { free(task); return CARILLON_FAILED; }
        pthread_detach(thread);
    }
    else if (is(self, "shared-memory") || is(self, "stack-memory")) end(self, ticket, take_memory(is(self, "stack-memory")));
    else if (is(self, "never") || is(self, "ends-when-cancelled")) { }
    else if (is(self, "late")) { /* ends the one before */
        if (self->before != 0) { end(self, self->before, "late"); end(self, ticket, "now"); }
        self->before = self->before == 0 ? ticket : 0;
    }
    else if (is(self, "unknown-kind")) { odd.kind = (carillon_outcome_kind)99; host->complete(host, ticket, &odd); }
    else if (is(self, "no-outcome")) host->complete(host, ticket, NULL);
    else if (is(self, "no-size")) { odd.struct_size = 0; host->complete(host, ticket, &odd); }
    else if (is(self, "short-outcome")) { odd.struct_size = offsetof(carillon_outcome, retry_after_ms); odd.reason.ptr = (void *)1; odd.reason.len = 5; host->complete(host, ticket, &odd); }
    else if (is(self, "scope")) { odd.scope = CARILLON_SCOPE_TRANSPORT; host->complete(host, ticket, &odd); }
    else if (is(self, "odd-scope")) { odd.scope = (carillon_scope)77; host->complete(host, ticket, &odd); }
    else if (is(self, "negative-scope")) { odd.scope = (carillon_scope)-1; host->complete(host, ticket, &odd); }
    else if (is(self, "older-scope")) { odd.struct_size = offsetof(carillon_outcome, scope); odd.scope = CARILLON_SCOPE_HOST; host->complete(host, ticket, &odd); }
    else if (is(self, "needless-scope")) { odd.kind = CARILLON_DELIVERED; odd.scope = CARILLON_SCOPE_HOST; host->complete(host, ticket, &odd); }
    else if (is(self, "odd-numbers")) host->complete(host, ticket, &odd);
    else if (is(self, "hostile-reason")) { odd.reason = (carillon_str)CARILLON_STR("a\xff\x1b[31m"); host->complete(host, ticket, &odd); }
    else if (is(self, "talkative-reason")) { odd.reason = (carillon_str)CARILLON_STR("the token 12345 is bad"); host->complete(host, ticket, &odd); }
    else if (is(self, "null-reason")) { odd.reason.len = 5; host->complete(host, ticket, &odd); }
    else if (is(self, "endless-reason")) { odd.reason.ptr = "x"; odd.reason.len = (size_t)1 << 60; host->complete(host, ticket, &odd); }
    else if (is(self, "bottomless-reason")) { odd.reason.ptr = "x"; odd.reason.len = SIZE_MAX; host->complete(host, ticket, &odd); }
    else if (is(self, "crooked-outcome")) {
        static char room[1 + sizeof odd];
        host->complete(host, ticket, memcpy(room + 1, &odd, sizeof odd));
    }
    else if (is(self, "busy")) return CARILLON_BUSY;
    else if (is(self, "invalid")) return CARILLON_INVALID;
    else if (is(self, "unsupported")) return CARILLON_UNSUPPORTED;
    else if (is(self, "failed")) return CARILLON_FAILED;
    else if (is(self, "unheard-of")) return (carillon_status)4711;
    else if (is(self, "refuse-and-end")) { end(self, ticket, "ended"); return CARILLON_BUSY; }
    else if (is(self, "hostile-log")) { hostile_log(self); end(self, ticket, "logged"); }
    else if (is(self, "malformed-requests")) end(self, ticket, malformed_requests(self));
    else if (is(self, "request-on") || is(self, "older-request")) return request_on(self, ticket, notification->body);
    else if (is(self, "present")) present(self, ticket, notification);
    else if (is(self, "query")) {
        carillon_str service = CARILLON_STR("carillon.weather/1"), odd_service = { NULL, 9 };
        end(self, ticket, host->query(host, service) == NULL && host->query(host, odd_service) == NULL ? "none" : "some");
    }
    else if (is(self, "haunt")) { /* calls with the host of an instance that is gone */
        const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
                                                .url = CARILLON_STR("https://example.com/") };
        carillon_str message = CARILLON_STR("boo");
        if (ghost == NULL) return CARILLON_FAILED;
        ghost->log(ghost, CARILLON_INFO, message);
        ghost->complete(ghost, ticket, &odd);
        end(self, ticket, ghost->http_request(ghost, &request, answered, NULL) == CARILLON_BUSY ? "shut" : "open");
    }
    else if (is(self, "request")) {
        const carillon_field headers[] = { { CARILLON_STR("x-one"), CARILLON_STR("1") }, { CARILLON_STR("x-two"), CARILLON_STR("\xc3\xa4") } };
        const carillon_http_request request = { .struct_size = sizeof request, .flags = CARILLON_HTTP_MULTIPLEX,
            .method = CARILLON_STR("POST"), .url = registration->token, .headers = headers, .header_count = 2,
            .body = notification->body, .timeout_ms = 1234, .max_response_bytes = 99 };
        if ((task = malloc(sizeof *task)) == NULL) return CARILLON_BUSY;
        *task = (job){ self, ticket };
        carillon_status status = host->http_request(host, &request, answered, task);
        if (status != CARILLON_OK) free(task);
        return status;
    }
    else if (is(self, "describe")) { /* everything it was given, in one line a field */
        char line[512];
#define TEXT(s) (int)(s).len, (const char *)(s).ptr
        snprintf(line, sizeof line, "%u %u|mode %d|urgency %d|count %u|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%llu",
            notification->struct_size, registration->struct_size, notification->mode, notification->urgency, notification->count,
            TEXT(notification->id), TEXT(notification->signal), TEXT(notification->title), TEXT(notification->subtitle),
            TEXT(notification->body), TEXT(notification->category), TEXT(notification->thread), TEXT(notification->collapse_key),
            TEXT(notification->url), TEXT(notification->data), TEXT(notification->native), (unsigned long long)notification->expires_unix_ms);
        say(self, line);
        for (size_t i = 0; i < notification->action_count; i++) {
            const carillon_action *action = notification->actions[i];
            snprintf(line, sizeof line, "action %u|%.*s|%.*s|%.*s|%.*s", action->struct_size, TEXT(action->id), TEXT(action->label), TEXT(action->url), TEXT(action->icon));
            say(self, line);
        }
        snprintf(line, sizeof line, "to %.*s|%llu", TEXT(registration->token), (unsigned long long)registration->registered_unix_ms);
        say(self, line);
        for (size_t i = 0; i < registration->field_count; i++) {
            snprintf(line, sizeof line, "field %.*s|%.*s", TEXT(registration->fields[i].name), TEXT(registration->fields[i].value));
            say(self, line);
        }
        end(self, ticket, "described");
    }
    else end(self, ticket, "inline");
    return CARILLON_OK;
}

static const carillon_transport transport = {
#ifdef OLDER /* what a plugin of ABI 1.1 has there is anybody's guess */
    .struct_size = offsetof(carillon_transport, command),
#else
    .struct_size = sizeof transport,
#endif
    .platform = CARILLON_STR("fixture"), .create = create, .destroy = destroy,
    .validate = validate, .deliver = deliver, .cancel = cancel, .command = command,
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.behaviour"), .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
