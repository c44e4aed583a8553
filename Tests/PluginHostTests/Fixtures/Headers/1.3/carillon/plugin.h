/* carillon/plugin.h - the plugin ABI, major version 1. This header is the whole contract.
 *
 * A plugin is a shared object in one of the router's plugin folders. It exports one function
 * (at the end of this file), which returns static tables: transports, each of which carries
 * notifications to one kind of push service, and filters, each of which may stop one.
 *
 *     create(config)        once per app that configures the transport
 *     deliver(ticket, ...)  once per notification and device; the plugin builds a request,
 *                           hands it to host->http_request, reads the answer, and calls
 *     host->complete(ticket, outcome)
 *     destroy()             when everything has ended
 *
 * The plugin translates. Queues, retries, backoff, limits, deadlines, storage, connections
 * and TLS are the host's. It runs inside the router with all the router's rights: the host
 * checks what it can, but a plugin is trusted code.
 *
 * Borrowed: every pointer passed to a function is valid until that call returns, unless
 *     stated otherwise. Copy what you keep. Neither side frees the other's memory.
 * Growth:   a struct that starts with `struct_size` only ever gains fields at its end, and
 *     zero in a new field means "as before". Whoever fills it sets struct_size to the sizeof
 *     it knows. Readers copy min(struct_size, sizeof mine) bytes into a zeroed struct of
 *     their own, or ask CARILLON_HAS. Structs marked FROZEN never change. Unused flags and
 *     reserved fields are zero. An enum may gain values: treat an unknown one as a failure.
 * Threads:  [setup] the host makes one such call at a time per library, on any thread; it
 *               may take a while.
 *           [any]   any thread, concurrently; must return promptly and never block.
 *           [done]  on a host thread, never from inside the call that asked for it; prompt.
 *     The host calls with no lock held. Every function of the host is [any].
 * Errors:   no C++ exception, Swift error, longjmp or thread exit may cross a call.
 * Text:     UTF-8, not NUL-terminated. With len 0, ptr may be NULL. What the host passes is
 *     valid UTF-8, of any length, and may contain any character: escape it.
 */
#ifndef CARILLON_PLUGIN_H
#define CARILLON_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define CARILLON_ABI_MINOR 3 /* the major version is in the entry symbol's name */

/* 32 bits everywhere; imported by Swift as an enum that may grow (@unknown default). */
#if defined(__clang__)
#define CARILLON_OPEN __attribute__((enum_extensibility(open)))
#define CARILLON_ENUM(name) enum CARILLON_OPEN name : int32_t; typedef enum name name; enum CARILLON_OPEN name : int32_t
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wc23-extensions"
#pragma clang diagnostic ignored "-Wmicrosoft-fixed-enum"
#elif defined(__cplusplus)
#define CARILLON_ENUM(name) enum name : int32_t
#else
#define CARILLON_ENUM(name) typedef int32_t name; enum
#endif

/* Does the struct behind `pointer`, which starts with struct_size, hold `field`? */
#define CARILLON_HAS(pointer, field) \
    ((pointer)->struct_size >= (size_t)((const char *)(&(pointer)->field + 1) - (const char *)(pointer)))
/* Initialises a carillon_str from a literal: carillon_str platform = CARILLON_STR("ios"); */
#define CARILLON_STR(literal) { "" literal, sizeof(literal) - 1 }

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Values -------------------------------------------------------------------------- */

typedef struct carillon_bytes { const void *ptr; size_t len; } carillon_bytes;                /* FROZEN */
typedef carillon_bytes carillon_str;
typedef struct carillon_field { carillon_str name; carillon_bytes value; } carillon_field;    /* FROZEN */
/* Room, lent by the caller, for one sentence meant for an operator: what is wrong and what
 * was expected, never a secret. Write at most `capacity` bytes to buf, their number to len. */
typedef struct carillon_error { char *buf; size_t capacity; size_t len; } carillon_error;     /* FROZEN */

