// SPDX-License-Identifier: Apache-2.0

/// The files of a new plugin in C, which needs only the headers.
struct CTemplate {
    let name: PluginName
    let origin: CommandOrigin
    /// The flags from ``CommandOrigin/headerFlags``.
    let headerFlags: String

    var files: [Scaffold.File] {
        [
            Scaffold.File(path: "\(name.scheme).c", text: source),
            Template.manifest(name, description: "\(name.scheme)://NAME greets NAME."),
            Scaffold.File(path: "Makefile", text: makefile),
            Template.testScript(
                """
                yields \(name.scheme)://world 'Hello, world!'
                yields \(name.scheme)://a%20b 'Hello, a b!'
                fails \(name.scheme): 3
                fails \(name.scheme)://a%zz 3

                """),
            Scaffold.File(path: "README.md", text: readme),
        ]
    }

    private var makefile: String {
        """
        # make: builds \(name.scheme).so beside its manifest.  make test: loads URLs through it.
        CC = cc
        CFLAGS ?= -O2 -g
        WARNINGS ?= -Wall -Wextra -Wpedantic
        # The linker refuses functions that no library has. Leave this out for a sanitizer, whose functions are in the program.
        LDFLAGS ?= -Wl,-z,defs
        # Libraries that the plugin calls, such as -lz.
        LDLIBS ?=
        # The folder of the headers, and the command that the test runs.
        PORTOLAN_CFLAGS ?= \(headerFlags)
        PORTOLAN ?= \(origin.command)

        \(name.scheme).so: \(name.scheme).c Makefile
        \t$(CC) -std=gnu11 $(CFLAGS) $(WARNINGS) -shared -fPIC -fvisibility=hidden $(LDFLAGS) $(PORTOLAN_CFLAGS) \(name.scheme).c -o $@ $(LDLIBS)

        \(Template.testRule(prerequisite: "\(name.scheme).so"))

        clean:
        \trm -f \(name.scheme).so

        .PHONY: test clean

        """
    }

    private var readme: String {
        """
        # \(name.title)

        A Portolan plugin in C: `\(name.scheme)://NAME` greets NAME.

            make            # builds \(name.scheme).so
            make test       # loads URLs through it

        It needs a C compiler and Portolan's headers, and links no library.

        \(Template.readmeEnd(name, files: "\(name.scheme).so \(Template.manifestName(name))"))
        In `\(name.scheme).c`, `make_load` checks the request and refuses one that can't be served. `run_load` serves the request on its own thread, and may
        wait there. If it waits in a system call (`recv`, `accept`), give the load table a `stop` that interrupts the call. The headers describe each
        function.

        """
    }

    private var source: String {
        #"""
        /* \#(name.scheme)://NAME greets NAME. The headers describe the functions, and the threads on which they are called. */
        #include <portolan/helpers.h>
        #include <portolan/portolan.h>
        #include <stdlib.h>
        #include <string.h>

        /* One load. The client and the request stay valid until the load is destroyed. */
        typedef struct greeting {
            portolan_client *client;
            const portolan_request *request;
            size_t name_length;
            char name[256];
        } greeting;

        /* The message is one line that says what is wrong, and how to correct it. The host copies it. */
        static void *refuse(portolan_refusal *refusal, portolan_code code, const char *message) {
            portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
            refusal->give(refusal, &error);
            return NULL;
        }

        /* Checks the request, and refuses one that can't be served. Any thread calls this: return within 50 ms, and do not call the client yet. */
        static void *make_load(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                               portolan_refusal *refusal) {
            (void)plugin;
            (void)cached;
            greeting *load = calloc(1, sizeof *load);
            if (!load) return refuse(refusal, PORTOLAN_ERROR_NO_MEMORY, "\#(name.scheme): no memory for a load");
            /* The parts of a URL are percent-encoded. Decode each part once. */
            int64_t length = portolan_decode(request->host, load->name, sizeof load->name);
            const char *problem = length < 0                           ? "\#(name.scheme): the name has malformed percent-encoding"
                                  : length == 0                        ? "\#(name.scheme): no name is given; write \#(name.scheme)://world"
                                  : (size_t)length >= sizeof load->name ? "\#(name.scheme): the name is longer than 255 bytes"
                                                                       : NULL;
            if (problem) {
                free(load);
                return refuse(refusal, PORTOLAN_ERROR_BAD_URL, problem);
            }
            load->client = client;
            load->request = request;
            load->name_length = (size_t)length;
            return load;
        }

        /* Serves the request on its own thread. Client calls wait while the reader is slow. After PORTOLAN_STOPPED the load is stopped:
         * return, and call nothing more. */
        static void run_load(void *state) {
            greeting *load = state;
            portolan_client *client = load->client;
            static const char before[] = "Hello, ", after[] = "!\n";
            char text[sizeof before + sizeof load->name + sizeof after];
            size_t length = 0;
            memcpy(text, before, sizeof before - 1);
            length += sizeof before - 1;
            memcpy(text + length, load->name, load->name_length);
            length += load->name_length;
            memcpy(text + length, after, sizeof after - 1);
            length += sizeof after - 1;

            portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"),
                                           .text_encoding = PORTOLAN_TEXT("utf-8"), .expected_length = (int64_t)length, .has_length = 1 };
            if (client->did_receive_response(client, &response) == PORTOLAN_STOPPED) return;
            int32_t wants_body = !portolan_equal(load->request->method, PORTOLAN_STRING("HEAD"));
            if (wants_body && client->did_load(client, text, length) == PORTOLAN_STOPPED) return;
            client->did_finish(client);
        }

        static const portolan_load_table loads = { .size = sizeof loads, .run = run_load, .destroy = free };
        static const portolan_string schemes[] = { PORTOLAN_TEXT("\#(name.scheme)") };
        static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("\#(name.identifier)"),
                                                  .schemes = schemes, .scheme_count = 1, .make = make_load, .loads = &loads };
        static const portolan_handler *const handlers[] = { &handler };
        static const portolan_plugin descriptor = {
            .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
            .identifier = PORTOLAN_TEXT("\#(name.identifier)"), .name = PORTOLAN_TEXT("\#(name.title)"),
            .vendor = PORTOLAN_TEXT("Example"), .version = PORTOLAN_TEXT("0.1.0"), .handlers = handlers, .handler_count = 1 };

        /* The one symbol that the library exports. */
        const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }

        """#
    }
}
