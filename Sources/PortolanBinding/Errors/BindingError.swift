// SPDX-License-Identifier: Apache-2.0

package import PortolanJSON

/// An error in the `binding` of a manifest. It has the path of the value and a message.
package struct BindingError: Error, Equatable {
    /// The path from the value of `binding` to the error. Each enclosing check prepends a step to the path.
    package private(set) var path: JSONPath
    /// One line that says what is wrong and how to fix it.
    package let message: String

    package init(_ message: String, at path: JSONPath = JSONPath()) {
        self.message = message
        self.path = path
    }

    fileprivate func prependingStep(_ step: JSONPath.Step) -> Self {
        var error = self
        error.path = path.inside(step)
        return error
    }
}

/// Runs `check` for the value at `step`. If `check` throws an error, prepends `step` to the path of the error.
func prependingStep<Value>(
    _ step: JSONPath.Step, toErrorsOf check: () throws(BindingError) -> Value
) throws(BindingError) -> Value {
    do throws(BindingError) {
        return try check()
    } catch {
        throw error.prependingStep(step)
    }
}

extension Sequence {
    /// Transforms each element of a JSON array. If `transform` throws an error, prepends the element's index to the
    /// path of the error.
    func mapElements<Value>(_ transform: (Element) throws(BindingError) -> Value) throws(BindingError) -> [Value] {
        var values: [Value] = []
        for (index, element) in enumerated() {
            values.append(try prependingStep(.element(index)) { () throws(BindingError) in try transform(element) })
        }
        return values
    }

    /// Transforms each element. Each element is a member of a JSON object; `name` is the key path of its key. If
    /// `transform` throws an error, prepends the key to the path of the error.
    func mapMembers<Value>(
        named name: KeyPath<Element, String>, _ transform: (Element) throws(BindingError) -> Value
    ) throws(BindingError) -> [Value] {
        var values: [Value] = []
        for member in self {
            values.append(
                try prependingStep(.member(member[keyPath: name])) { () throws(BindingError) in try transform(member) })
        }
        return values
    }
}
