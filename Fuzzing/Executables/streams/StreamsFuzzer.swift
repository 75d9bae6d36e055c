// SPDX-License-Identifier: Apache-2.0

import FuzzDriver
import FuzzTargets

@main enum Entry {
    static func main() { FuzzDriver.run(.streams) }
}
