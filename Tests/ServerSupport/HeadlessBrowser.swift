// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// Opens pages in headless Chromium (Debian's package `chromium`, which `make test` installs).
package struct HeadlessBrowser {
    package struct Page {
        /// The document as HTML, after it was loaded.
        package let document: String
        /// What the page, or the browser about it, wrote to the console: errors, warnings and messages.
        package let consoleLines: [String]

        /// The values of an attribute of all elements, in order, as the document has them.
        package func values(of attribute: String) -> [String] {
            document.components(separatedBy: " \(attribute)=\"").dropFirst().map { $0.components(separatedBy: "\"")[0] }
        }

        /// The links within the page that lead to no element.
        package var brokenLinks: [String] {
            let places = Set(values(of: "id"))
            return values(of: "href").filter { $0.hasPrefix("#") && !places.contains(String($0.dropFirst())) }
        }
    }

    private let folder: URL

    /// - Parameter folder: An existing folder for the browser's files.
    package init(in folder: URL) { self.folder = folder }

    /// - Throws: If there is no Chromium, or if it does not show the page within a minute.
    package func open(_ file: URL) throws -> Page {
        let files = folder.appendingPathComponent("chromium-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: files) }
        let (output, errors) = (files.appendingPathComponent("out"), files.appendingPathComponent("err"))
        for place in [output, errors] { try Data().write(to: place) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        // The tests may run as root, for whom Chromium has no sandbox. The pages are the project's own.
        process.arguments = [
            "--kill-after=5", "60", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--enable-logging=stderr", "--user-data-dir=\(files.path)/profile", "--dump-dom", file.absoluteString,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        let lines = String(decoding: try Data(contentsOf: errors), as: UTF8.self).components(separatedBy: "\n")
        guard process.terminationStatus == 0 else {
            throw ServerError(
                "chromium ended with status \(process.terminationStatus) (run scripts/packages.sh test): \(lines.suffix(5).joined(separator: " / "))"
            )
        }
        let document = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        return Page(document: document, consoleLines: lines.filter { $0.contains(":CONSOLE") })
    }
}
