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

/// Runs `body` for the value at `step`, and adds the step to the path of its problems.
func at<Value>(_ step: JSONPath.Step, _ body: () throws(BindingProblem) -> Value) throws(BindingProblem) -> Value {
    do throws(BindingProblem) {
        return try body()
    } catch {
        throw error.inside(step)
    }
}

extension Sequence {
    /// Returns `transform` of each element of an array, and adds the index to the path of its problems.
    func mapElements<Value>(_ transform: (Element) throws(BindingProblem) -> Value) throws(BindingProblem) -> [Value] {
        var values: [Value] = []
        for (index, element) in enumerated() {
            values.append(try at(.element(index)) { () throws(BindingProblem) in try transform(element) })
        }
        return values
    }

    /// Returns `transform` of each member of an object, and adds the name to the path of its problems.
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
