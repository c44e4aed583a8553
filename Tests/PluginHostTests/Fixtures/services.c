/* A transport and a filter that use the host's timers and what it keeps: {"do":"once"} and so on. */
#define _DEFAULT_SOURCE
#include <carillon/plugin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const carillon_host *host;
    const carillon_timers *timers;
    const carillon_states *states;
    char behaviour[32];
    uint64_t ticket, timer;
    atomic_int fired;
    atomic_bool is_inside, overlapped;
} fixture;

/* Calls of timers whose instance was being destroyed. */
static atomic_int late;

static bool is(const fixture *self, const char *behaviour) { return strcmp(self->behaviour, behaviour) == 0; }

static carillon_str str(const char *text) { return (carillon_str){ text, strlen(text) }; }

static void say(fixture *self, const char *line) { self->host->log(self->host, CARILLON_INFO, str(line)); }

static void end(fixture *self, uint64_t ticket, const char *reason) {
    carillon_outcome outcome = { .struct_size = sizeof outcome, .reason = str(reason) };
    self->host->complete(self->host, ticket, &outcome);
}

/* ---- Timers -------------------------------------------------------------------------- */

static void fired(void *context) {
    fixture *self = context;
    int count = atomic_fetch_add(&self->fired, 1) + 1;
    char line[64];
    if (atomic_exchange(&self->is_inside, true)) atomic_store(&self->overlapped, true);
    if (is(self, "once") || (is(self, "repeat") && count == 5)) {
        carillon_status first = self->timers->cancel(self->host, self->timer);
        snprintf(line, sizeof line, "fired %d, cancel %d", count, (int)first);
        say(self, line);
        end(self, self->ticket, "fired");
    }
    else if (is(self, "slow")) {
        usleep(30000);
        if (count == 3) {
            self->timers->cancel(self->host, self->timer);
            end(self, self->ticket, atomic_load(&self->overlapped) ? "overlapped" : "alone");
        }
    }
    else if (is(self, "crash")) { *(volatile int *)1 = 0; }
    else if (is(self, "hang")) { for (;;) usleep(1000); }
    else if (is(self, "tick") && count == 2) say(self, "ticks");
    atomic_store(&self->is_inside, false);
}

static void fired_late(void *context) { (void)context; atomic_fetch_add(&late, 1); }

static carillon_status start(fixture *self, uint64_t after, uint64_t every) {
    return self->timers->start(self->host, after, every, fired, self, &self->timer);
}

static const char *limits(fixture *self) {
    const uint64_t year = 366ull * 86400000, times[][2] = { { year + 1, 0 }, { UINT64_MAX, 0 }, { 0, 9 }, { 0, 1 }, { 0, year + 1 }, { 1, UINT64_MAX } };
    static uint64_t started[1024];
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (start(self, times[i][0], times[i][1]) != CARILLON_INVALID) return "takes-odd-times";
    if (self->timers->start(self->host, 1, 0, NULL, self, &number) != CARILLON_INVALID) return "takes-null";
    if (self->timers->start(self->host, 1, 0, fired, self, NULL) != CARILLON_INVALID) return "takes-null";
    if (self->timers->start(NULL, 1, 0, fired, self, &number) != CARILLON_INVALID) return "takes-null";
    for (int i = 0; i < 1024; i++)
        if (self->timers->start(self->host, year, year, fired, self, &started[i]) != CARILLON_OK) return "too-few";
    if (start(self, 1, 0) != CARILLON_BUSY) return "too-many";
    for (int i = 0; i < 1024; i++) if (self->timers->cancel(self->host, started[i]) != CARILLON_OK) return "not-cancelled";
    if (self->timers->cancel(self->host, started[5]) != CARILLON_INVALID) return "cancelled-twice";
    if (self->timers->cancel(self->host, UINT64_MAX) != CARILLON_INVALID) return "cancelled-none";
    if (start(self, year, 0) != CARILLON_OK) return "no-room";
    return atomic_load(&self->fired) == 0 ? "limited" : "fired";
}

/* ---- State --------------------------------------------------------------------------- */

static void take(void *context, carillon_bytes value) {
    snprintf(context, 64, "%zu %.*s", value.len, (int)(value.len < 32 ? value.len : 32), (const char *)value.ptr);
}

/* The title is the key. A body sets it, and an empty one removes it; with "get" as the subtitle it is read. */
static const char *keep(fixture *self, const carillon_notification *notification) {
    char value[64] = "none";
    if (notification->subtitle.len == 3) {
        self->states->get(self->host, notification->title, take, value);
        say(self, value);
        return "read";
    }
    return self->states->set(self->host, notification->title, notification->body) == CARILLON_OK ? "kept" : "refused";
}

