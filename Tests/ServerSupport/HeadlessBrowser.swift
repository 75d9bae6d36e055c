// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// Opens pages in headless Chromium (Debian's package `chromium`, which `make test` installs).
package struct HeadlessBrowser {
    package struct Page {
        /// The HTML of the document after the browser has loaded it.
        package let document: String
        /// The errors, warnings and messages on the console, from the page and from the browser.
        package let consoleLines: [String]

        /// The values of an attribute of all elements, in document order. Character references are not decoded.
        package func values(of attribute: String) -> [String] {
            document.components(separatedBy: " \(attribute)=\"").dropFirst().map { $0.components(separatedBy: "\"")[0] }
        }

        /// The `#` links whose target does not exist.
        package var brokenLinks: [String] {
            let targets = Set(values(of: "id"))
            return values(of: "href").filter { $0.hasPrefix("#") && !targets.contains(String($0.dropFirst())) }
        }
    }

    private let folder: URL

    /// - Parameter folder: an existing folder for the browser's files.
    package init(in folder: URL) { self.folder = folder }

    /// - Throws: if Chromium is not installed, or if it does not load the page within a minute.
    package func open(_ file: URL) throws -> Page {
        let browserFolder = folder.appendingPathComponent("chromium-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: browserFolder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: browserFolder) }
        let (output, errorOutput) = (browserFolder.appendingPathComponent("out"), browserFolder.appendingPathComponent("err"))
        for file in [output, errorOutput] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        // Chromium has no sandbox for root, and the tests can run as root. The pages are trusted.
        process.arguments = [
            "--kill-after=5", "60", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--enable-logging=stderr", "--user-data-dir=\(browserFolder.path)/profile", "--dump-dom", file.absoluteString,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errorOutput)
        try process.run()
        process.waitUntilExit()
        let lines = String(decoding: try Data(contentsOf: errorOutput), as: UTF8.self).components(separatedBy: "\n")
        guard process.terminationStatus == 0 else {
            throw ServerError(
                "chromium ended with status \(process.terminationStatus) (run scripts/packages.sh test): \(lines.suffix(5).joined(separator: " / "))"
            )
        }
        let document = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        return Page(document: document, consoleLines: lines.filter { $0.contains(":CONSOLE") })
    }
}
