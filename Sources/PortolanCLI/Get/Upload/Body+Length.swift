// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore

extension Body {
    /// The same bytes without a length, so that they are sent in chunks.
    var withoutLength: Body {
        Body(length: nil, isRewindable: isRewindable) { () throws(LoadError) in try self.makeReader() }
    }
}
