/* A transport that uses a stream as its configuration says:
 * {"do":"echo","host":"localhost","port":4711,"flags":1,"connect":0,"idle":0,"authorities":"..."}. A delivery opens
 * the stream, and ends when that is closed, with the failure as its reason ("orderly" where there is none). */
#include <carillon/plugin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BULK ((size_t)2 << 20)
#define PIECE ((size_t)64 << 10)

typedef struct {
    const carillon_host *host;
    const carillon_streams *streams;
    char behaviour[32], name[256], authorities[8192];
    uint32_t port, flags, connect, idle;
    uint64_t stream, ticket; /* ticket 0: none waits */
    size_t sent, got, text_length;
    int is_whole, was_busy, was_drained, openings;
    char text[256];
} fixture;

static int is(const fixture *self, const char *behaviour) { return strcmp(self->behaviour, behaviour) == 0; }

static void say(fixture *self, const char *text) {
    carillon_str message = { text, strlen(text) };
    self->host->log(self->host, CARILLON_INFO, message);
}

static void end(fixture *self, const char *reason) {
    carillon_outcome outcome = { .struct_size = sizeof outcome, .reason = { reason, strlen(reason) } };
    uint64_t ticket = self->ticket;
    self->ticket = 0;
    if (ticket != 0) self->host->complete(self->host, ticket, &outcome);
}

static const char *find(const char *config, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *start = strstr(config, quoted);
    return start == NULL ? NULL : start + strlen(quoted);
}

static uint32_t number(const char *config, const char *key) {
    const char *start = find(config, key);
    return start == NULL ? 0 : (uint32_t)strtoul(start, NULL, 10);
}

static void text(const char *config, const char *key, char *out, size_t capacity) {
    const char *start = find(config, key);
    size_t length = 0;
    for (start = start == NULL ? "\"\"" : start; *++start != '"' && *start != 0 && length + 1 < capacity;) {
        if (start[0] == '\\' && start[1] == 'n') { out[length++] = '\n'; start++; }
        else out[length++] = *start;
    }
    out[length] = 0;
}

static carillon_status write_text(fixture *self, const char *text) {
    carillon_bytes bytes = { text, strlen(text) };
    return self->streams->write(self->host, self->stream, bytes);
}

static uint8_t pattern(size_t index) { return (uint8_t)(index * 7 + index / 251); }

/* Writes until there is no more, or it is too much. */
static void pump(fixture *self) {
    static char piece[PIECE];
    while (self->sent < BULK) {
        for (size_t i = 0; i < PIECE; i++) piece[i] = (char)pattern(self->sent + i);
        carillon_bytes bytes = { piece, PIECE };
        carillon_status status = self->streams->write(self->host, self->stream, bytes);
        if (status == CARILLON_BUSY && !self->was_busy) { self->was_busy = 1; say(self, "busy"); }
        if (status != CARILLON_OK) return;
        self->sent += PIECE;
    }
}

static void opened(void *context) {
    fixture *self = context;
    self->openings++;
    if (is(self, "many")) return;
    say(self, "opened");
    if (is(self, "echo")) write_text(self, "hello\n");
    if (is(self, "bulk")) pump(self);
    if (is(self, "keep")) end(self, "kept");
    if (is(self, "starttls") && self->openings == 2) write_text(self, "secret\n");
}

static void received(void *context, carillon_bytes bytes) {
    fixture *self = context;
    if (is(self, "bulk")) {
        const uint8_t *start = (const uint8_t *)bytes.ptr;
        for (size_t i = 0; i < bytes.len; i++)
            if (start[i] != pattern(self->got + i)) { say(self, "mangled"); break; }
        self->got += bytes.len;
        if (self->got == BULK) { say(self, "whole"); self->streams->close(self->host, self->stream); }
        return;
    }
    size_t room = sizeof self->text - 1 - self->text_length, length = bytes.len < room ? bytes.len : room;
    memcpy(self->text + self->text_length, bytes.ptr, length);
    self->text_length += length;
    self->text[self->text_length] = 0;
    if (self->text[self->text_length - 1] != '\n') return;
    self->text[self->text_length - 1] = 0;
    say(self, self->text);
    if (strcmp(self->text, "220 ready") == 0) write_text(self, "STARTTLS\n");
    else if (strcmp(self->text, "go") == 0) {
        self->streams->start_tls(self->host, self->stream);
        if (self->streams->start_tls(self->host, self->stream) != CARILLON_INVALID) say(self, "twice");
    }
    else if (!is(self, "keep")) self->streams->close(self->host, self->stream);
    self->text_length = 0;
}

static void drained(void *context) {
    fixture *self = context;
    if (!self->was_drained) { self->was_drained = 1; say(self, "drained"); }
    pump(self);
}

