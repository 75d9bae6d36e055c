// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanTestSupport
import Testing

@testable import PortolanCLI

@Suite struct DescriptorPathTests {
    @Test(arguments: ["/dev/fd/7", "/proc/self/fd/7", "/proc/thread-self/fd/7", "/proc/self/task/../fd/7", "//dev//fd//7", "/dev/./fd/7"])
    func pathOfADescriptorOfThisProcessIsRecognized(path: String) {
        #expect(DescriptorPath(path).map { [$0.number: $0.isOwn] } == [7: true])
    }

    @Test func standardStreamsAreRecognized() {
        #expect(DescriptorPath("/dev/stdout") == .standardOutput)
        #expect(DescriptorPath("/dev/stderr")?.number == 2)
    }

    @Test func linkToADescriptorIsRecognized() throws {
        let folder = try TemporaryFolder()
        for (name, destination) in [("file", "/dev/fd/7"), ("second", "file"), ("folder", "/proc/self/fd"), ("loop", "loop")] {
            try folder.makeLink(name, to: destination)
        }
        for name in ["file", "second", "folder/7"] { #expect(DescriptorPath(folder.path(of: name))?.number == 7, "\(name)") }
        #expect(DescriptorPath(folder.path(of: "loop")) == nil)
    }

    @Test func folderNamedLikeProcHasNoDescriptors() throws {
        let folder = try TemporaryFolder()
        try folder.write([], to: "12/fd/7")
        #expect(DescriptorPath(folder.path(of: "12/fd/7")) == nil)
    }

    @Test(arguments: [
        "", "/", "7", "/dev/null", "/dev/fd", "/dev/fd/", "/dev/fd/07", "/dev/fd/+7", "/dev/fd/-1", "/dev/fd/..", "/dev/fd/99999999999",
        "/proc/self/fdinfo/7", "/proc/self/fd/7/x", "/nosuch/fd/7", "/dev/stdout/",
    ])
    func otherPathsNameNoDescriptor(path: String) {
        #expect(DescriptorPath(path) == nil)
    }
}