CARILLON_ENUM(carillon_status) {
    CARILLON_OK = 0,
    CARILLON_INVALID = 1,     /* bad argument, configuration or registration */
    CARILLON_BUSY = 2,        /* not accepted now, try later */
    CARILLON_UNSUPPORTED = 3,
    CARILLON_FAILED = 4,
};
/* What became of a delivery. Each kind forces one action on the host. */
CARILLON_ENUM(carillon_outcome_kind) {
    CARILLON_DELIVERED = 0,     /* the push service accepted the message */
    CARILLON_GONE = 1,          /* the push service says this registration is dead: forget it */
    CARILLON_REJECTED = 2,      /* this message can never be accepted: drop it */
    CARILLON_RETRY = 3,         /* transient, and every network error */
    CARILLON_MISCONFIGURED = 4, /* our credentials are bad: pause the transport, tell a human */
};
/* How much the push service may see. A transport that cannot honour the mode it is given
 * never shows more: deliver answers CARILLON_UNSUPPORTED, and the host tries the next stricter
 * mode of alert and sealed > nudge > wake. It does so as well after CARILLON_REJECTED with the
 * reason "payload-too-large", and sends a wake-up after "payload-empty". */
CARILLON_ENUM(carillon_mode) {
    CARILLON_WAKE = 0,   /* that something happened: signal and count */
    CARILLON_NUDGE = 1,  /* a neutral visible text (title, body), no sender, no content */
    CARILLON_SEALED = 2, /* everything, encrypted to the device: see `sealed` below */
    CARILLON_ALERT = 3,  /* everything */
};
CARILLON_ENUM(carillon_urgency) { CARILLON_LOW = 0, CARILLON_NORMAL = 1, CARILLON_HIGH = 2 };
CARILLON_ENUM(carillon_verdict) { CARILLON_PASS = 0, CARILLON_DROP = 1 };
CARILLON_ENUM(carillon_log_level) { CARILLON_DEBUG = 0, CARILLON_INFO = 1, CARILLON_WARNING = 2, CARILLON_ERROR = 3 };

/* ---- What a transport is given and answers ------------------------------------------- */

/* One device, as its owner registered it. */
typedef struct carillon_registration {
    uint32_t struct_size;
    uint32_t reserved;
    carillon_str token;           /* device token or endpoint URL; secret */
    const carillon_field *fields; /* for example "p256dh", "auth"; secret */
    size_t field_count;
    uint64_t registered_unix_ms;  /* a GONE older than this says nothing about it */
} carillon_registration;

/* A button. */
typedef struct carillon_action {
    uint32_t struct_size;
    uint32_t reserved;
    carillon_str id, label, url, icon; /* url and icon may be empty */
} carillon_action;

/* What to say, in no platform's words. A text that is not set is empty. In CARILLON_WAKE
 * only id, signal, count, urgency and expires_unix_ms are set; in CARILLON_NUDGE also title and
 * body, which are neutral. In CARILLON_SEALED there are two cases. Where `sealed` is set, the
 * host has encrypted the whole: title and body are neutral, nothing else is set, and the
 * transport passes `sealed` on. Where it is empty, which happens only to transports with the
 * flag CARILLON_TRANSPORT_ENCRYPTS, everything is set, and the transport encrypts it to keys
 * of the registration, padded so that its length tells nothing; without such keys it answers
 * CARILLON_UNSUPPORTED. */
typedef struct carillon_notification {
    uint32_t struct_size;
    carillon_mode mode;
    carillon_urgency urgency;
    uint32_t count;              /* events this one stands for; more than 1: a batch */
    carillon_str id;             /* a UUID in lower case, the same on every attempt */
    carillon_str signal;         /* "dm", "mention", ... */
    carillon_str title, subtitle, body;
    carillon_str category, thread, collapse_key, url;
    const carillon_action *const *actions; /* to pointers, so that actions can grow */
    size_t action_count;
    carillon_str data;           /* JSON object: custom keys for the app */
    carillon_str native;         /* JSON object: this platform's block of the rule, merged last */
    uint64_t expires_unix_ms;    /* 0: the transport's default */
    carillon_str sealed;         /* 1.1. JSON object: the envelope for the app; CARILLON_SEALED only */
} carillon_notification;

