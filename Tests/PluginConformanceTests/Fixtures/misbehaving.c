/* A transport that keeps to the contract but for what its configuration says: {"do":"twice"} and so on. */
#define _POSIX_C_SOURCE 200809L
#include <carillon/plugin.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { const carillon_host *host; char behaviour[32]; unsigned asked; uint64_t cancelled; } fixture;
typedef struct { fixture *fixture; uint64_t ticket; } job;

static const carillon_host *latest; /* the mistake of {"do":"share"} */

static int is(const fixture *self, const char *behaviour) { return strcmp(self->behaviour, behaviour) == 0; }

static carillon_status refuse(carillon_error *error, const char *text) {
    error->len = strlen(text) < error->capacity ? strlen(text) : error->capacity;
    memcpy(error->buf, text, error->len);
    return CARILLON_INVALID;
}

static void fired(void *context) { (void)context; }
static void take(void *context, carillon_bytes value) { *(int *)context = value.len == 4 && memcmp(value.ptr, "good", 4) == 0; }

/* Timers, and what it keeps. */
static carillon_status use_services(fixture *self) {
    const carillon_timers *timers = self->host->query(self->host, (carillon_str)CARILLON_STR("carillon.timer/1"));
    const carillon_states *states = self->host->query(self->host, (carillon_str)CARILLON_STR("carillon.state/1"));
    const carillon_str key = CARILLON_STR("key"), good = CARILLON_STR("good");
    static char large[17 << 10];
    uint64_t timer;
    int is_good = 1;
    if (timers == NULL || states == NULL) return CARILLON_OK;
    if (is(self, "keep-time") || is(self, "brittle")) {
        if (timers->start(self->host, 1, 50, fired, NULL, &timer) != CARILLON_OK) return CARILLON_FAILED;
        states->get(self->host, key, take, &is_good);
        if (!is_good && is(self, "brittle")) return CARILLON_INVALID;
        states->set(self->host, key, good);
    }
    if (is(self, "hectic")) timers->start(self->host, 0, 1, fired, NULL, &timer);
    if (is(self, "hoard")) states->set(self->host, key, (carillon_bytes){ large, sizeof large });
    if (is(self, "odd-key")) states->set(self->host, (carillon_str)CARILLON_STR("two\nlines"), good);
    return CARILLON_OK;
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    static const char prefix[] = "{\"do\":\"";
    const char *start = config.ptr;
    fixture *self;
    if (config.len < sizeof prefix || memcmp(start, prefix, sizeof prefix - 1) != 0)
        return refuse(error, "expected {\"do\": ...}");
    if ((self = calloc(1, sizeof *self)) == NULL) return refuse(error, "out of memory");
    self->host = latest = host;
    for (size_t i = sizeof prefix - 1, n = 0; i < config.len && start[i] != '"' && n < sizeof self->behaviour - 1; i++)
        self->behaviour[n++] = start[i];
    *instance = self;
    return use_services(self);
}
static void destroy(void *instance) { free(instance); }

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    fixture *self = instance;
    char said[64];
    if (is(self, "impure")) self->asked++;
    if (registration->token.len > 8 && memcmp(registration->token.ptr, "https://", 8) == 0) return CARILLON_OK;
    if (is(self, "mute")) return CARILLON_INVALID;
    if (is(self, "boast")) { error->len = error->capacity + 1; return CARILLON_INVALID; }
    if (is(self, "overrun")) { strcpy(error->buf, "expected an https:// URL"); error->len = error->capacity < 24 ? error->capacity : 24; return CARILLON_INVALID; }
    snprintf(said, sizeof said, "expected an https:// URL (asked %u times)", self->asked);
    return refuse(error, said);
}

static void end(fixture *self, uint64_t ticket, carillon_outcome outcome) {
    const carillon_host *host = is(self, "share") ? latest : self->host;
    outcome.struct_size = sizeof outcome;
    if (is(self, "unheard-of")) outcome.kind = (carillon_outcome_kind)77;
    if (is(self, "wide")) outcome.scope = (carillon_scope)4;
    if (is(self, "wordy")) outcome.reason = (carillon_str)CARILLON_STR("The server said: no!");
    if (is(self, "half-ticket")) ticket = (uint32_t)ticket;
    host->complete(host, ticket, &outcome);
    if (is(self, "twice")) host->complete(host, ticket, &outcome);
}

