// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanJSON

/// The reason why a plugin cannot be used: the problem, where it is, the violated rule, and how to fix it.
public struct PluginProblem: Error, Hashable, Sendable {
    /// The file or folder with the problem.
    public let path: String
    /// The position in the file, starting with 1. `nil` if the problem has no position.
    public let line, column: Int?
    /// The violated rule. `nil` if there is none, for example for a plugin that the user denied.
    public let rule: ContractRule?
    /// What is wrong and how to fix it, on one line.
    public let detail: String

    init(_ path: String, _ rule: ContractRule?, _ detail: String, at position: JSONPosition? = nil) {
        self.path = path
        (line, column) = (position?.line, position?.column)
        self.rule = rule
        self.detail = Text.oneLine(detail)
    }
}

extension PluginProblem: CustomStringConvertible {
    /// One line with the path, line and column in the format of compilers, the rule's ID, and the problem.
    public var description: String {
        let position = line.map { ":\($0):\(column ?? 1)" } ?? ""
        return Text.oneLine("\(path)\(position): \(rule.map { "\($0.id): " } ?? "")\(detail)")
    }
}

extension LoadError {
    init(_ problem: PluginProblem) {
        self.init(.pluginNotLoadable, message: problem.description)
    }
}

/// The rules for manifests and their folders.
extension ContractRule {
    package static let manifestIsValid = Self(id: "MANIF-01")
    static let manifestAgreesWithLibrary = Self(id: "MANIF-02")
    static let libraryLiesInFolder = Self(id: "MANIF-03")
    static let pinnedDigestAgrees = Self(id: "MANIF-04")
    static let hostIsInRange = Self(id: "MANIF-06")
    package static let bindingIsSound = Self(id: "MANIF-07")
    /// Only the user and root can change the files.
    static let filesAreTrusted = Self(id: "MANIF-09")
    /// An identifier belongs to one plugin.
    static let identifierIsUnique = Self(id: "MANIF-10")
}
