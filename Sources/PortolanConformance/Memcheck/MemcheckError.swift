// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// One error that memcheck saw.
struct MemcheckError: Hashable, Sendable {
    /// Memcheck's name for it, as in `InvalidRead`.
    let kind: String
    /// What happened, on one line, without numbers that are others in each run.
    let words: String
    /// Where, innermost first.
    let stack: [StackFrame]
    /// Other places that have to do with it, such as where the block was freed, or where a value without one comes from.
    let origins: [Origin]

    struct Origin: Hashable, Sendable {
        let words: String
        let stack: [StackFrame]
    }

    /// The rule that it breaks; `nil` of what is none of a plugin's, such as a notice.
    var rule: String? {
        switch kind {
        case "InvalidRead", "InvalidWrite", "InvalidJump", "Overlap", "FishyValue", "ReallocSizeZero": "MEM-01"
        case "UninitCondition", "UninitValue": "MEM-02"
        // A system call that was given what was never written, or where nothing is to be read or written.
        case "SyscallParam": words.contains("uninitialised") ? "MEM-02" : "MEM-01"
        case "InvalidFree", "MismatchedFree": "MEM-03"
        case "Leak_DefinitelyLost": "MEM-04"
        default: nil
        }
    }

    /// Whether it is about a block that nobody has a pointer to any more.
    var isLeak: Bool { kind.hasPrefix("Leak_") }
}

extension MemcheckError {
    /// Of an `<error>` of Valgrind's XML, protocol 4; `nil` where it has no kind or no stack.
    init?(_ element: XMLElement) {
        guard element.name == "error", let kind = element["kind"]?.text else { return nil }
        var (stack, origins): ([StackFrame]?, [Origin]) = (nil, [])
        var said = ""
        // Each stack belongs to the words before it. Words without a stack are about the error itself.
        func settle() {
            if stack != nil, !said.isEmpty { origins.append(Origin(words: said, stack: [])) }
            said = ""
        }
        var words = ""
        for child in element.children {
            switch child.name {
            case "what", "xwhat": words = Self.words(child)
            case "auxwhat", "xauxwhat":
                settle()
                said = Self.words(child)
            case "stack":
                let frames = child.children.filter { $0.name == "frame" }.map(StackFrame.init)
                if stack == nil {
                    stack = frames
                    // Where the address of a system call lies stands before it.
                    settle()
                } else {
                    origins.append(Origin(words: said, stack: frames))
                    said = ""
                }
            default: break
            }
        }
        settle()
        guard let stack else { return nil }
        self.init(kind: kind, words: words, stack: stack, origins: origins)
    }

    /// Addresses and the number of a loss record say nothing that holds the next time.
    private static func words(_ element: XMLElement) -> String {
        let text = element["text"]?.text ?? element.text
        let words = text.split(separator: " ").filter { !$0.hasPrefix("0x") }.joined(separator: " ")
        return Text.oneLine(words.split(separator: " in loss record").first.map(String.init) ?? words, limit: 300)
    }
}

extension StackFrame {
    fileprivate init(_ element: XMLElement) {
        func text(_ name: String) -> String? { element[name]?.text }
        self.init(object: text("obj"), function: text("fn"), file: text("file"), line: text("line").flatMap { Int($0) })
    }
}
