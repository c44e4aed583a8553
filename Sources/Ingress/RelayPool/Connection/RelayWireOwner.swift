import NIOCore

/// Whoever has a conversation over a ``RelayWire``. Called on its event loop.
protocol RelayWireOwner: AnyObject {
    /// Whether to read on, or to leave what comes in the socket.
    var wantsMore: Bool { get }

    /// A text message came.
    func received(_ message: ByteBuffer)

    /// All that could be read at once was.
    func receivedAll()

    /// The connection has ended, once; without a failure if it was us who closed it.
    func ended(_ failure: ConnectionFailure?)
}
