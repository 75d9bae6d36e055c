// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// `plugins watch` and checks open a copy of a library. The copy finds the files beside the original, and nothing is
/// written there.
@Suite(.blocking, .timeLimit(.minutes(10)), .enabled(if: !Program.isSanitized, "the libraries are built without AddressSanitizer"))
struct CopiedLibraryTests {
    private let program: Program

    /// `all/near/near.so` needs a library in its own folder and a library in `all/lib`. Its load reads a file in its
    /// own folder.
    /// Its response body contains the texts of all three.
    init() throws {
        program = try Program()
        try program.makeFile("near.c", Self.source)
        try program.makeFile("all/near/beside.txt", "beside ")
        try program.makeFile(
            "all/near/near.plugin.json",
            """
            {"identifier": "org.portolan.near", "name": "N", "vendor": "V", "version": "1.0.0", "library": "near.so", "schemes": ["near"],
             "conformance": {"loads": [{"url": "near://x", "length": 13}]}}
            """)
        let headers = PluginConformanceTests.root.appendingPathComponent("Sources/CPortolan/include").path
        let compilation = try program.runScript(
            """
            set -e; mkdir all/lib tmp
            echo 'const char *dep(void) { return "dep "; }' | cc -shared -fPIC -x c - -o all/near/libdep.so
            echo 'const char *up(void) { return "up "; }' | cc -shared -fPIC -x c - -o all/lib/libup.so
            cc -D_GNU_SOURCE -shared -fPIC -I '\(headers)' near.c -o all/near/near.so -Lall/near -Lall/lib -ldep -lup \\
                -Wl,-rpath,'$ORIGIN:$ORIGIN/../lib'
            """)
        #expect(compilation.status == 0, "\(compilation.errors)")
    }

    @Test func watchedPluginFindsTheFilesBesideAndAboveIt() throws {
        let outcome = try program.runScript(
            """
            chmod a-w all/near all/lib; before=$(stat -c '%y %z' all/near)
            TMPDIR=$PWD/tmp $portolan plugins watch all/near near://x --changes 0
            [ "$before" = "$(stat -c '%y %z' all/near)" ] && echo same; ls -A tmp; chmod u+w all/near all/lib
            """)
        #expect(outcome.lines.count == 4, "\(outcome.lines)")
        #expect(outcome.lines.dropFirst(2) == ["    dep up beside ", "same"], "\(outcome.lines) \(outcome.errors)")
    }

    @Test func checksFindTheFilesBesideAndAboveIt() throws {
        let outcome = try program.run("check", "all/near", "--filter", "DESC-13,UNLOAD-02", "--verbose")
        #expect(outcome.lines.last == "org.portolan.near: 2 checks: 2 passed", "\(outcome.text)")
    }

    /// dlopen(3) opens no library in a folder that is mounted with noexec.
    @Test(.enabled(if: Program.canMount))
    func anotherFolderIsUsedIfTMPDIRIsMountedNoexec() throws {
        let outcome = try program.runScript(
            """
            mkdir all/mounted
            unshare --mount sh -c 'mount -t tmpfs -o noexec none all/mounted && TMPDIR=$PWD/all/mounted \
                exec '$portolan' check all/near --filter DESC-13,UNLOAD-02'
            """)
        #expect(outcome.lines.last == "org.portolan.near: 2 checks: 2 passed", "\(outcome.text) \(outcome.errors)")
    }

    private static let source = """
        #include <dlfcn.h>
        #include <portolan/helpers.h>
        #include <portolan/portolan.h>
        #include <stdio.h>
        #include <string.h>

        extern const char *dep(void), *up(void);
        static void run(void *load) {
            portolan_client *client = load;
            portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = -1 };
            client->did_receive_response(client, &response);
            Dl_info information;
            char path[4096] = "", text[64] = "";
            if (dladdr((void *)run, &information)) snprintf(path, sizeof path, "%s", information.dli_fname);
            if (strrchr(path, '/')) strcpy(strrchr(path, '/'), "/beside.txt");
            FILE *file = fopen(path, "r");
            if (file && !fgets(text, sizeof text, file)) text[0] = 0;
            if (file) fclose(file);
            client->did_load(client, dep(), strlen(dep()));
            client->did_load(client, up(), strlen(up()));
            if (text[0]) client->did_load(client, text, strlen(text));
            client->did_finish(client);
        }
        static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                          portolan_refusal *refusal) {
            (void)plugin, (void)request, (void)cached, (void)refusal;
            return client;
        }
        static void destroy(void *load) { (void)load; }
        static const portolan_string schemes[] = { PORTOLAN_TEXT("near") };
        static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = destroy };
        static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.near"),
                                                  .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
        static const portolan_handler *const handlers[] = { &handler };
        static const portolan_plugin descriptor = { .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
            .identifier = PORTOLAN_TEXT("org.portolan.near"), .name = PORTOLAN_TEXT("Near"),
            .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1 };
        PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t major) { return major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
        """
}
