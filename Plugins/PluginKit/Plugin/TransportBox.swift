/// What stands behind an instance pointer of the ABI.
final class TransportBox: Sendable {
    let transport: any PluginTransport
    let host: Host

    init(_ transport: any PluginTransport, host: Host) {
        self.transport = transport
        self.host = host
    }

    /// An instance pointer that keeps the box alive until ``release(_:)``.
    func retainedPointer() -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(self).toOpaque()
    }

    /// The box behind `instance`, which the host keeps alive for the duration of its call.
    static func at(_ instance: UnsafeMutableRawPointer) -> TransportBox {
        Unmanaged<TransportBox>.fromOpaque(instance).takeUnretainedValue()
    }

    static func release(_ instance: UnsafeMutableRawPointer) {
        Unmanaged<TransportBox>.fromOpaque(instance).release()
    }
}
