/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl. Swift does not call variadic functions like curl_easy_setopt, so there is one function for each type of
 * option. */
#ifndef BENCH_CURL_H
#define BENCH_CURL_H

#include <curl/curl.h>

typedef size_t (*bench_curl_write)(char *bytes, size_t item_size, size_t item_count, void *context);

static inline CURLcode bench_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode bench_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode bench_curl_set_writer(CURL *handle, bench_curl_write writer, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, writer);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}
/* libcurl writes to the file itself, by fwrite(3). */
static inline CURLcode bench_curl_set_file(CURL *handle, void *file) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, (bench_curl_write)NULL);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_WRITEDATA, file);
}

static inline CURLMcode bench_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
/* The callbacks for a caller that watches the sockets and the time itself. */
static inline CURLMcode bench_curl_multi_set_callbacks(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

#endif