/* 1.2. Whom a CARILLON_RETRY is about: what the host leaves in peace meanwhile. */
CARILLON_ENUM(carillon_scope) {
    CARILLON_SCOPE_DEFAULT = 0,   /* with retry_after_ms where users choose the endpoint: its host; else the device */
    CARILLON_SCOPE_DEVICE = 1,
    CARILLON_SCOPE_HOST = 2,      /* everything that goes to the host in the registration's token */
    CARILLON_SCOPE_TRANSPORT = 3, /* everything that this instance sends: a quota of the whole app is used up */
};

typedef struct carillon_outcome {
    uint32_t struct_size;
    carillon_outcome_kind kind;
    uint32_t provider_status;    /* HTTP status, or 0 */
    uint32_t retry_after_ms;     /* CARILLON_RETRY only; 0: the host decides */
    carillon_str reason;         /* one word of a small fixed set, for it labels a metric: at
                                  * most 40 of a-z, 0-9 and "-"; anything else reads "other".
                                  * Empty: the kind's own name */
    carillon_scope scope;        /* 1.2. CARILLON_RETRY only */
    uint32_t reserved;
} carillon_outcome;

/* ---- HTTP, done by the host ---------------------------------------------------------- */

typedef struct carillon_http_request {
    uint32_t struct_size;
    uint32_t flags;
    carillon_str method, url;      /* "POST"; absolute, https or http, ASCII, at most 8 KiB */
    const carillon_field *headers; /* names in lower case; at most 64, together 32 KiB. The host
                                    * adds host, content-length and what else frames a message */
    size_t header_count;
    carillon_bytes body;           /* at most 1 MiB */
    uint32_t timeout_ms;           /* to the last byte of the answer; 0: 30 s; at most 60 s */
    uint32_t max_response_bytes;   /* the rest of the body is cut off; 0: 64 KiB; at most 1 MiB */
    carillon_str connection;       /* 1.2. a word of the instance's own, at most 128 printable bytes: requests with
                                    * different words never share a connection, and a new word gets new ones.
                                    * Empty: connections are shared with all other instances */
} carillon_http_request;
#define CARILLON_HTTP_MULTIPLEX     (1u << 0) /* a busy origin: keep HTTP/2 connections to it */
#define CARILLON_HTTP_UNTRUSTED_URL (1u << 1) /* user-supplied: no private addresses, no redirects */

typedef struct carillon_http_response {
    uint32_t struct_size;
    uint32_t status;               /* 0: none arrived, see `failure` */
    const carillon_field *headers; /* names in lower case */
    size_t header_count;
    carillon_bytes body;
    carillon_str failure;          /* one word, fit to be an outcome's reason: "timeout", "tls", "tls-name",
                                    * "tls-untrusted", "tls-expired", "unreachable", "unresolved",
                                    * "forbidden-address", ... */
} carillon_http_response;
typedef void (*carillon_http_done)(void *context, const carillon_http_response *response); /* [done] */

/* ---- What the host offers ------------------------------------------------------------ */

typedef struct carillon_host carillon_host;

/* The service "carillon.client-certificate/1": connections that authenticate themselves by TLS. */
typedef struct carillon_client_certificates {
    uint32_t struct_size;
    uint32_t reserved;
    /* From now on new connections of the word `connection` (see carillon_http_request) present
     * `certificates` (PEM, the own one first) and prove to hold `key` (PEM). To be called from
     * create, or before the first request with that word. INVALID says why in `error`. [any] */
    carillon_status (*present)(const carillon_host *host, carillon_str connection, carillon_str certificates,
                               carillon_str key, carillon_error *error);
} carillon_client_certificates;