static void closed(void *context, carillon_str failure) {
    fixture *self = context;
    char line[64], reason[48];
    if (is(self, "many")) {
        if (++self->got == 256) say(self, "all closed");
        return;
    }
    snprintf(reason, sizeof reason, "%.*s", (int)failure.len, failure.len == 0 ? "" : (const char *)failure.ptr);
    snprintf(line, sizeof line, "closed: %s", reason);
    say(self, line);
    if (write_text(self, "late") != CARILLON_INVALID) say(self, "it takes more");
    end(self, failure.len == 0 ? "orderly" : reason);
}

static carillon_status open_stream(fixture *self) {
    const carillon_stream_target target = {
        .struct_size = sizeof target, .flags = self->flags, .host = { self->name, strlen(self->name) },
        .port = self->port, .connect_timeout_ms = self->connect, .idle_timeout_ms = self->idle,
        .authorities = { self->authorities, strlen(self->authorities) } };
    const carillon_stream_events events = { .struct_size = sizeof events, .opened = opened, .received = received,
                                            .drained = drained, .closed = closed };
    return self->streams->open(self->host, &target, &events, self, &self->stream);
}

/* Everything that no host may take. */
static const char *malformed(fixture *self) {
    const carillon_stream_target good = { .struct_size = sizeof good, .host = CARILLON_STR("localhost"), .port = 1 };
    const carillon_stream_events events = { .struct_size = sizeof events, .closed = closed }, silent = { .struct_size = sizeof silent };
    const carillon_host *host = self->host;
    const carillon_streams *streams = self->streams;
    carillon_stream_target bad[6];
    uint64_t stream = 0;
    for (int i = 0; i < 6; i++) bad[i] = good;
    bad[0].port = 0;
    bad[1].host.len = 0;
    bad[2].host = (carillon_str)CARILLON_STR("a b");
    bad[3].connect_timeout_ms = 60001;
    bad[4].authorities.len = 9;
    bad[5].struct_size = 0;
    for (int i = 0; i < 6; i++)
        if (streams->open(host, &bad[i], &events, self, &stream) != CARILLON_INVALID) return "taken";
    bad[0] = good;
    bad[0].flags = 1u << 9;
    if (streams->open(host, &bad[0], &events, self, &stream) != CARILLON_UNSUPPORTED) return "flag-taken";
    if (streams->open(host, NULL, &events, self, &stream) != CARILLON_INVALID) return "null-taken";
    if (streams->open(host, &good, NULL, self, &stream) != CARILLON_INVALID) return "no-events-taken";
    if (streams->open(host, &good, &silent, self, &stream) != CARILLON_INVALID) return "no-closed-taken";
    if (streams->open(host, &good, &events, self, NULL) != CARILLON_INVALID) return "no-number-taken";
    carillon_bytes bytes = { "x", 1 };
    if (streams->write(host, 0, bytes) != CARILLON_INVALID || streams->write(host, UINT64_MAX, bytes) != CARILLON_INVALID) return "written";
    if (streams->start_tls(host, 77) != CARILLON_INVALID || streams->close(host, 77) != CARILLON_INVALID) return "closed";
    return "all-refused";
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    carillon_str service = CARILLON_STR("carillon.stream/1");
    fixture *self = calloc(1, sizeof *self);
    char *copy = calloc(1, config.len + 1);
    (void)error;
    if (self == NULL || copy == NULL) return CARILLON_FAILED;
    memcpy(copy, config.ptr, config.len);
    self->host = host;
    self->streams = host->query(host, service);
    text(copy, "do", self->behaviour, sizeof self->behaviour);
    text(copy, "host", self->name, sizeof self->name);
    text(copy, "authorities", self->authorities, sizeof self->authorities);
    self->port = number(copy, "port");
    self->flags = number(copy, "flags");
    self->connect = number(copy, "connect");
    self->idle = number(copy, "idle");
    free(copy);
    *instance = self;
    if (self->streams == NULL) return CARILLON_UNSUPPORTED;
    if (is(self, "from-create")) return open_stream(self);
    return CARILLON_OK;
}

static void destroy(void *instance) {
    say(instance, "destroyed");
    free(instance);
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    fixture *self = instance;
    (void)registration;
    (void)notification;
    if (is(self, "crash") && self->openings > 0) abort();
    self->ticket = ticket;
    if (is(self, "malformed")) end(self, malformed(self));
    else if (is(self, "many")) { /* one more than there may be */
        int count = 0;
        while (count < 1000 && open_stream(self) == CARILLON_OK) count++;
        char reason[16];
        snprintf(reason, sizeof reason, "%d", count);
        end(self, reason);
    }
    else return open_stream(self);
    return CARILLON_OK;
}

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance, (void)registration, (void)error;
    return CARILLON_OK;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("fixture"), .create = create, .destroy = destroy,
    .validate = validate, .deliver = deliver };
static const carillon_transport *const transports[] = { &transport };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR, .id = CARILLON_STR("org.example.stream"),
    .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1 };

const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
