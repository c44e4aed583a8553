/* A plugin whose descriptor is wrong, short or long in the way that a macro asks for. */
#include <carillon/plugin.h>
#include <string.h>

#ifndef PLATFORM
#define PLATFORM "fixture"
#endif
#ifndef ID
#define ID "org.example." PLATFORM
#endif
#ifndef VERSION_WORD
#define VERSION_WORD "fixture"
#endif
#ifndef VERSION
#define VERSION "1.2.3"
#endif

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    (void)config, (void)error;
    *instance = (void *)host;
    return CARILLON_OK;
}
static void destroy(void *instance) { (void)instance; }
static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    const carillon_host *host = instance;
    carillon_outcome outcome = { .struct_size = sizeof outcome, .reason = CARILLON_STR(VERSION_WORD) };
    (void)registration, (void)notification;
    host->complete(host, ticket, &outcome);
    return CARILLON_OK;
}

/* One minor version ahead: something follows what this header knows. */
typedef struct { carillon_transport known; void *future[4]; } newer_transport;
typedef struct { carillon_plugin known; void *future[4]; } newer_plugin;

#if defined(OLDER) /* knew of nothing behind deliver: what lies there is garbage */
#define TRANSPORT_SIZE offsetof(carillon_transport, cancel)
#define PLUGIN_SIZE offsetof(carillon_plugin, filters)
#define GARBAGE ((void *)0x6b6b6b6b)
#elif defined(NEWER)
#define TRANSPORT_SIZE sizeof(newer_transport)
#define PLUGIN_SIZE sizeof(newer_plugin)
#define GARBAGE NULL
#else
#ifndef TRANSPORT_SIZE
#define TRANSPORT_SIZE sizeof(carillon_transport)
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(carillon_plugin)
#endif
#define GARBAGE NULL
#endif

/* What the document says is up to the test; -DDESCRIBE="..." */
#if defined(DESCRIBE_JUNK)
static const char junk[1 << 20] = { [0 ... (1 << 20) - 1] = 'm' };
#define DOCUMENT { junk, sizeof junk }
#elif defined(DESCRIBE_NULL)
#define DOCUMENT { NULL, 5 }
#elif defined(DESCRIBE_ENDLESS)
#define DOCUMENT { "{}", SIZE_MAX }
#elif defined(DESCRIBE_NOTHING)
#define DOCUMENT { (const void *)0x6b6b6b6b, 0 }
#elif defined(DESCRIBE_GARBAGE)
#define DOCUMENT { (const void *)0x6b6b6b6b, 4711 }
#elif defined(DESCRIBE)
#define DOCUMENT CARILLON_STR(DESCRIBE)
#else
#define DOCUMENT { NULL, 0 }
#endif
/* Refuses a block that holds CHECK_REFUSES, saying CHECK_SAYS. */
#if defined(DESCRIBE_GARBAGE)
#define CHECK ((carillon_status (*)(carillon_str, carillon_error *))0x6b6b6b6b)
#elif defined(CHECK_REFUSES)
static carillon_status check(carillon_str block, carillon_error *error) {
    static const char word[] = CHECK_REFUSES, said[] = CHECK_SAYS;
    for (size_t at = 0; at + sizeof word - 1 <= block.len; at++)
        if (memcmp((const char *)block.ptr + at, word, sizeof word - 1) == 0) {
            error->len = sizeof said - 1 < error->capacity ? sizeof said - 1 : error->capacity;
            memcpy(error->buf, said, error->len);
            return CARILLON_INVALID;
        }
    return CARILLON_OK;
}
#define CHECK check
#else
#define CHECK NULL
#endif

static const newer_transport transport = {
    .known = {
        .struct_size = TRANSPORT_SIZE, .platform = CARILLON_STR(PLATFORM),
#ifndef NO_CREATE
        .create = create,
#endif
#ifndef NO_DESTROY
        .destroy = destroy,
#endif
#ifndef NO_DELIVER
        .deliver = deliver,
#endif
        .cancel = (void (*)(void *, uint64_t))GARBAGE,
        .describe = DOCUMENT, .check = CHECK,
    },
    .future = { (void *)1, (void *)2, (void *)3, (void *)4 },
};
static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)instance, (void)call;
    *verdict = CARILLON_PASS;
    return CARILLON_OK;
}
static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR(PLATFORM "-filter"), .create = create, .destroy = destroy,
#ifndef NO_DECIDE
    .decide = decide,
#endif
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_transport *const transports[] = {
#ifdef NULL_TRANSPORT
    NULL,
#endif
    &transport.known,
#ifdef SAME_TRANSPORT_TWICE
    &transport.known,
#endif
};
static const newer_plugin plugin = {
    .known = {
        .struct_size = PLUGIN_SIZE, .abi_minor = CARILLON_ABI_MINOR,
        .id = CARILLON_STR(ID), .version = CARILLON_STR(VERSION),
#if defined(NULL_TRANSPORTS)
        .transport_count = 1,
#elif defined(MANY_TRANSPORTS)
        .transports = transports, .transport_count = 1000000,
#elif !defined(NO_TRANSPORTS)
        .transports = transports, .transport_count = sizeof transports / sizeof *transports,
#endif
#if defined(OLDER)
        .filters = GARBAGE, .filter_count = 1000,
#elif defined(ENDLESS_FILTERS)
        .filters = filters, .filter_count = SIZE_MAX,
#elif defined(WITH_FILTER) || defined(NO_DECIDE)
        .filters = filters, .filter_count = 1,
#endif
    },
};

#if defined(V2_ONLY)
#define ENTRY carillon_plugin_entry_v2
const carillon_plugin *ENTRY(void);
#elif defined(WRONG_SYMBOL)
#define ENTRY carillon_plugin_entry
const carillon_plugin *ENTRY(void);
#else
#define ENTRY carillon_plugin_entry_v1
#endif
const carillon_plugin *ENTRY(void) {
#if defined(NULL_ENTRY)
    (void)plugin, (void)filters;
    return NULL;
#else
    (void)filters, (void)decide;
    return &plugin.known;
#endif
}
