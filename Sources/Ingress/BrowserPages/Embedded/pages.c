#include "CBrowserPages.h"

// In C, because the compiler of Swift takes half a minute for the same bytes as a literal.

#pragma clang diagnostic ignored "-Wc23-extensions"
#define FILE_OF(name, bytes) { name, bytes, sizeof bytes }

static const unsigned char index_html[] = {
#embed "../Subscribe/index.html"
};

static const unsigned char style_css[] = {
#embed "../Subscribe/style.css"
};

static const unsigned char page_js[] = {
#embed "../Subscribe/page.js"
};

static const unsigned char qr_js[] = {
#embed "../Subscribe/qr.js"
};

static const unsigned char router_js[] = {
#embed "../Subscribe/router.js"
};

static const unsigned char signer_js[] = {
#embed "../Subscribe/signer.js"
};

static const unsigned char ways_js[] = {
#embed "../Subscribe/ways.js"
};

static const unsigned char nip44_js[] = {
#embed "../Subscribe/nip44.js"
};

static const unsigned char remote_js[] = {
#embed "../Subscribe/remote.js"
};

static const unsigned char secp256k1_js[] = {
#embed "../Subscribe/secp256k1.js"
};

static const unsigned char texts_js[] = {
#embed "../Subscribe/texts.js"
};

static const unsigned char storage_js[] = {
#embed "../Subscribe/storage.js"
};

static const unsigned char notes_js[] = {
#embed "../Subscribe/notes.js"
};

static const unsigned char worker_js[] = {
#embed "../Subscribe/worker.js"
};

static const unsigned char manifest_webmanifest[] = {
#embed "../Subscribe/manifest.webmanifest"
};

static const unsigned char icon_svg[] = {
#embed "../Subscribe/icon.svg"
};

static const unsigned char icon_png[] = {
#embed "../Subscribe/icon.png"
};

static const struct browser_page_file files[] = {
    FILE_OF("index.html", index_html),
    FILE_OF("style.css", style_css),
    FILE_OF("page.js", page_js),
    FILE_OF("qr.js", qr_js),
    FILE_OF("router.js", router_js),
    FILE_OF("signer.js", signer_js),
    FILE_OF("ways.js", ways_js),
    FILE_OF("nip44.js", nip44_js),
    FILE_OF("remote.js", remote_js),
    FILE_OF("secp256k1.js", secp256k1_js),
    FILE_OF("texts.js", texts_js),
    FILE_OF("storage.js", storage_js),
    FILE_OF("notes.js", notes_js),
    FILE_OF("worker.js", worker_js),
    FILE_OF("manifest.webmanifest", manifest_webmanifest),
    FILE_OF("icon.svg", icon_svg),
    FILE_OF("icon.png", icon_png),
};

const struct browser_page_file *subscribe_page_file(size_t index) {
    return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
