#include "CBrowserPages.h"

// In C, because the Swift compiler needs half a minute for the same bytes as a literal.

#pragma clang diagnostic ignored "-Wc23-extensions"
#define FILE_OF(name, bytes) { name, bytes, sizeof bytes }
#define FILE_AT(table, index) ((index) < sizeof (table) / sizeof *(table) ? &(table)[index] : NULL)

static const unsigned char console_access_js[] = {
#embed "../Console/access.js"
};

static const unsigned char console_api_js[] = {
#embed "../Console/api.js"
};

static const unsigned char console_console_texts_js[] = {
#embed "../Console/console-texts.js"
};

static const unsigned char console_yesterday_js[] = {
#embed "../Console/yesterday.js"
};

// The shared style sheet, and the console's own.
static const unsigned char console_style_css[] = {
#embed "../Subscribe/style.css"
,
#embed "../Console/console.css"
};

static const unsigned char console_console_js[] = {
#embed "../Console/console.js"
};

static const unsigned char console_devices_js[] = {
#embed "../Console/devices.js"
};

static const unsigned char console_differences_js[] = {
#embed "../Console/differences.js"
};

static const unsigned char console_listeners_js[] = {
#embed "../Console/listeners.js"
};

static const unsigned char console_follow_js[] = {
#embed "../Console/follow.js"
};

static const unsigned char console_icons_js[] = {
#embed "../Console/icons.js"
};

static const unsigned char console_index_html[] = {
#embed "../Console/index.html"
};

static const unsigned char console_now_js[] = {
#embed "../Console/now.js"
};

static const unsigned char console_parts_js[] = {
#embed "../Console/parts.js"
};

static const unsigned char console_playground_js[] = {
#embed "../Console/playground.js"
};

static const unsigned char console_preview_js[] = {
#embed "../Console/preview.js"
};

static const unsigned char console_sparkline_js[] = {
#embed "../Console/sparkline.js"
};

static const unsigned char me_device_js[] = {
#embed "../Me/device.js"
};

static const unsigned char me_index_html[] = {
#embed "../Me/index.html"
};

static const unsigned char me_me_texts_js[] = {
#embed "../Me/me-texts.js"
};

static const unsigned char me_me_js[] = {
#embed "../Me/me.js"
};

static const unsigned char me_report_js[] = {
#embed "../Me/report.js"
};

static const unsigned char me_requests_js[] = {
#embed "../Me/requests.js"
};

static const unsigned char shared_acting_js[] = {
#embed "../Shared/acting.js"
};

static const unsigned char shared_dom_js[] = {
#embed "../Shared/dom.js"
};

static const unsigned char shared_key_js[] = {
#embed "../Shared/key.js"
};

static const unsigned char shared_sentence_texts_js[] = {
#embed "../Shared/sentence-texts.js"
};

static const unsigned char shared_sentences_js[] = {
#embed "../Shared/sentences.js"
};

static const unsigned char shared_words_js[] = {
#embed "../Shared/words.js"
};

static const unsigned char subscribe_icon_png[] = {
#embed "../Subscribe/icon.png"
};

static const unsigned char subscribe_icon_svg[] = {
#embed "../Subscribe/icon.svg"
};

static const unsigned char subscribe_index_html[] = {
#embed "../Subscribe/index.html"
};

static const unsigned char subscribe_manifest_webmanifest[] = {
#embed "../Subscribe/manifest.webmanifest"
};

static const unsigned char subscribe_nip44_js[] = {
#embed "../Subscribe/nip44.js"
};

static const unsigned char subscribe_notes_js[] = {
#embed "../Subscribe/notes.js"
};

static const unsigned char subscribe_page_js[] = {
#embed "../Subscribe/page.js"
};

static const unsigned char subscribe_qr_js[] = {
#embed "../Subscribe/qr.js"
};

static const unsigned char subscribe_remote_js[] = {
#embed "../Subscribe/remote.js"
};

static const unsigned char subscribe_router_js[] = {
#embed "../Subscribe/router.js"
};

static const unsigned char subscribe_secp256k1_js[] = {
#embed "../Subscribe/secp256k1.js"
};

static const unsigned char subscribe_signer_js[] = {
#embed "../Subscribe/signer.js"
};

static const unsigned char subscribe_storage_js[] = {
#embed "../Subscribe/storage.js"
};

static const unsigned char subscribe_style_css[] = {
#embed "../Subscribe/style.css"
};

