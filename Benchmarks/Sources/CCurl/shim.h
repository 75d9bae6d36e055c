/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl. curl_easy_setopt is variadic, which Swift does not call: here is one function for each type of option that is used. */
#ifndef BENCH_CURL_H
#define BENCH_CURL_H

#include <curl/curl.h>

typedef size_t (*bench_curl_write)(char *bytes, size_t one, size_t length, void *context);

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

#endif
