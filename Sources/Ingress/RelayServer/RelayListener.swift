import NIOCore

/// A listening relay socket.
package struct RelayListener: Sendable {
    private let channel: any Channel

    init(channel: any Channel) {
        self.channel = channel
    }

    /// The port really listened on.
    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Stops listening; connections that are open stay until they end.
    package func close() async throws {
        try await channel.close()
    }
}