/* One per instance (so it knows who is calling); valid from create until destroy returns. */
struct carillon_host {
    uint32_t struct_size;
    uint32_t abi_minor;
    void *host_data; /* the host's own */
    /* One line. Never log tokens, keys or payloads. [any] */
    void (*log)(const carillon_host *host, carillon_log_level level, carillon_str message);
    /* Ends an accepted delivery. A second or unknown ticket is counted and ignored. [any] */
    void (*complete)(const carillon_host *host, uint64_t ticket, const carillon_outcome *outcome);
    /* CARILLON_OK: copied, and `done` is called exactly once. Otherwise never: INVALID, the
     * request is malformed or beyond a limit; UNSUPPORTED, it has a flag that this host does not
     * know; BUSY, the instance is being shut down. [any] */
    carillon_status (*http_request)(const carillon_host *host, const carillon_http_request *request,
                                    carillon_http_done done, void *context);
    /* An optional service by revisioned name, such as "carillon.timer/1", or NULL. [any] */
    const void *(*query)(const carillon_host *host, carillon_str service);
};

/* ---- What a plugin offers ------------------------------------------------------------ */

/* 1.2. `answer` is for people or a program, borrowed: what was asked for, or with another status than
 * OK what is wrong. */
typedef void (*carillon_command_done)(void *context, carillon_status status, carillon_str answer);

#define CARILLON_TRANSPORT_ENCRYPTS (1u << 0) /* 1.1. encrypts to keys of the registration (RFC 8291) */
typedef struct carillon_transport {
    uint32_t struct_size;
    uint32_t flags;
    carillon_str platform; /* "ios": unique among transports; used in configuration and registrations.
                            * 1 to 64 of a-z, 0-9, "-" and "_", as a filter's name */
    /* `config`: this platform's block of one app, as a JSON object. Several instances may
     * exist at once (several apps, reload). No network. [setup] */
    carillon_status (*create)(const carillon_host *host, carillon_str config, void **instance, carillon_error *error);
    /* Every delivery has been completed and every http_request has had its `done`; no call is
     * inside the instance and nothing more will come. Never called from a plugin's call. [setup] */
    void (*destroy)(void *instance);
    /* Optional. Is this registration well-formed? No I/O, same answer every time. [any] */
    carillon_status (*validate)(void *instance, const carillon_registration *registration, carillon_error *error);
    /* CARILLON_OK: accepted; host->complete(ticket) follows exactly once, from any thread,
     * perhaps before this returns. Otherwise: not accepted, never complete it (BUSY and FAILED
     * are tried again, INVALID and UNSUPPORTED are not). Tickets never repeat. [any] */
    carillon_status (*deliver)(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification);
    /* Optional. Please end `ticket` soon; it still ends exactly once, even though the host may
     * have stopped waiting. It may have ended already, and deliver may not have returned. [any] */
    void (*cancel)(void *instance, uint64_t ticket);
    /* 1.2. Optional. Something an operator wants of the push service that is no delivery, as in
     * `carillon push ios channels list`. The one word "help" lists what there is; "status" asks for a JSON
     * object that metrics are made of, such as {"expires":[{"what":"client-certificate","at":1789000000}]},
     * in seconds since 1970, `what` spelled like an outcome's reason. OK: `done` follows
     * exactly once, from any thread, perhaps before this returns. Otherwise never: UNSUPPORTED, there
     * is no such command. [any] */
    carillon_status (*command)(void *instance, const carillon_str *words, size_t word_count, carillon_command_done done,
                               void *context);
} carillon_transport;

/* 1.3. How near the author is to the recipient, by the newest contact lists (kind 3) that the host knows. */
CARILLON_ENUM(carillon_follow_distance) {
    CARILLON_DISTANCE_UNKNOWN = 0,      /* the filter did not ask, or nobody has the recipient's list */
    CARILLON_DISTANCE_FOLLOWED = 1,     /* the recipient follows the author, or is the author */
    CARILLON_DISTANCE_SECOND = 2,       /* somebody whom the recipient follows does */
    CARILLON_DISTANCE_STRANGER = 3,     /* neither */
    CARILLON_DISTANCE_NOT_FOLLOWED = 4, /* not 1; whether 2 or 3 was not asked, or could not be found out */
};

