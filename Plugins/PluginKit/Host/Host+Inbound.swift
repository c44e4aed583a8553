internal import CarillonABI

extension Host {
    /// The absolute URL under which the transport's ``PluginTransport/receive(_:answer:)`` is reached, without `/` at
    /// its end; nil: nothing reaches it, as the router's operator has set no public address.
    public var inboundURL: String? {
        let name: StaticString = "carillon.inbound/1"
        guard let ask = service(name, carillon_inbound.self)?.url else { return nil }
        var url: [UInt8] = []
        let status = withUnsafeMutablePointer(to: &url) { ask(pointer, copyValue, $0) }
        return status == .CARILLON_OK ? String(decoding: url, as: UTF8.self) : nil
    }
}

extension carillon_inbound: GrowingStruct {}
