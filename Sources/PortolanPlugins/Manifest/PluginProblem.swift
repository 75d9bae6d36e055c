// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanJSON

/// Why a plugin can't be used: what, where, by which rule, and how to mend it.
public struct PluginProblem: Error, Hashable, Sendable {
    /// The file or folder that is at fault.
    public let path: String
    /// In it, where a line is at fault; both from 1.
    public let line, column: Int?
    /// The rule that is broken; `nil` where none is, as for a plugin that the user denied.
    public let rule: ContractRule?
    /// What is wrong and how to mend it; one line.
    public let detail: String

    init(_ path: String, _ rule: ContractRule?, _ detail: String, at place: JSONPosition? = nil) {
        self.path = path
        (line, column) = (place?.line, place?.column)
        self.rule = rule
        self.detail = Text.oneLine(detail)
    }
}

extension PluginProblem: CustomStringConvertible {
    /// On one line: path, line and column as compilers write them, the rule's ID, and what is wrong.
    public var description: String {
        let place = line.map { ":\($0):\(column ?? 1)" } ?? ""
        return Text.oneLine("\(path)\(place): \(rule.map { "\($0.id): " } ?? "")\(detail)")
    }
}

extension LoadError {
    init(_ problem: PluginProblem) {
        self.init(.pluginNotLoadable, message: problem.description)
    }
}

/// The rules that manifests and the folders they lie in have to keep.
extension ContractRule {
    package static let manifestIsValid = Self(id: "MANIF-01")
    static let manifestAgreesWithLibrary = Self(id: "MANIF-02")
    static let libraryLiesInFolder = Self(id: "MANIF-03")
    static let pinnedDigestAgrees = Self(id: "MANIF-04")
    static let hostIsInRange = Self(id: "MANIF-06")
    package static let bindingIsSound = Self(id: "MANIF-07")
    /// Not in the first catalogue: nobody but the user and root can change the files.
    static let filesAreTrusted = Self(id: "MANIF-09")
    /// Not in the first catalogue: one plugin has an identifier.
    static let identifierIsUnique = Self(id: "MANIF-10")
}