static void ignored(void *context, const carillon_http_response *response) { (void)context, (void)response; }

static void answered(void *context, const carillon_http_response *response) {
    job *job = context;
    fixture *self = job->fixture;
    uint64_t ticket = job->ticket;
    uint32_t status = response->status;
    carillon_outcome outcome = { .kind = CARILLON_REJECTED, .provider_status = status };
    free(job);
    if (status >= 200 && status < 300) outcome.kind = CARILLON_DELIVERED;
    else if (status == 404 || status == 410) outcome.kind = CARILLON_GONE;
    else if (status == 0 || status == 429 || status >= 500) outcome.kind = CARILLON_RETRY;
    if (status == 999) outcome.provider_status = 0;
    if (status == 429) outcome.retry_after_ms = is(self, "seconds") ? 120 : 120000;
    if (status == 0 && is(self, "gone-offline")) outcome.kind = CARILLON_GONE;
    if (status == 500 && is(self, "drop-on-500")) outcome.kind = CARILLON_REJECTED;
    if (status == 401 && is(self, "gone-on-401")) outcome.kind = CARILLON_GONE;
    if (status == 100 && is(self, "pleased")) outcome.kind = CARILLON_DELIVERED;
    if (status == 307 && is(self, "follow")) {
        for (size_t i = 0; i < response->header_count; i++) {
            if (response->headers[i].name.len != 8 || memcmp(response->headers[i].name.ptr, "location", 8) != 0) continue;
            const carillon_http_request again = { .struct_size = sizeof again, .method = CARILLON_STR("GET"), .url = response->headers[i].value };
            self->host->http_request(self->host, &again, ignored, NULL);
        }
    }
    if (is(self, "never")) return;
    if (is(self, "lose-cancelled") && ticket == self->cancelled) return;
    if (is(self, "crash") && status == 204) abort();
    end(self, ticket, outcome);
}

static void cancel(void *instance, uint64_t ticket) {
    fixture *self = instance;
    if (self->cancelled == 0) self->cancelled = ticket;
}

#define WORD(i, text) (count > (i) && words[i].len == sizeof text - 1 && memcmp(words[i].ptr, text, sizeof text - 1) == 0)
typedef struct { carillon_command_done done; void *context; } inquiry;

static void inquired(void *context, const carillon_http_response *response) {
    inquiry *asked = context;
    if (response->status == 200) asked->done(asked->context, CARILLON_OK, (carillon_str)CARILLON_STR("all is well"));
    else asked->done(asked->context, CARILLON_FAILED, (carillon_str)CARILLON_STR("the push service does not answer"));
    free(asked);
}

static carillon_status command(void *instance, const carillon_str *words, size_t count, carillon_command_done done, void *context) {
    fixture *self = instance;
    if (is(self, "agree")) { done(context, CARILLON_OK, (carillon_str)CARILLON_STR("certainly")); return CARILLON_OK; }
    if (WORD(0, "help")) {
        if (is(self, "mumble")) { done(context, CARILLON_FAILED, (carillon_str){ NULL, 0 }); return CARILLON_OK; }
        if (is(self, "garble")) { done(context, CARILLON_OK, (carillon_str)CARILLON_STR("\xff\xfe")); return CARILLON_OK; }
        if (!is(self, "keep-mum")) done(context, CARILLON_OK, (carillon_str)CARILLON_STR("list"));
        if (is(self, "repeat")) done(context, CARILLON_OK, (carillon_str)CARILLON_STR("list"));
        return is(self, "answer-and-refuse") ? CARILLON_BUSY : CARILLON_OK;
    }
    if (!WORD(0, "list")) return CARILLON_UNSUPPORTED;
    inquiry *asked = malloc(sizeof *asked);
    if (asked == NULL) return CARILLON_BUSY;
    *asked = (inquiry){ done, context };
    const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
                                            .url = CARILLON_STR("https://push.conformance.example/list"),
                                            .flags = CARILLON_HTTP_UNTRUSTED_URL };
    carillon_status status = self->host->http_request(self->host, &request, inquired, asked);
    if (status != CARILLON_OK) free(asked);
    return status;
}

static void stream_closed(void *context, carillon_str failure);

