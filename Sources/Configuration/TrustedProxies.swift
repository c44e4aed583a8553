import HTTPLanes

/// Networks of proxies whose word on who a client is (`X-Forwarded-For`) counts.
package struct TrustedProxies: Sendable, Equatable {
    /// This machine, where the web server before us mostly is. A program here that says nothing of the kind stays who it is.
    private static let thisMachine = ["127.0.0.0/8", "::1"].compactMap(AddressBlock.init)

    private let networks: [AddressBlock]

    /// Those, or this machine alone.
    package init(_ networks: [AddressBlock]? = nil) {
        self.networks = networks ?? Self.thisMachine
    }

    /// Whether `address` is that of a proxy.
    package func contains(_ address: String) -> Bool {
        guard let address = IPAddress(address) else { return false }
        return networks.contains { $0.contains(address) }
    }
}
