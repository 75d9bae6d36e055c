// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// The properties that a new file gets from the file that `-o` replaces.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetReplacedFileTests {
    private let program: Program
    private static let isRoot = geteuid() == 0
    private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

    init() throws { program = try Program() }

    /// Runs Python with `acl(…)`, which creates an access control list from tags, permissions and IDs (acl(5)). The
    /// script fails if the file system has no attributes.
    private func python(_ lines: String) throws -> Program.Outcome {
        try program.runScript(
            """
            /usr/bin/python3 - <<'END'
            import os, struct
            def acl(*entries): return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)
            owner, bob, group, mask, other = (1, 6, 0xffffffff), (2, 6, 4242), (4, 0, 0xffffffff), (16, 6, 0xffffffff), (32, 0, 0xffffffff)
            \(lines)
            END
            """)
    }

    /// They belong to the old contents.
    @Test func setuidAndSetgidBitsAreDropped() throws {
        let outcome = try program.runScript(#"echo old >f; chmod 7750 f; "$portolan" get -o f data:,new; stat -c '%a' f; cat f"#)
        #expect(outcome.text == "1750\nnew" && outcome.errors.count == 1, "\(outcome)")
        #expect(
            outcome.errors.first?.hasSuffix("/f' lost properties of the old file: the permission bits 06000") == true, "\(outcome.errors)")
    }

    @Test(.enabled(if: isRoot, "only root can give a file away"))
    func ownerGroupAndModeAreKept() throws {
        let outcome = try program.runScript(
            #"echo old >f; chown 65534:12 f; chmod 1755 f; "$portolan" get -o f data:,new; stat -c '%u:%g %a' f; cat f"#)
        #expect(outcome.text == "65534:12 1755\nnew" && outcome.errors.isEmpty, "\(outcome)")
        let traced = try program.runScript(
            #"echo old >t.har; chown 65534:12 t.har; chmod 640 t.har; "$portolan" get --trace t.har data:,; stat -c '%u:%g %a' t.har"#)
        #expect(traced.text == "65534:12 600\n")
    }

    @Test(.enabled(if: isRoot, "only root can have a file of another owner without being allowed to give it away"))
    func propertiesThatCannotBeKeptAreReported() throws {
        let outcome = try program.runScript(
            #"""
            echo old >f; chown 65534:12 f; chmod 7774 f; setpriv --bounding-set=-chown "$portolan" get -o f data:,new; stat -c '%u:%g %a' f; cat f
            """#)
        #expect(outcome.status == 0 && outcome.text == "0:0 744\nnew", "\(outcome)")
        #expect(outcome.errors.count == 1)
        #expect(
            outcome.errors.first?.hasSuffix("/f' lost properties of the old file: owner 65534, group 12, the permission bits 07000")
                == true,
            "\(outcome.errors)")
    }

    @Test(.enabled(if: isRoot, "only root can have a file of another owner without being allowed to give it away"))
    func failedLoadKeepsAllProperties() throws {
        let outcome = try program.runScript(
            #"echo old >f; chown 65534:12 f; chmod 6755 f; "$portolan" get -o f file:///nosuch/x; stat -c '%u:%g %a' f; ls -A"#)
        #expect(outcome.text == "65534:12 6755\nf\n")
    }

    @Test(.enabled(if: hasPython, "needs python3"))
    func extendedAttributesAreKept() throws {
        let setup = try python(
            "open('f', 'w').close(); os.setxattr('f', 'user.a', b'\\0\\1'); os.setxattr('f', 'user.portolan.validator', b'\"v\"')")
        guard setup.status == 0 else { return }  // The file system has no attributes.
        #expect(try program.run("get", "-o", "f", "data:,new").errors == [])
        #expect(try python("print(os.listxattr('f'), os.getxattr('f', 'user.a'))").text == "['user.a'] b'\\x00\\x01'\n")
    }

    @Test(.enabled(if: hasPython, "needs python3"))
    func accessControlListIsKept() throws {
        let setup = try python(
            "open('f', 'w').close(); os.chmod('f', 0o600); os.setxattr('f', 'system.posix_acl_access', acl(owner, bob, group, mask, other))"
        )
        guard setup.status == 0 else { return }  // The file system has no access control lists.
        #expect(try program.run("get", "-o", "f", "data:,new").errors == [])
        let outcome = try python(
            "print(os.getxattr('f', 'system.posix_acl_access') == acl(owner, bob, group, mask, other), oct(os.stat('f').st_mode))")
        #expect(outcome.text == "True 0o100660\n")
    }

    @Test(.enabled(if: hasPython, "needs python3"))
    func defaultAccessListOfTheFolderIsNotApplied() throws {
        let setup = try python(
            "open('f', 'w').close(); os.chmod('f', 0o660); os.setxattr('.', 'system.posix_acl_default', acl(owner, bob, group, mask, other))"
        )
        guard setup.status == 0 else { return }  // The file system has no access control lists.
        #expect(try program.run("get", "-o", "f", "data:,new").errors == [])
        #expect(try python("print(os.listxattr('f'), oct(os.stat('f').st_mode))").text == "[] 0o100660\n")
    }

    @Test(.enabled(if: isRoot && hasPython, "only root can give capabilities"))
    func capabilitiesAreNotKept() throws {
        let setup = try python(
            "open('f', 'w').close(); os.setxattr('f', 'security.capability', struct.pack('<5I', 0x02000001, 0x2000, 0, 0, 0))")
        guard setup.status == 0 else { return }  // The file system has no attributes.
        let outcome = try program.run("get", "-o", "f", "data:,new")
        #expect(outcome.status == 0 && outcome.errors.first?.contains("'security.capability'") == true)
        #expect(try python("print(os.listxattr('f'))").text == "[]\n")
    }

    @Test func otherHardLinksKeepTheOldContentsWithAWarning() throws {
        let outcome = try program.runScript(#"printf old >f; ln f g; ln -s f l; "$portolan" get -o l data:,new; cat f g"#)
        #expect(outcome.text == "newold")
        #expect(outcome.errors.count == 1 && outcome.errors.first?.contains("was one of 2 hard links") == true)
    }
}
