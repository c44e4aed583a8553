/* A transport and a filter that break down: -DBAD=crash -DAT_DELIVER and so on. */
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void crash(void) { *(volatile int *)8 = 1; }
static void leave(void) { exit(0); }
static void loop(void) { for (volatile int i = 0;; i++) { } }
static void sleep_on(void) { for (;;) sleep(1000); }
static void leak(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }
static void shut(void) { for (int fd = 0; fd < 64; fd++) close(fd); }
static void scribble(void) {
    char garbage[64];
    memset(garbage, 0xa5, sizeof garbage);
    for (int fd = 0; fd < 64; fd++) if (write(fd, garbage, sizeof garbage) < 0) continue;
}
static void nothing(void) { }
void (*const all[])(void) = { crash, leave, loop, sleep_on, leak, shut, scribble, nothing };

#ifdef AT_ENTRY
#define ENTRY() BAD()
#else
#define ENTRY() nothing()
#endif
#ifdef AT_CREATE
#define CREATE() BAD()
#else
#define CREATE() nothing()
#endif
#ifdef AT_VALIDATE
#define VALIDATE() BAD()
#else
#define VALIDATE() nothing()
#endif
#ifdef AT_DELIVER
#define DELIVER() BAD()
#else
#define DELIVER() nothing()
#endif
#ifdef AT_DONE
#define DONE() BAD()
#else
#define DONE() nothing()
#endif
#ifdef AT_DECIDE
#define DECIDE() BAD()
#else
#define DECIDE() nothing()
#endif
#ifdef AT_DESTROY
#define DESTROY() BAD()
#else
#define DESTROY() nothing()
#endif

static const carillon_host *host;
static uint64_t ticket_of_request;

static carillon_status create(const carillon_host *given, carillon_str config, void **instance, carillon_error *error) {
    (void)config; (void)error;
    CREATE();
    host = given;
    *instance = (void *)&host;
    return CARILLON_OK;
}
static void end(uint64_t ticket) {
    const carillon_outcome outcome = { .struct_size = sizeof outcome };
    host->complete(host, ticket, &outcome);
}
static void destroy(void *instance) { (void)instance; DESTROY(); end(1); }
static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance; (void)registration; (void)error;
    VALIDATE();
    return CARILLON_OK;
}
static void answered(void *context, const carillon_http_response *response) {
    (void)context; (void)response;
    DONE();
    end(ticket_of_request);
}
static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    (void)instance; (void)registration; (void)notification;
    DELIVER();
#ifdef AT_DONE
    const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
                                            .url = CARILLON_STR("https://example.com/") };
    ticket_of_request = ticket;
    return host->http_request(host, &request, answered, NULL);
#else
    (void)answered; (void)ticket_of_request;
    end(ticket);
#ifdef TWICE
    end(ticket);
#endif
#ifdef HUGE_LENGTHS
    static const carillon_str endless = { "x", SIZE_MAX }, long_one = { "x", (size_t)1 << 60 };
    const carillon_field fields[] = { { endless, long_one } };
    const carillon_http_request bad = { .struct_size = sizeof bad, .method = endless, .url = long_one, .headers = fields,
                                        .header_count = SIZE_MAX, .body = endless };
    const carillon_outcome outcome = { .struct_size = UINT32_MAX, .reason = endless };
    if (host->http_request(host, &bad, answered, NULL) == CARILLON_OK) abort();
    host->complete(host, ticket, &outcome);
    host->log(host, CARILLON_INFO, (carillon_str){ NULL, SIZE_MAX });
#endif
    return CARILLON_OK;
#endif
}
static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)instance; (void)call;
    DECIDE();
    *verdict = CARILLON_PASS;
    return CARILLON_OK;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("bad"), .create = create, .destroy = destroy,
    .validate = validate, .deliver = deliver,
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR("bad"), .create = create, .destroy = destroy, .decide = decide,
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR, .id = CARILLON_STR("org.example.bad"),
    .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1, .filters = filters, .filter_count = 1,
};
#ifdef AT_LOAD
__attribute__((constructor)) static void load(void) { BAD(); }
#endif

const carillon_plugin *carillon_plugin_entry_v1(void) { ENTRY(); return &plugin; }
