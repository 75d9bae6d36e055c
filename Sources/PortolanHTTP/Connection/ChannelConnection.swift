// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A connection as the attempt that opens it hands it over: of either version. On its event loop.
protocol ChannelConnection: PooledConnection {
    /// Takes the end of an open channel's pipeline.
    func add(to channel: any Channel) throws
    /// From now on the connection is the pool's.
    func join(_ pool: ConnectionPool)
}

extension HTTP1Connection: ChannelConnection {
    func add(to channel: any Channel) throws { try channel.pipeline.syncOperations.addHandler(self) }
}

extension HTTP2Connection: ChannelConnection {}