static void open_stream(fixture *self) {
    const carillon_str service = CARILLON_STR("carillon.stream/1");
    const carillon_streams *streams = self->host->query(self->host, service);
    const carillon_stream_target target = { .struct_size = sizeof target, .host = CARILLON_STR("mail.example.com"),
                                            .port = is(self, "crooked-stream") ? 0 : 25 };
    const carillon_stream_events events = { .struct_size = sizeof events, .closed = stream_closed };
    uint64_t stream;
    if (streams != NULL) streams->open(self->host, &target, &events, self, &stream);
}

static atomic_uint streams_closed;

static void stream_closed(void *context, carillon_str failure) {
    (void)failure;
    atomic_fetch_add(&streams_closed, 1);
    if (is(context, "hasty-stream")) open_stream(context);
}

/* Streams end on a thread of their own, on a busy machine after everything else. */
static void see_streams_end(unsigned count) {
    for (int rounds = 0; rounds < 15000 && atomic_load(&streams_closed) < count; rounds++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    fixture *self = instance;
    int shown = notification->mode == CARILLON_ALERT || notification->mode == CARILLON_WAKE;
    if (!shown && !(is(self, "unsealed") && notification->mode == CARILLON_SEALED)
        && !(is(self, "any-mode") && notification->mode > CARILLON_ALERT)) return CARILLON_UNSUPPORTED;
    if (is(self, "refuse-all")) return CARILLON_FAILED;
    if (is(self, "idle")) { end(self, ticket, (carillon_outcome){ .kind = CARILLON_RETRY }); return CARILLON_OK; }
    /* Takes the header at its word, and shows where the host does not keep it. */
    if (is(self, "literal") && (notification->id.len != 36 || registration->struct_size < sizeof *registration
                                || notification->struct_size < offsetof(carillon_notification, sealed)))
        self->host->complete(self->host, 1, &(carillon_outcome){ .struct_size = sizeof(carillon_outcome) });
    job *context = malloc(sizeof *context);
    if (context == NULL) return CARILLON_BUSY;
    *context = (job){ self, ticket };
    const carillon_field headers[] = {
        { CARILLON_STR("content-type"), CARILLON_STR("text/plain") },
        { CARILLON_STR("x-title"), notification->title },
    };
    const carillon_field json = { CARILLON_STR("content-type"), CARILLON_STR("application/json") };
    char quoted[64];
    carillon_http_request request = {
        .struct_size = sizeof request, .flags = is(self, "trusting") ? 0 : CARILLON_HTTP_UNTRUSTED_URL,
        .method = CARILLON_STR("POST"), .url = registration->token,
        .headers = headers, .header_count = is(self, "inject") ? 2 : 1, .body = notification->title,
    };
    if (is(self, "unescaped")) {
        int count = snprintf(quoted, sizeof quoted, "{\"title\":\"%.*s\"}", (int)(notification->title.len > 40 ? 40 : notification->title.len),
                             notification->title.len ? (const char *)notification->title.ptr : "");
        request.headers = &json;
        request.body = (carillon_bytes){ quoted, (size_t)count };
    }
    if (is(self, "crooked-stream") || is(self, "one-stream")) open_stream(self);
    if (is(self, "hasty-stream") && self->asked++ == 0) {
        open_stream(self);
        /* Far more than 20 for each of the check's deliveries, since later ones are refused and end the row. */
        see_streams_end(5000);
    }
    if (is(self, "tattle")) self->host->log(self->host, CARILLON_INFO, registration->token);
    if (is(self, "overread") && registration->token.len > 0) self->asked += (unsigned)strlen(registration->token.ptr);
    char word[32];
    if (is(self, "crooked-word")) { /* besides the regular one, or nothing would ever be delivered */
        carillon_http_request crooked = request;
        crooked.connection = (carillon_str)CARILLON_STR("two\nlines");
        self->host->http_request(self->host, &crooked, answered, NULL);
    }
    if (is(self, "crooked-certificate")) {
        const carillon_str service = CARILLON_STR("carillon.client-certificate/1"), pem = CARILLON_STR("no PEM");
        const carillon_client_certificates *certificates = self->host->query(self->host, service);
        carillon_error error = { 0 };
        if (certificates != NULL)
            certificates->present(self->host, (carillon_str)CARILLON_STR("two\nlines"), pem, pem, &error);
    }
    if (is(self, "new-words")) request.connection = (carillon_str){ word, (size_t)snprintf(word, sizeof word, "push %llu", (unsigned long long)ticket) };
    if (is(self, "one-word")) request.connection = (carillon_str)CARILLON_STR("TEAM KEY 0");
    if (is(self, "peek") && notification->url.len > 8 && notification->url.len < 100 && memcmp(notification->url.ptr, "https://", 8) == 0) {
        const carillon_http_request look = { .struct_size = sizeof look, .method = CARILLON_STR("GET"), .url = notification->url };
        self->host->http_request(self->host, &look, ignored, NULL);
    }
    if (is(self, "own-host") && request.url.len == 20 && memcmp(request.url.ptr, "https://own.example/", 20) == 0) request.flags = 0;
    carillon_status status = self->host->http_request(self->host, &request, answered, context);
    if (status != CARILLON_OK) free(context);
    if (status == CARILLON_BUSY && is(self, "drop-when-busy")) return CARILLON_INVALID;
    if (status == CARILLON_BUSY && is(self, "refuse-and-end")) end(self, ticket, (carillon_outcome){ .kind = CARILLON_RETRY });
    return status;
}

/* Takes several at once only to get it wrong. */
static carillon_status deliver_many(void *instance, const carillon_delivery *const *deliveries, size_t count) {
    fixture *self = instance;
    const carillon_outcome outcome = { .kind = CARILLON_RETRY };
    if (!is(self, "many-half") && !is(self, "many-twice") && !is(self, "many-refused")) return CARILLON_UNSUPPORTED;
    for (size_t i = is(self, "many-half"); i < count; i++) {
        end(self, deliveries[i]->ticket, outcome);
        if (is(self, "many-twice")) end(self, deliveries[i]->ticket, outcome);
    }
    return is(self, "many-refused") ? CARILLON_BUSY : CARILLON_OK;
}

static carillon_status receive(void *instance, const carillon_inbound_request *request, carillon_inbound_done done, void *context) {
    fixture *self = instance;
    const carillon_field framing = { CARILLON_STR("content-length"), CARILLON_STR("0") };
    carillon_inbound_answer answer = { .struct_size = sizeof answer, .status = is(self, "informal") ? 100 : 204 };
    if (request->method.len == 0) return CARILLON_INVALID;
    if (is(self, "framing")) { answer.headers = &framing; answer.header_count = 1; }
    if (!is(self, "deaf")) done(context, &answer);
    if (is(self, "double")) done(context, &answer);
    return is(self, "receive-and-refuse") ? CARILLON_BUSY : CARILLON_OK;
}

/* -DDESCRIBE="..." is its document, -DCHECK=name one of these its check. */
#ifdef CHECK
static unsigned checks;
static carillon_status agree(carillon_str block, carillon_error *error) { (void)block, (void)error; return CARILLON_OK; }
static carillon_status moody(carillon_str block, carillon_error *error) {
    (void)block;
    return ++checks % 2 ? CARILLON_OK : refuse(error, "/key: expected a better mood");
}
static carillon_status silent(carillon_str block, carillon_error *error) {
    (void)error;
    return block.len > 2 ? CARILLON_INVALID : CARILLON_OK;
}
static carillon_status pointless(carillon_str block, carillon_error *error) {
    return block.len > 2 ? refuse(error, "/key is wrong") : CARILLON_OK;
}
static carillon_status (*const all_checks[])(carillon_str, carillon_error *) = { agree, moody, silent, pointless };
#endif

static const carillon_transport transport = {
    .struct_size = sizeof transport,
    .platform = CARILLON_STR("fixture"), .create = create, .destroy = destroy,
    .validate = validate, .deliver = deliver, .cancel = cancel, .command = command,
    .deliver_many = deliver_many, .deliver_many_limit = 5, .receive = receive,
#ifdef DESCRIBE
    .describe = CARILLON_STR(DESCRIBE),
#endif
#ifdef CHECK
    .check = CHECK,
#endif
};
#ifdef CHECK
const void *carillon_fixture_checks(void);
const void *carillon_fixture_checks(void) { return all_checks; } /* so that none is unused */
#endif
static const carillon_transport *const transports[] = { &transport };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.misbehaving"), .version = CARILLON_STR("1"),
    .transports = transports, .transport_count = 1,
};

#ifdef CHANGING
static carillon_plugin changing;
const carillon_plugin *carillon_plugin_entry_v1(void) {
    static char version = '0';
    changing = plugin;
    version++;
    changing.version = (carillon_str){ &version, 1 };
    return &changing;
}
#else
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
#endif
