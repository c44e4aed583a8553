#define _GNU_SOURCE
#include "ccurl.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87 or newer is needed (CURLOPT_PROTOCOLS_STR, CURLOPT_QUICK_EXIT)"
#endif

curl_socket_t ccurl_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

long ccurl_response_code(CURL *easy) {
    long code = 0;
    return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code) == CURLE_OK ? code : 0;
}

int ccurl_may_have_sent(CURL *easy) {
    curl_off_t microseconds = 0;
    if (curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &microseconds) != CURLE_OK) return 1;
    return microseconds > 0;
}

enum ccurl_certificate_flaw ccurl_certificate_flaw(CURL *easy) {
    /* OpenSSL's X509_V_ERR_... values. libcurl compares names itself, after OpenSSL accepted the rest, and keeps its initial
     * value (7.88: unspecified). */
    enum { ok = 0, unspecified = 1, not_yet_valid = 9, has_expired = 10, hostname_mismatch = 62, address_mismatch = 64 };
    long flaw = ok;
    if (curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &flaw) != CURLE_OK) return CCURL_CERTIFICATE_UNTRUSTED;
    switch (flaw) {
    case ok:
    case unspecified:
    case hostname_mismatch:
    case address_mismatch: return CCURL_CERTIFICATE_FOR_OTHER_NAMES;
    case not_yet_valid:
    case has_expired: return CCURL_CERTIFICATE_EXPIRED;
    default: return CCURL_CERTIFICATE_UNTRUSTED;
    }
}

long ccurl_http_version(CURL *easy) {
    long version = 0;
    return curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version) == CURLE_OK ? version : 0;
}

static int port_of(const struct sockaddr_storage *address) {
    switch (address->ss_family) {
    case AF_INET: return ntohs(((const struct sockaddr_in *)address)->sin_port);
    case AF_INET6: return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    default: return 0;
    }
}

int ccurl_is_between(curl_socket_t socket, int remote_port, int local_port) {
    struct sockaddr_storage local, remote;
    socklen_t local_size = sizeof local, remote_size = sizeof remote;
    return getsockname(socket, (struct sockaddr *)&local, &local_size) == 0 && port_of(&local) == local_port
        && getpeername(socket, (struct sockaddr *)&remote, &remote_size) == 0 && port_of(&remote) == remote_port;
}

int ccurl_has_input(curl_socket_t socket) {
    struct pollfd poll_socket = {.fd = socket, .events = POLLIN};
    return poll(&poll_socket, 1, 0) > 0;
}

uint64_t ccurl_received(curl_socket_t socket) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

const char *ccurl_default_ca_path(CURL *easy) {
    char *path = NULL;
    return curl_easy_getinfo(easy, CURLINFO_CAPATH, &path) == CURLE_OK ? path : NULL;
}

CURL *ccurl_next_finished(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