static const char *state_limits(fixture *self) {
    static char large[(16 << 10) + 1], key[66];
    char name[16], value[64];
    const carillon_host *host = self->host;
    const carillon_states *states = self->states;
    memset(large, 'v', sizeof large);
    memset(key, 'k', sizeof key - 1);
    if (states->set(host, str(""), str("1")) != CARILLON_INVALID) return "takes-no-key";
    if (states->set(host, (carillon_str){ NULL, 3 }, str("1")) != CARILLON_INVALID) return "takes-no-key";
    if (states->set(host, (carillon_str){ key, SIZE_MAX }, str("1")) != CARILLON_INVALID) return "takes-no-key";
    if (states->set(host, str(key), str("1")) != CARILLON_INVALID) return "takes-long-keys";
    if (states->set(host, str("two\nlines"), str("1")) != CARILLON_INVALID) return "takes-odd-keys";
    if (states->set(host, str("\xc3\xa4"), str("1")) != CARILLON_INVALID) return "takes-odd-keys";
    if (states->set(host, str("a"), (carillon_bytes){ large, sizeof large }) != CARILLON_INVALID) return "takes-large-values";
    if (states->set(host, str("a"), (carillon_bytes){ NULL, 1 }) != CARILLON_INVALID) return "takes-null";
    if (states->get(host, str("a"), NULL, NULL) != CARILLON_INVALID) return "takes-null";
    if (states->get(host, str("a"), take, value) != CARILLON_INVALID) return "has-something";
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof name, "large %d", i);
        if (states->set(host, str(name), (carillon_bytes){ large, 16 << 10 }) != CARILLON_OK) return "too-little-room";
    }
    if (states->set(host, str("more"), str("1")) != CARILLON_INVALID) return "too-much-room";
    for (int i = 0; i < 16; i++) { snprintf(name, sizeof name, "large %d", i); states->set(host, str(name), (carillon_bytes){ NULL, 0 }); }
    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "key %d", i);
        if (states->set(host, str(name), str("1")) != CARILLON_OK) return "too-few-keys";
    }
    if (states->set(host, str("more"), str("1")) != CARILLON_INVALID) return "too-many-keys";
    return states->set(host, str("key 0"), str("2")) == CARILLON_OK ? "limited" : "too-many-keys";
}

/* ---- The transport ------------------------------------------------------------------- */

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    const char *text = config.ptr;
    fixture *self = calloc(1, sizeof *self);
    (void)error;
    self->host = host;
    for (size_t i = sizeof "{\"do\":\"" - 1, n = 0; i < config.len && text[i] != '"' && n < sizeof self->behaviour - 1; i++)
        self->behaviour[n++] = text[i];
    self->timers = host->query(host, str("carillon.timer/1"));
    self->states = host->query(host, str("carillon.state/1"));
    if (self->timers == NULL || self->states == NULL || host->query(host, str("carillon.timer/2")) != NULL) return CARILLON_FAILED;
    *instance = self;
    if (is(self, "tick")) return start(self, 0, 10);
    if (is(self, "refuse")) { start(self, 0, 10); return CARILLON_INVALID; }
    if (is(self, "count")) {
        char value[64] = "0 none", next[2] = "1";
        self->states->get(host, str("made"), take, value);
        if (value[0] == '1') next[0] = (char)(value[2] + 1);
        self->states->set(host, str("made"), str(next));
        say(self, value);
    }
    return CARILLON_OK;
}

static void destroy(void *instance) {
    fixture *self = instance;
    uint64_t number;
    if (is(self, "tick")) {
        say(self, self->timers->start(self->host, 0, 10, fired_late, self, &number) == CARILLON_BUSY ? "no more timers" : "one more timer");
        int before = atomic_load(&self->fired);
        usleep(50000);
        atomic_fetch_add(&late, atomic_load(&self->fired) - before);
    }
    if (is(self, "count")) self->states->set(self->host, str("destroyed"), str("yes"));
    say(self, "destroyed");
    /* Not freed: a timer that fires after all is to be seen. */
}

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance; (void)registration; (void)error;
    return CARILLON_OK;
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    fixture *self = instance;
    char line[64];
    (void)registration;
    self->ticket = ticket;
    if (is(self, "once")) return start(self, 20, 0);
    if (is(self, "repeat") || is(self, "slow") || is(self, "crash")) return start(self, 0, 10);
    if (is(self, "hang")) { end(self, ticket, "hangs"); return start(self, 0, 0); }
    if (is(self, "elsewhere")) {
        carillon_status started = start(self, 3600000, 0), first = self->timers->cancel(self->host, self->timer);
        snprintf(line, sizeof line, "start %d, cancel %d, %d", (int)started, (int)first, (int)self->timers->cancel(self->host, self->timer));
        say(self, line);
        end(self, ticket, "cancelled");
    }
    else if (is(self, "timer-limits")) end(self, ticket, limits(self));
    else if (is(self, "state-limits")) end(self, ticket, state_limits(self));
    else if (is(self, "late")) { snprintf(line, sizeof line, "late %d", atomic_load(&late)); say(self, line); end(self, ticket, "counted"); }
    else if (is(self, "fired")) { snprintf(line, sizeof line, "fired %d", atomic_load(&self->fired)); say(self, line); end(self, ticket, "counted"); }
    else end(self, ticket, keep(self, notification));
    return CARILLON_OK;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("fixture"),
    .create = create, .destroy = destroy, .validate = validate, .deliver = deliver,
};

/* ---- The filter ---------------------------------------------------------------------- */

/* Counts its questions, in what is kept. */
static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    fixture *self = instance;
    char value[64] = "0 ", next[2] = "1";
    self->states->get(self->host, str("asked"), take, value);
    if (value[0] == '1') next[0] = (char)(value[2] + 1);
    self->states->set(self->host, str("asked"), str(next));
    call->set(call->edit, str("reason"), str(next));
    *verdict = CARILLON_DROP;
    return CARILLON_OK;
}

static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR("fixture"), .create = create, .destroy = destroy, .decide = decide,
};

static const carillon_transport *const transports[] = { &transport };
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.services"), .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1,
    .filters = filters, .filter_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
