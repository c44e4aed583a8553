"""A plugin of two filters that write down which events they are shown, one before and one after rendering."""

import hashlib
import json
import subprocess
from pathlib import Path

import nostr_sdk as sdk

from programs import REPOSITORY
from router import Router

SOURCE = r"""
#include <carillon/plugin.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT(bytes) (int)(bytes).len, (const char *)(bytes).ptr

/* One write a line: several threads may be asked at once. */
static carillon_status write_down(const char *stage, const carillon_filter_call *call, carillon_verdict *verdict) {
    size_t capacity = call->event.len + 128;
    char *line = malloc(capacity);
    int file = open(SEEN, O_WRONLY | O_APPEND | O_CREAT, 0600), is_written = 0;
    if (line != NULL && file >= 0) {
        int len = snprintf(line, capacity, "%s %.*s %.*s\n", stage, TEXT(call->recipient), TEXT(call->event));
        is_written = len > 0 && write(file, line, (size_t)len) == len;
    }
    if (file >= 0) close(file);
    free(line);
    *verdict = CARILLON_PASS;
    return is_written ? CARILLON_OK : CARILLON_FAILED;
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    (void)host, (void)config, (void)error;
    *instance = NULL;
    return CARILLON_OK;
}
static void destroy(void *instance) { (void)instance; }
static carillon_status early(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)instance;
    return write_down("early", call, verdict);
}
static carillon_status late(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)instance;
    return write_down("late", call, verdict);
}

static const carillon_filter before = {
    .struct_size = sizeof before, .name = CARILLON_STR("early-witness"),
    .create = create, .destroy = destroy, .decide = early,
};
static const carillon_filter after = {
    .struct_size = sizeof after, .flags = CARILLON_FILTER_RENDERED, .name = CARILLON_STR("late-witness"),
    .create = create, .destroy = destroy, .decide = late,
};
static const carillon_filter *const filters[] = { &before, &after };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.witness"), .version = CARILLON_STR("1.0.0"),
    .filters = filters, .filter_count = 2,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
"""

FILTERS = {"early-witness": {}, "late-witness": {}}
"""The configuration that switches both on; what they cannot write down, they let pass, and the test misses it."""


class Witness:
    """The plugin, made from the header alone, in a router's folder; without the sandbox, as confined plugins write no files."""

    def __init__(self, router: Router, folder: Path):
        folder.mkdir(exist_ok=True)
        self._seen, source = folder / "seen", folder / "witness.c"
        source.write_text(f'#define SEEN "{self._seen}"\n{SOURCE}')
        library = router.plugins / "witness.so"
        command = ["cc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", "-I", REPOSITORY / "include"]
        subprocess.run([*command, "-o", library, source], check=True)
        library.chmod(0o755)
        # It writes a file.
        router.configuration["plugins"]["sandbox"] = False

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """Which filter was shown an event, for whom, and the event, in the order of time."""
        text = self._seen.read_text() if self._seen.exists() else ""
        return [tuple(line.split(" ", 2)) for line in text.split("\n") if line]

    def events(self, stage: str) -> list[tuple[str, str]]:
        return [(recipient, event) for seen, recipient, event in self.lines if seen == stage]


def is_genuine(text: str) -> bool:
    """Whether an event is complete, has its own id, and its author's signature (NIP-01, BIP-340)."""
    event = json.loads(text)
    if event.keys() != {"id", "pubkey", "created_at", "kind", "tags", "content", "sig"}:
        return False
    signed = [0, *(event[name] for name in ["pubkey", "created_at", "kind", "tags", "content"])]
    digest = hashlib.sha256(json.dumps(signed, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()
    return digest == event["id"] and sdk.Event.from_json(text).verify()
