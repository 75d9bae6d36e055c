// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// One error that memcheck reported.
struct MemcheckError: Hashable, Sendable {
    /// Memcheck's name for it, for example `InvalidRead`.
    let kind: String
    /// The message on one line, without numbers that differ between runs.
    let phrase: String
    /// The stack, innermost first.
    let stack: [StackFrame]
    /// Related places, such as where the block was freed, or where an uninitialised value comes from.
    let origins: [Origin]

    struct Origin: Hashable, Sendable {
        let phrase: String
        let stack: [StackFrame]
    }

    /// The ID of the rule that the error violates; `nil` for reports that are no error of a plugin, such as a notice.
    var rule: String? {
        switch kind {
        case "InvalidRead", "InvalidWrite", "InvalidJump", "Overlap", "FishyValue", "ReallocSizeZero": "MEM-01"
        case "UninitCondition", "UninitValue": "MEM-02"
        // A system call received uninitialised bytes, or an inaccessible address.
        case "SyscallParam": phrase.contains("uninitialised") ? "MEM-02" : "MEM-01"
        case "InvalidFree", "MismatchedFree": "MEM-03"
        case "Leak_DefinitelyLost": "MEM-04"
        default: nil
        }
    }

    /// Whether it reports a block without any pointer to it.
    var isLeak: Bool { kind.hasPrefix("Leak_") }
}

extension MemcheckError {
    /// Reads an `<error>` of Valgrind's XML, protocol 4; `nil` if it has no kind or no stack.
    init?(_ element: XMLElement) {
        guard element.name == "error", let kind = element["kind"]?.text else { return nil }
        var (stack, origins): ([StackFrame]?, [Origin]) = (nil, [])
        var pendingPhrase = ""
        // Each stack belongs to the phrase before it. A phrase without a stack describes the error itself.
        func addPendingOrigin() {
            if stack != nil, !pendingPhrase.isEmpty { origins.append(Origin(phrase: pendingPhrase, stack: [])) }
            pendingPhrase = ""
        }
        var phrase = ""
        for child in element.children {
            switch child.name {
            case "what", "xwhat": phrase = Self.phrase(child)
            case "auxwhat", "xauxwhat":
                addPendingOrigin()
                pendingPhrase = Self.phrase(child)
            case "stack":
                let frames = child.children.filter { $0.name == "frame" }.map(StackFrame.init)
                if stack == nil {
                    stack = frames
                    // The phrase about the address of a system call comes before the stack.
                    addPendingOrigin()
                } else {
                    origins.append(Origin(phrase: pendingPhrase, stack: frames))
                    pendingPhrase = ""
                }
            default: break
            }
        }
        addPendingOrigin()
        guard let stack else { return nil }
        self.init(kind: kind, phrase: phrase, stack: stack, origins: origins)
    }

    /// The text of an element, without addresses and loss record numbers, which differ between runs.
    private static func phrase(_ element: XMLElement) -> String {
        let text = element["text"]?.text ?? element.text
        let phrase = text.split(separator: " ").filter { !$0.hasPrefix("0x") }.joined(separator: " ")
        return Text.oneLine(phrase.split(separator: " in loss record").first.map(String.init) ?? phrase, limit: 300)
    }
}

extension StackFrame {
    fileprivate init(_ element: XMLElement) {
        func text(_ name: String) -> String? { element[name]?.text }
        self.init(object: text("obj"), function: text("fn"), file: text("file"), line: text("line").flatMap { Int($0) })
    }
}
