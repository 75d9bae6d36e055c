// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Testing

    @testable import PortolanCLI

    /// `--cache` in a command line.
    @Suite struct CacheArgumentTests {
        @Test(arguments: [
            (["get", "--cache", "http://h/"], ["get", "--cache", "", "http://h/"]),
            (["get", "--cache=", "http://h/"], ["get", "--cache", "", "http://h/"]),
            (["get", "--cache=f", "x:"], ["get", "--cache=f", "x:"]),
            (["get", "x:", "--", "--cache"], ["get", "x:", "--", "--cache"]), (["stdio", "--cache"], ["stdio", "--cache", ""]),
            (["cache", "list", "--cache"], ["cache", "list", "--cache", ""]), (["check", "--cache"], ["check", "--cache"]), ([], []),
            (["help", "get", "--cache"], ["help", "get", "--cache"]),
        ])
        func optionWithoutValueGetsAnEmptyOne(arguments: [String], completed: [String]) {
            #expect(CacheArgument(in: arguments).arguments == completed)
        }

        /// The argument after an option with a value is that value.
        @Test(arguments: [
            (["-o", "--cache"], true), (["--output", "--cache"], true), (["-so", "--cache"], true), (["-d", "--cache"], true),
            (["-H", "--cache"], true), (["--trace", "--cache"], true), (["-o", "--", "--cache"], true), (["-o", "--cache="], true),
            (["-ofile", "--cache"], false), (["--output=file", "--cache"], false), (["-s", "--cache"], false), (["-sv", "--cache"], false),
            (["-", "--cache"], false), (["-X-o", "--cache"], false), (["--cache=x", "--cache"], false), (["-o", "-o", "--cache"], false),
        ])
        func valueOfAnotherOptionStays(arguments: [String], isValue: Bool) {
            let completed = CacheArgument(in: ["get"] + arguments + ["x:"]).arguments
            let expected = isValue ? arguments : arguments.dropLast() + ["--cache", ""]
            #expect(completed == ["get"] + expected + ["x:"], "\(completed)")
        }

        @Test(
            arguments: [
                (["get", "--cache", "example.org"], nil), (["get", "--cache", "./f", "http://h/"], "./f"),
                (["get", "--cache", "~/f", "u"], "~/f"), (["get", "http://h/", "--cache", "/tmp/f"], "/tmp/f"),
                (["stdio", "--cache", "folder"], "folder"), (["cache", "show", "--cache", "my folder", "http://h/"], "my folder"),
                (["get", "--cache", "http://h/"], nil), (["get", "--cache", "data:,x"], nil), (["get", "--cache", "-v", "folder"], nil),
                (["get", "--cache=", "folder"], nil), (["get", "--cache=f", "folder"], nil), (["get", "-o", "--cache", "folder"], nil),
                (["get", "x:", "--cache"], nil), (["get", "--", "--cache", "folder"], nil), (["check", "--cache", "folder"], nil),
            ] as [([String], String?)])
        func folderInTheNextArgumentIsAnError(arguments: [String], folder: String?) {
            let argument = CacheArgument(in: arguments)
            #expect(argument.misplacedFolder == folder)
            #expect(argument.problem?.contains("write '--cache=\(folder ?? "")'") == (folder == nil ? nil : true))
        }
    }
#endif
