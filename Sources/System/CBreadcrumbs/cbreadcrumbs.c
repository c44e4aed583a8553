#include "cbreadcrumbs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MOST_THREADS 1024

static carillon_crumb *_Atomic crumbs;
static size_t crumb_count;
static atomic_bool is_taken[MOST_THREADS];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
/* One more than the thread's place; 0: it has none yet. */
static __thread size_t place;

static void give_back(void *value) {
    size_t index = (size_t)value - 1;
    carillon_crumb *all = atomic_load(&crumbs);
    if (all != NULL) all[index].call = 0;
    atomic_store(&is_taken[index], 0);
}

static void prepare(void) { pthread_key_create(&thread_end, give_back); }

void carillon_crumbs_open(carillon_crumb *memory, size_t count) {
    pthread_once(&once, prepare);
    crumb_count = count < MOST_THREADS ? count : MOST_THREADS;
    atomic_store(&crumbs, memory);
}

static carillon_crumb *own(void) {
    carillon_crumb *all = atomic_load_explicit(&crumbs, memory_order_acquire);
    if (all == NULL) return NULL;
    if (place == 0) {
        for (size_t i = 0; i < crumb_count; i++) {
            if (atomic_exchange(&is_taken[i], 1)) continue;
            place = i + 1;
            pthread_setspecific(thread_end, (void *)place);
            break;
        }
    }
    return place == 0 || place > crumb_count ? NULL : &all[place - 1];
}

static uint32_t copy(char *room, const void *text, size_t length) {
    if (length > CARILLON_CRUMB_TEXT) length = CARILLON_CRUMB_TEXT;
    if (length > 0) memcpy(room, text, length);
    return (uint32_t)length;
}

/* A crumb counts once its `call` is set: the compiler must not move that before the rest. */
static void set(carillon_crumb *crumb, uint32_t call) {
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint32_t *)&crumb->call = call;
    atomic_signal_fence(memory_order_seq_cst);
}

void carillon_crumb_enter(carillon_crumb *former, uint32_t call, const char *plugin, size_t plugin_length,
                          const void *subject, size_t subject_length) {
    former->call = 0;
    carillon_crumb *crumb = own();
    if (crumb == NULL) return;
    if (crumb->call != 0) *former = *crumb;
    set(crumb, 0);
    crumb->plugin_length = copy(crumb->plugin, plugin, plugin_length);
    crumb->subject_length = copy(crumb->subject, subject, subject_length);
    set(crumb, call);
}

void carillon_crumb_leave(const carillon_crumb *former) {
    carillon_crumb *crumb = own();
    if (crumb == NULL) return;
    set(crumb, 0);
    if (former->call == 0) return;
    memcpy(crumb->plugin, former->plugin, former->plugin_length);
    crumb->plugin_length = former->plugin_length;
    memcpy(crumb->subject, former->subject, former->subject_length);
    crumb->subject_length = former->subject_length;
    set(crumb, former->call);
}

void carillon_crumb_current(carillon_crumb *crumb) {
    carillon_crumb *mine = own();
    if (mine == NULL || mine->call == 0) {
        crumb->call = 0;
    } else {
        *crumb = *mine;
    }
}
