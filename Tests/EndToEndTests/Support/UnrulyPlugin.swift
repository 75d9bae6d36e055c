// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A plugin that follows the contract but behaves badly. Tests check how the program handles its loads.
///
/// `unruly://cancelled` fails as if it had been cancelled. `unruly://unasked` fails as if its challenge had been
/// cancelled. `unruly://loop` redirects to itself. `unruly://abort` ends the process. `unruly://hang` never ends, and
/// its `stop` never returns.
enum UnrulyPlugin {
    /// Compiles the plugin in the program's folder.
    ///
    /// - Parameter hangingCall: a call that never returns: `entry`, `init` or `deinit`.
    /// - Returns: the library's path in that folder, starting with `./`.
    static func make(in program: Program, hangingCall: String = "none") throws -> String {
        try program.makeFile("unruly.c", source)
        let headers = PluginConformanceTests.root.appendingPathComponent("Sources/CPortolan/include").path
        let outcome = try program.runScript("cc -shared -fPIC -DHANG_\(hangingCall)=1 -I '\(headers)' unruly.c -o unruly.so")
        guard outcome.status == 0 else { throw CompilationFailure(errors: outcome.errors) }
        return "./unruly.so"
    }

    private struct CompilationFailure: Error { let errors: [String] }

    private static let source = """
        #include <portolan/helpers.h>
        #include <portolan/portolan.h>
        #include <stdlib.h>
        #include <unistd.h>

        #ifndef HANG_entry
        #define HANG_entry 0
        #endif
        #ifndef HANG_init
        #define HANG_init 0
        #endif
        #ifndef HANG_deinit
        #define HANG_deinit 0
        #endif

        typedef struct unruly { const portolan_request *request; portolan_client *client; } unruly;

        static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                          portolan_refusal *refusal) {
            unruly *load = calloc(1, sizeof *load);
            (void)plugin, (void)cached, (void)refusal;
            if (load) *load = (unruly){ request, client };
            return load;
        }
        static void run(void *context) {
            unruly *load = context;
            portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = -1 };
            portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_CANCELLED, .message = PORTOLAN_TEXT("not today") };
            if (portolan_equal(load->request->host, PORTOLAN_STRING("cancelled"))) return load->client->did_fail(load->client, &error);
            portolan_change again = { .size = sizeof again, .url = PORTOLAN_TEXT("unruly://loop") };
            if (portolan_equal(load->request->host, PORTOLAN_STRING("loop"))) {
                load->client->was_redirected(load->client, &again, NULL);
                return;
            }
            if (portolan_equal(load->request->host, PORTOLAN_STRING("abort"))) abort();
            error.code = PORTOLAN_ERROR_AUTHENTICATION_CANCELLED;
            if (portolan_equal(load->request->host, PORTOLAN_STRING("unasked"))) return load->client->did_fail(load->client, &error);
            load->client->did_receive_response(load->client, &response);
            write(2, "waits\\n", 6);
            for (;;) pause();
        }
        static void stop(void *load) { (void)load; for (;;) pause(); }

        static const portolan_string schemes[] = { PORTOLAN_TEXT("unruly") };
        static const portolan_load_table loads = { .size = sizeof loads, .run = run, .stop = stop, .destroy = free };
        static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.unruly"),
                                                  .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
        static const portolan_handler *const handlers[] = { &handler };
        static void hang(int hangs) { while (hangs) pause(); }
        static void *init(portolan_host *host, portolan_refusal *refusal) {
            (void)host, (void)refusal;
            hang(HANG_init);
            return NULL;
        }
        static void end(void *plugin) { (void)plugin; hang(HANG_deinit); }
        static const portolan_plugin descriptor = { .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
            .identifier = PORTOLAN_TEXT("org.portolan.unruly"), .name = PORTOLAN_TEXT("Unruly"),
            .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1,
            .init = init, .deinit = end };
        const portolan_plugin *portolan_plugin_entry(uint32_t major) {
            hang(HANG_entry);
            return major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL;
        }
        """
}
