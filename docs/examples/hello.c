/* SPDX-License-Identifier: Apache-2.0 */
/* hello://NAME greets NAME: a whole plugin.   cc -shared -fPIC -I Sources/CPortolan/include docs/examples/hello.c -o hello.so */
#include <portolan/portolan.h>
#include <stdlib.h>

typedef struct hello { portolan_client *client; portolan_string name; } hello;

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)plugin, (void)cached;
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL,
                             .message = PORTOLAN_TEXT("no name to greet: write hello://NAME") };
    hello *load = request->host.length > 0 ? malloc(sizeof *load) : NULL;
    if (request->host.length > 0 && !load) error.code = PORTOLAN_ERROR_NO_MEMORY, error.message = PORTOLAN_STRING("out of memory");
    if (!load) return refusal->give(refusal, &error), NULL;
    *load = (hello){ client, request->host }; /* both live as long as the load */
    return load;
}

static void run(void *plugin_load) {
    hello *load = plugin_load;
    portolan_client *client = load->client;
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"),
                                   .expected_length = (int64_t)load->name.length + 7 };
    if (client->did_receive_response(client, &response) == PORTOLAN_STOPPED) return;
    if (client->did_load(client, "Hello, ", 7) == PORTOLAN_STOPPED) return;
    if (client->did_load(client, load->name.bytes, load->name.length) == PORTOLAN_STOPPED) return;
    client->did_finish(client);
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("hello") };
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.example.hello"), .schemes = schemes,
                                          .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin plugin = { .size = sizeof plugin, .abi_major = PORTOLAN_ABI_MAJOR,
                                        .identifier = PORTOLAN_TEXT("org.example.hello"),
                                        .name = PORTOLAN_TEXT("Hello"), .vendor = PORTOLAN_TEXT("Example"),
                                        .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1 };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &plugin : NULL; }
