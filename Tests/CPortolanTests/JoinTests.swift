// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Testing

@Suite struct JoinTests {
    private func join(_ root: String, _ path: String?, capacity: Int = 64) -> FillResult {
        unsafe withString(root) { root in
            unsafe withString(path.map { Array($0.utf8) }) { path in
                unsafe fill(capacity: capacity) { unsafe portolan_join(root, path, $0, $1) }
            }
        }
    }

    @Test(arguments: [
        ("/srv", "a", "/srv/a"), ("/srv", "/a/b", "/srv/a/b"), ("/srv/", "a", "/srv/a"), ("/srv///", "a", "/srv/a"), ("/", "a", "/a"),
        ("srv", "a", "srv/a"), ("/srv", "", "/srv"), ("/", "", "/"), ("//", "", "/"), ("/srv", "/", "/srv"), ("/srv", "a/", "/srv/a"),
        ("/srv", "//etc//passwd", "/srv/etc/passwd"), ("/srv", "/./a/./b/.", "/srv/a/b"), ("/srv", ".", "/srv"),
        ("/srv", "%2e/a", "/srv/a"),
        ("/srv", "...", "/srv/..."), ("/srv", ".a", "/srv/.a"), ("/srv", "..a", "/srv/..a"), ("/srv", "a..", "/srv/a.."),
        ("/srv", "a.b", "/srv/a.b"),
        ("/srv", "a%2Fb", "/srv/a/b"), ("/srv", "%2Fetc", "/srv/etc"), ("/srv", "a%20b", "/srv/a b"), ("/s%20v", "a", "/s%20v/a"),
        ("/srv", "%252e%252e/a", "/srv/%2e%2e/a"), ("/srv", "%252Fa", "/srv/%2Fa"), ("/srv/..", "a", "/srv/../a"),
    ])
    func joinedPathStaysBelowItsRoot(root: String, path: String, joined: String) {
        #expect(join(root, path) == FillResult(result: Int64(joined.utf8.count), writtenBytes: Array(joined.utf8)))
    }

    @Test(arguments: [
        ("/srv", "..", PORTOLAN_REFUSED_PARENT), ("/srv", "../a", PORTOLAN_REFUSED_PARENT), ("/srv", "/../a", PORTOLAN_REFUSED_PARENT),
        ("/srv", "a/..", PORTOLAN_REFUSED_PARENT), ("/srv", "a/../b", PORTOLAN_REFUSED_PARENT),
        ("/srv", "a/../../b", PORTOLAN_REFUSED_PARENT),
        ("/srv", "%2e%2e/a", PORTOLAN_REFUSED_PARENT), ("/srv", ".%2E", PORTOLAN_REFUSED_PARENT),
        ("/srv", "%2E.%2Fa", PORTOLAN_REFUSED_PARENT),
        ("/srv", "a%2f..%2f..%2fb", PORTOLAN_REFUSED_PARENT), ("/srv", "..\\a", PORTOLAN_REFUSED_BACKSLASH),
        ("/srv", "a\\b", PORTOLAN_REFUSED_BACKSLASH), ("/srv", "%5Ca", PORTOLAN_REFUSED_BACKSLASH), ("/srv", "a%00", PORTOLAN_REFUSED_NUL),
        ("/srv", "a\0", PORTOLAN_REFUSED_NUL), ("/srv", "a%0d", PORTOLAN_REFUSED_CR), ("/srv", "a%0a", PORTOLAN_REFUSED_LF),
        ("/srv", "%2", PORTOLAN_REFUSED_ESCAPE), ("", "a", PORTOLAN_REFUSED_ROOT), ("", "/etc/passwd", PORTOLAN_REFUSED_ROOT),
        ("/s\0rv", "a", PORTOLAN_REFUSED_NUL),
    ])
    func refusalNamesTheReasonAndWritesNothing(root: String, path: String, refused: portolan_refused) {
        #expect(join(root, path) == FillResult(result: Int64(refused.rawValue), writtenBytes: []))
    }

    /// Joins every path of up to five symbols of a hostile alphabet. Each path is refused, or the joined path is below
    /// the root and has no `..`, `.` or empty segments.
    @Test func noShortPathLeavesItsRoot() {
        let alphabet = [".", "/", "%2e", "%2F", "a", "%25"]
        var paths = [""]
        var joinedCount = 0
        for _ in 1...5 {
            paths = paths.flatMap { path in alphabet.map { path + $0 } }
            for path in paths {
                let joined = join("/srv", path)
                guard joined.result >= 0 else { continue }
                joinedCount += 1
                let segments = joined.writtenBytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
                #expect(segments.first.map(Array.init) == Array("srv".utf8), "\(path)")
                #expect(!segments.contains { $0.isEmpty || Array($0) == [0x2e] || Array($0) == [0x2e, 0x2e] }, "\(path)")
            }
        }
        #expect(joinedCount > 5000 && joinedCount < 9330)  // some, but not all, of the 6 + 36 + … + 7776 paths
    }

    @Test func shortBufferStaysEmptyAndTheNeededLengthIsReturned() {
        for capacity in 0...8 {
            #expect(join("/srv", "a/b", capacity: capacity) == FillResult(result: 8, writtenBytes: []), "capacity \(capacity)")
        }
        #expect(join("/srv", "a/b", capacity: 9) == FillResult(result: 8, writtenBytes: Array("/srv/a/b".utf8)))
    }

    @Test func absentPathJoinsToTheRoot() {
        #expect(join("/srv", nil) == FillResult(result: 4, writtenBytes: Array("/srv".utf8)))
    }
}
