// SPDX-License-Identifier: Apache-2.0

package import PortolanJSON

/// An error in a manifest's `binding`: where it is, what is wrong, and how to fix it.
package struct BindingProblem: Error, Equatable {
    /// The path from the value of `binding` to the error. Each enclosing check adds a step at its start.
    package private(set) var path: JSONPath
    /// The message on one line.
    package let detail: String

    package init(_ detail: String, at path: JSONPath = JSONPath()) {
        self.detail = detail
        self.path = path
    }

    fileprivate func inside(_ step: JSONPath.Step) -> Self {
        var problem = self
        problem.path = path.inside(step)
        return problem
    }
}

/// Runs `check` for the value at `step`. If `check` throws a problem, adds the step to the start of the problem's path.
func at<Value>(_ step: JSONPath.Step, _ check: () throws(BindingProblem) -> Value) throws(BindingProblem) -> Value {
    do throws(BindingProblem) {
        return try check()
    } catch {
        throw error.inside(step)
    }
}

extension Sequence {
    /// Transforms each element of an array. If `transform` throws a problem, adds the index to the problem's path.
    func mapElements<Value>(_ transform: (Element) throws(BindingProblem) -> Value) throws(BindingProblem) -> [Value] {
        var values: [Value] = []
        for (index, element) in enumerated() {
            values.append(try at(.element(index)) { () throws(BindingProblem) in try transform(element) })
        }
        return values
    }

    /// Transforms each member of an object. If `transform` throws a problem, adds the name to the problem's path.
    func mapMembers<Value>(
        named name: KeyPath<Element, String>, _ transform: (Element) throws(BindingProblem) -> Value
    ) throws(BindingProblem) -> [Value] {
        var values: [Value] = []
        for member in self {
            values.append(try at(.member(member[keyPath: name])) { () throws(BindingProblem) in try transform(member) })
        }
        return values
    }
}
