#include "ccurl.h"

#include <openssl/ssl.h>
#include <string.h>

/* With another TLS library, libcurl's context is not OpenSSL's. */
static int uses_our_openssl(void) {
    const char *name = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return name != NULL && strncmp(name, "OpenSSL/3", 9) == 0 && OPENSSL_VERSION_MAJOR == 3;
}

struct ccurl_roots *ccurl_make_roots(const char *file) {
    if (!uses_our_openssl()) return NULL;
    CURL *easy = curl_easy_init();
    X509_STORE *store = X509_STORE_new();
    if (easy == NULL || store == NULL) {
        curl_easy_cleanup(easy);
        X509_STORE_free(store);
        return NULL;
    }
    /* The same as libcurl does for each connection, except for a CRL. */
    X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
    char *system_file = NULL, *system_path = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_CAINFO, &system_file) == CURLE_OK && system_file != NULL)
        (void)X509_STORE_load_file(store, system_file);
    if (curl_easy_getinfo(easy, CURLINFO_CAPATH, &system_path) == CURLE_OK && system_path != NULL)
        (void)X509_STORE_load_path(store, system_path);
    const int is_loaded = file == NULL || X509_STORE_load_file(store, file);
    curl_easy_cleanup(easy);
    if (is_loaded) return (struct ccurl_roots *)store;
    X509_STORE_free(store);
    return NULL;
}

void ccurl_free_roots(struct ccurl_roots *roots) { X509_STORE_free((X509_STORE *)roots); }

static CURLcode lend_roots(CURL *easy, void *context, void *roots) {
    (void)easy;
    SSL_CTX_set1_cert_store(context, roots);
    /* An idle connection keeps no buffers. */
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return CURLE_OK;
}

CURLcode ccurl_set_roots(CURL *easy, struct ccurl_roots *roots) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, lend_roots);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, roots);
    /* No file is read for a connection. */
    const CURLoption files[] = {CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH};
    for (size_t i = 0; code == CURLE_OK && i < sizeof files / sizeof *files; i++)
        code = curl_easy_setopt(easy, files[i], NULL);
    return code;
}
