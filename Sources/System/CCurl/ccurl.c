#define _GNU_SOURCE
#include "ccurl.h"

#include <sys/socket.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87 or newer is needed (CURLOPT_PROTOCOLS_STR, CURLOPT_QUICK_EXIT)"
#endif

curl_socket_t ccurl_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int ccurl_resolves_aside(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) != 0;
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