static const unsigned char subscribe_texts_js[] = {
#embed "../Subscribe/texts.js"
};

static const unsigned char subscribe_ways_js[] = {
#embed "../Subscribe/ways.js"
};

static const unsigned char subscribe_worker_js[] = {
#embed "../Subscribe/worker.js"
};

static const struct browser_page_file subscribe[] = {
    FILE_OF("index.html", subscribe_index_html),
    FILE_OF("style.css", subscribe_style_css),
    FILE_OF("page.js", subscribe_page_js),
    FILE_OF("qr.js", subscribe_qr_js),
    FILE_OF("router.js", subscribe_router_js),
    FILE_OF("ways.js", subscribe_ways_js),
    FILE_OF("worker.js", subscribe_worker_js),
    FILE_OF("manifest.webmanifest", subscribe_manifest_webmanifest),
    FILE_OF("icon.svg", subscribe_icon_svg),
    FILE_OF("icon.png", subscribe_icon_png),
    FILE_OF("signer.js", subscribe_signer_js),
    FILE_OF("remote.js", subscribe_remote_js),
    FILE_OF("nip44.js", subscribe_nip44_js),
    FILE_OF("secp256k1.js", subscribe_secp256k1_js),
    FILE_OF("storage.js", subscribe_storage_js),
    FILE_OF("texts.js", subscribe_texts_js),
    FILE_OF("notes.js", subscribe_notes_js),
    FILE_OF("dom.js", shared_dom_js),
    FILE_OF("words.js", shared_words_js),
    FILE_OF("key.js", shared_key_js),
    FILE_OF("acting.js", shared_acting_js),
};

const struct browser_page_file *subscribe_page_file(size_t index) { return FILE_AT(subscribe, index); }

static const struct browser_page_file me[] = {
    FILE_OF("index.html", me_index_html),
    FILE_OF("me.js", me_me_js),
    FILE_OF("requests.js", me_requests_js),
    FILE_OF("report.js", me_report_js),
    FILE_OF("device.js", me_device_js),
    FILE_OF("me-texts.js", me_me_texts_js),
    FILE_OF("style.css", subscribe_style_css),
    FILE_OF("icon.svg", subscribe_icon_svg),
    FILE_OF("signer.js", subscribe_signer_js),
    FILE_OF("remote.js", subscribe_remote_js),
    FILE_OF("nip44.js", subscribe_nip44_js),
    FILE_OF("secp256k1.js", subscribe_secp256k1_js),
    FILE_OF("storage.js", subscribe_storage_js),
    FILE_OF("texts.js", subscribe_texts_js),
    FILE_OF("notes.js", subscribe_notes_js),
    FILE_OF("dom.js", shared_dom_js),
    FILE_OF("sentence-texts.js", shared_sentence_texts_js),
    FILE_OF("sentences.js", shared_sentences_js),
    FILE_OF("words.js", shared_words_js),
    FILE_OF("key.js", shared_key_js),
    FILE_OF("acting.js", shared_acting_js),
};

const struct browser_page_file *me_page_file(size_t index) { return FILE_AT(me, index); }

static const struct browser_page_file console[] = {
    FILE_OF("access.js", console_access_js),
    FILE_OF("api.js", console_api_js),
    FILE_OF("console-texts.js", console_console_texts_js),
    FILE_OF("console.js", console_console_js),
    FILE_OF("devices.js", console_devices_js),
    FILE_OF("differences.js", console_differences_js),
    FILE_OF("listeners.js", console_listeners_js),
    FILE_OF("follow.js", console_follow_js),
    FILE_OF("icons.js", console_icons_js),
    FILE_OF("index.html", console_index_html),
    FILE_OF("now.js", console_now_js),
    FILE_OF("parts.js", console_parts_js),
    FILE_OF("playground.js", console_playground_js),
    FILE_OF("preview.js", console_preview_js),
    FILE_OF("sparkline.js", console_sparkline_js),
    FILE_OF("yesterday.js", console_yesterday_js),
    FILE_OF("style.css", console_style_css),
    FILE_OF("icon.svg", subscribe_icon_svg),
    FILE_OF("dom.js", shared_dom_js),
    FILE_OF("sentence-texts.js", shared_sentence_texts_js),
    FILE_OF("sentences.js", shared_sentences_js),
    FILE_OF("words.js", shared_words_js),
};

const struct browser_page_file *console_page_file(size_t index) { return FILE_AT(console, index); }