typedef struct carillon_edit carillon_edit;
/* One event for one recipient. A filter is asked once for all devices of the recipient that want
 * it; one that runs after rendering, once for each text (modes and languages differ). */
typedef struct carillon_filter_call {
    uint32_t struct_size;
    uint32_t reserved;
    carillon_str event;                       /* the source event, verified, JSON */
    carillon_str recipient;                   /* account, 64 hex digits */
    const carillon_str *recipient_events;     /* newest known event of each wanted kind, verified, JSON */
    size_t recipient_event_count;
    carillon_str signal;
    const carillon_notification *notification; /* CARILLON_FILTER_RENDERED only, else NULL; without id and native */
    carillon_edit *edit;
    /* "reason" says why it drops: at most 60 printable ASCII bytes, for a log, hence never content.
     * After rendering also one of "title", "subtitle", "body", "category", "thread", "collapse_key",
     * "url", "data" (a JSON object) and "urgency" ("low", "normal", "high"); anything else is
     * UNSUPPORTED. Texts in CARILLON_WAKE stay empty, those in CARILLON_NUDGE neutral, so there only
     * "urgency" is taken. Copies `value`; the last of several counts. Nothing counts of what was set
     * by a call that did not end in CARILLON_OK. Only inside the call. */
    carillon_status (*set)(carillon_edit *edit, carillon_str field, carillon_bytes value);
    carillon_str author;                       /* 1.3. 64 hex digits: whose doing it is, the sender of a zap. Empty:
                                                * not known, as inside a gift wrap */
    uint64_t zap_millisats;                    /* 1.3. what the zap is worth; 0: it is none, or unknown */
    uint64_t now_unix_ms;                      /* 1.3. the host's clock */
    carillon_follow_distance follow_distance;  /* 1.3. */
    uint32_t reserved2;
    carillon_str relation;                     /* 1.3. what the event is to the recipient, as in rules: "reply", ... */
} carillon_filter_call;

#define CARILLON_FILTER_RENDERED (1u << 0) /* run after rendering, with the notification */
#define CARILLON_FILTER_ASKS_DISTANCE (1u << 1) /* 1.3. the host finds out follow_distance before the call, of relays too */
#define CARILLON_FILTER_ASKS_FOLLOWED (1u << 2) /* 1.3. no more of it than whether it is 1 */
typedef struct carillon_filter {
    uint32_t struct_size;
    uint32_t flags;
    carillon_str name;
    const uint32_t *wanted_kinds; /* replaceable events of the recipient to keep at hand, e.g. 10000; at most 16 */
    size_t wanted_kind_count;
    carillon_status (*create)(const carillon_host *host, carillon_str config, void **instance, carillon_error *error); /* [setup] */
    void (*destroy)(void *instance); /* [setup] */
    /* Synchronous and bounded. Not CARILLON_OK: the operator's `on_error` (pass or drop) decides. [any] */
    carillon_status (*decide)(void *instance, const carillon_filter_call *call, carillon_verdict *verdict);
    /* 1.3. Optional. Which of the bits CARILLON_FILTER_ASKS_... in `flags` this instance needs, as it is
     * configured; asked once, after create. NULL: all of them. [setup] */
    uint32_t (*needs)(void *instance);
} carillon_filter;

typedef struct carillon_plugin {
    uint32_t struct_size;
    uint32_t abi_minor;   /* CARILLON_ABI_MINOR it was built with, for the log */
    carillon_str id;      /* "org.example.webhook": printable, 1 to 128 bytes */
    carillon_str version; /* for people: printable, 1 to 64 bytes */
    const carillon_transport *const *transports; /* to pointers, so that entries can grow */
    size_t transport_count;
    const carillon_filter *const *filters;
    size_t filter_count;
} carillon_plugin;

/* The one exported symbol. Cheap, free of side effects, repeatable. What it returns is
 * valid until the process ends: libraries are never unloaded. NULL refuses. [setup] */
__attribute__((visibility("default"))) const carillon_plugin *carillon_plugin_entry_v1(void);

#ifdef __cplusplus
}
#endif
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#endif
