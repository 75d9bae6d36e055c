// SPDX-License-Identifier: Apache-2.0

/// The files of a new plugin in C++, which needs only the headers.
struct CPPTemplate {
    let name: PluginName
    let origin: CommandOrigin
    /// The flags from ``CommandOrigin/headerFlags``.
    let headerFlags: String

    /// The name of the handler class. It begins with an upper-case letter, so it is no word of C++.
    private var handler: String { "\(name.title)Handler" }

    var files: [Scaffold.File] {
        [
            Scaffold.File(path: "\(name.scheme).cpp", text: source),
            Template.exports,
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
        CXX = c++
        CXXFLAGS ?= -O2 -g
        WARNINGS ?= -Wall -Wextra -Wpedantic
        # The linker refuses functions that no library has. Leave this out for a sanitizer, whose functions are in the program.
        LDFLAGS ?= -Wl,-z,defs
        # Libraries that the plugin calls, such as -lz.
        LDLIBS ?=
        # The folder of the headers, and the command that the test runs.
        PORTOLAN_CFLAGS ?= \(headerFlags)
        PORTOLAN ?= \(origin.command)

        # Without exports.map, the library would also export templates of the standard library.
        \(name.scheme).so: \(name.scheme).cpp exports.map Makefile
        \t$(CXX) -std=c++17 $(CXXFLAGS) $(WARNINGS) -shared -fPIC -fvisibility=hidden -Wl,--version-script=exports.map $(LDFLAGS) $(PORTOLAN_CFLAGS) \(name.scheme).cpp -o $@ $(LDLIBS)

        \(Template.testRule(prerequisite: "\(name.scheme).so"))

        clean:
        \trm -f \(name.scheme).so

        .PHONY: test clean

        """
    }

    private var readme: String {
        """
        # \(name.title)

        A Portolan plugin in C++: `\(name.scheme)://NAME` greets NAME.

            make            # builds \(name.scheme).so
            make test       # loads URLs through it

        It needs a compiler for C++17 and Portolan's headers, and links only the standard library.

        \(Template.readmeEnd(name, files: "\(name.scheme).so \(Template.manifestName(name))"))
        In `\(name.scheme).cpp`, `load` serves one request on its own thread, and may wait there. If it waits in a system call (`recv`, `accept`), a
        `portolan::Interrupt` ends the call after a stop. `portolan/portolan.hpp` describes the classes.

        """
    }

    private var source: String {
        #"""
        // \#(name.scheme)://NAME greets NAME. portolan.hpp describes the classes.
        #include <portolan/portolan.hpp>

        #include <string>

        namespace {

        /// To read settings, declare a constructor with a portolan::Host &. It throws if they are wrong.
        class \#(handler) final : public portolan::Handler {
          public:
            /// Serves one load, on its own thread. Other threads serve other loads at the same time. Returning finishes the load, and
            /// throwing fails it. Client calls wait while the reader is slow. After a stop they throw: let that pass.
            void load(const portolan::Request &request, portolan::Client &client) override {
                // The parts of a URL are percent-encoded. For the path of a file, use portolan::join.
                const std::string name = request.decoded_host();
                if (name.empty())
                    throw portolan::Error(PORTOLAN_ERROR_BAD_URL, "\#(name.scheme): no name is given; write \#(name.scheme)://world");
                const std::string text = "Hello, " + name + "!\n";

                portolan::Response response;
                response.mime_type = "text/plain";
                response.text_encoding = "utf-8";
                response.expected_length = static_cast<std::int64_t>(text.size());
                client.did_receive(response);
                if (request.method() != "HEAD") client.did_load(text);
            }
        };

        } // namespace

        // The one symbol that the library exports. The texts are the same as in the manifest.
        PORTOLAN_PLUGIN(\#(handler), "\#(name.identifier)", "\#(name.title)", "Example", "0.1.0", "\#(name.scheme)")

        """#
    }
}
