// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import NIOSSL
import NIOHTTP2
import NIOHPACK
import PortolanCoding

