#ifndef CARILLON_CCURL_H
#define CARILLON_CCURL_H

/* libcurl's setopt and getinfo are variadic, which Swift cannot call: each wrapper fixes one argument type. */

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdint.h>

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}
/* libcurl copies the bytes. */
static inline CURLcode ccurl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}
/* The list must live as long as the transfer. */
static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(easy, option, list);
}

/* For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION. */
typedef size_t (*ccurl_bytes_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode ccurl_set_bytes_callback(CURL *easy, CURLoption option, ccurl_bytes_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}

typedef curl_socket_t (*ccurl_opensocket_callback)(
    void *context, curlsocktype purpose, struct curl_sockaddr *address);
static inline CURLcode ccurl_set_opensocket(CURL *easy, ccurl_opensocket_callback callback, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
}

typedef int (*ccurl_sockopt_callback)(void *context, curl_socket_t socket, curlsocktype purpose);
static inline CURLcode ccurl_set_sockopt(CURL *easy, ccurl_sockopt_callback callback, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
}

/* The address itself, which may be longer than the structure says. */
static inline const struct sockaddr *ccurl_address(const struct curl_sockaddr *address) {
    return &address->addr;
}

/* The socket that libcurl would open for the address. */
curl_socket_t ccurl_socket(const struct curl_sockaddr *address);

typedef int (*ccurl_prereq_callback)(
    void *context, char *primary_ip, char *local_ip, int primary_port, int local_port);
static inline CURLcode ccurl_set_prereq(CURL *easy, ccurl_prereq_callback callback, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/* Zero when libcurl cannot tell. */
long ccurl_response_code(CURL *easy);
/* True if the connection was established and the request was about to be sent, so that the server may have received it. */
int ccurl_may_have_sent(CURL *easy);
/* The reason why the server's certificate was refused. */
enum ccurl_certificate_flaw {
    CCURL_CERTIFICATE_FOR_OTHER_NAMES,
    CCURL_CERTIFICATE_UNTRUSTED,
    CCURL_CERTIFICATE_EXPIRED
};
/* Call it only after CURLE_PEER_FAILED_VERIFICATION. */
enum ccurl_certificate_flaw ccurl_certificate_flaw(CURL *easy);

/* CURL_HTTP_VERSION_... of the last response. */
long ccurl_http_version(CURL *easy);
/* Whether the socket is the one between these two ports. */
int ccurl_is_between(curl_socket_t socket, int remote_port, int local_port);
/* Whether the socket has input to be read, or its peer has closed it. */
int ccurl_has_input(curl_socket_t socket);
/* The number of bytes received on a TCP connection; zero if the system does not know. */
uint64_t ccurl_received(curl_socket_t socket);
/* Root certificates shared by many connections. libcurl would read them from disk for each connection, which takes a millisecond. */
struct ccurl_roots;
/* The system's roots that libcurl uses, and those of `file`, which may be NULL. Returns NULL if libcurl does not use OpenSSL 3,
 * or if the file cannot be read. */
struct ccurl_roots *ccurl_make_roots(const char *file);
void ccurl_free_roots(struct ccurl_roots *roots);
/* Makes a transfer trust only `roots`. They must outlive the start of its connection. */
CURLcode ccurl_set_roots(CURL *easy, struct ccurl_roots *roots);
/* The directory of hashed certificates that libcurl was built to use, or NULL. */
const char *ccurl_default_ca_path(CURL *easy);

/* The next finished transfer and its result, or NULL. */
CURL *ccurl_next_finished(CURLM *multi, CURLcode *result);

#endif
