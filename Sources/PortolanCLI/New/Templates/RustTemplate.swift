// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

/// The files of a new plugin in Rust: a crate without dependencies, which contains a copy of the kit.
struct RustTemplate {
    let name: PluginName
    let origin: CommandOrigin
    /// The folder of the kit, from ``CommandOrigin/rustKit``.
    let kit: String

    /// The name of the handler type. It differs from the names of all types of the kit.
    private var handler: String { "\(name.title)SchemeHandler" }

    /// The files that differ between two plugins.
    var ownFiles: [Scaffold.File] {
        [
            Scaffold.File(path: "Cargo.toml", text: package),
            Scaffold.File(path: "src/lib.rs", text: source),
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

    /// The copy of the kit.
    ///
    /// - Throws: ``Failure`` if a file of the kit cannot be read.
    func kitFiles() throws(Failure) -> [Scaffold.File] {
        var files: [Scaffold.File] = []
        do throws(SystemError) {
            for fileName in try FileSystem.names(in: kit).sorted() where fileName.hasSuffix(".rs") {
                let file = try FileSystem.openForReading("\(kit)/\(fileName)")
                let bytes = try file.contents(atMost: Self.kitFileLimit, until: nil)
                try file.close()
                files.append(Scaffold.File(path: "src/portolan/\(fileName)", text: String(decoding: bytes ?? [], as: UTF8.self)))
            }
        } catch {
            throw Failure(.unreadable, "reading the kit for plugins in Rust in '\(kit)' failed: \(error)")
        }
        return files
    }

    private static let kitFileLimit = 1 << 20

    /// The crate's name has a suffix, because a scheme can be a keyword of Rust. The library has the same name in every
    /// crate.
    private var package: String {
        """
        [package]
        name = "\(name.scheme.map { "+.".contains($0) ? "-" : String($0) }.joined())-plugin"
        version = "0.1.0"
        edition = "2021"
        rust-version = "1.63"
        publish = false

        [lib]
        name = "plugin"
        crate-type = ["cdylib"]

        [profile.release]
        # A panic fails the load. It must not end the program that has loaded the plugin.
        panic = "unwind"
        # The names of functions stay, so that a stack trace has them.
        strip = "debuginfo"

        """
    }

    private var source: String {
        #"""
        //! `\#(name.scheme)://NAME` greets NAME.
        #![deny(unsafe_code)]

        mod portolan;

        use portolan::{Client, Code, Error, Handler, Host, Outcome, Request, Response};

        /// An instance of the plugin. Its loads run at the same time.
        struct \#(handler);

        impl Handler for \#(handler) {
            /// Reads the settings, and returns an error if they are wrong: `host.setting::<i64>("name")?`.
            fn new(_host: &Host) -> Result<Self, Error> {
                Ok(\#(handler))
            }

            /// Serves one load, and may wait. `Ok` finishes the load, and an error fails it. `?` also passes on that the load was stopped.
            fn load(&self, request: &Request, client: &Client) -> Outcome {
                // The parts of a URL are percent-encoded. Decode each part once.
                let name = portolan::percent_decode(request.host().unwrap_or(""))?;
                if name.is_empty() {
                    return Err(Error::new(Code::BAD_URL, "\#(name.scheme): no name is given; write \#(name.scheme)://world"));
                }
                let text = format!("Hello, {name}!\n");
                client.did_receive(&Response {
                    mime_type: Some("text/plain"),
                    text_encoding: Some("utf-8"),
                    expected_length: Some(text.len() as u64),
                    ..Response::new()
                })?;
                if !request.is_head() {
                    client.did_load(&text)?;
                }
                Ok(())
            }
        }

        // The one symbol that the library exports. The texts are the same as in the manifest.
        portolan::export!(\#(handler) {
            identifier: "\#(name.identifier)",
            name: "\#(name.title)",
            vendor: "Example",
            version: "0.1.0",
            schemes: ["\#(name.scheme)"],
        });

        """#
    }

    private var makefile: String {
        #"""
        # make: builds \#(name.scheme).so beside its manifest.  make test: loads URLs through it.
        # Cargo, if it is installed; otherwise the compiler. For the compiler alone: make CARGO=
        CARGO ?= $(shell command -v cargo 2>/dev/null)
        RUSTC ?= rustc
        # The command that the test runs.
        PORTOLAN ?= \#(origin.command)

        ifeq ($(CARGO),)
        BUILD = $(RUSTC) --edition 2021 --crate-name plugin --crate-type cdylib -C opt-level=3 -C strip=debuginfo \
        \#tsrc/lib.rs -o .build/release/libplugin.so
        else
        BUILD = "$(CARGO)" build --quiet --release --target-dir .build
        endif

        # The library is copied, and then renamed: a program that has opened the old library keeps its bytes.
        \#(name.scheme).so: $(wildcard src/*.rs src/*/*.rs) Cargo.toml Makefile
        \#tmkdir -p .build/release
        \#t$(BUILD)
        \#tcp .build/release/libplugin.so .$@.new
        \#tmv .$@.new $@

        \#(Template.testRule(prerequisite: "\(name.scheme).so"))

        clean:
        \#trm -rf .build \#(name.scheme).so

        .PHONY: test clean

        """#
    }

    private var readme: String {
        """
        # \(name.title)

        A Portolan plugin in Rust: `\(name.scheme)://NAME` greets NAME.

            make            # builds \(name.scheme).so, with cargo or with rustc alone
            make test       # loads URLs through it

        It needs Rust 1.63 or later, such as Debian's package `rustc`, and no crate.

        \(Template.readmeEnd(name, files: "\(name.scheme).so \(Template.manifestName(name))"))
        In `src/lib.rs`, `load` is one function on its own thread, and may wait there. If it waits in a system call, such as a read from a socket, it calls
        `client.interruptible`. `src/portolan` is a copy of the plugin kit. Its comments describe each function. To renew it, copy the files of
        `\(kit)` into it.

        """
    }
}
