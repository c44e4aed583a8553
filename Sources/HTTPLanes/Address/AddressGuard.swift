/// Decides where a URL that came from a user may lead: to public unicast addresses and the operator's exceptions.
///
/// It judges addresses, never names: asked about the address really connected to, it holds against DNS that changes its
/// mind and against every odd spelling of a number. The ranges are those of the IANA special-purpose registries (RFC 6890)
/// that are not globally reachable.
package struct AddressGuard: Sendable {
    private let exceptions: [AddressBlock]

    /// - Parameter exceptions: Blocks that are allowed although they are not public.
    package init(exceptions: [AddressBlock] = []) {
        self.exceptions = exceptions
    }

    /// Whether a connection to `address` may be made on behalf of a user.
    package func permits(_ address: IPAddress) -> Bool {
        if exceptions.contains(where: { $0.contains(address) }) { return true }
        if let embedded = address.embeddedIPv4 {
            return exceptions.contains { $0.contains(embedded) } || Self.isPublic(embedded)
        }
        return Self.isPublic(address)
    }

    /// Whether connections to that host may be made on behalf of a user, as far as its spelling tells: other names are
    /// judged by the addresses that they turn out to have.
    func mayPermit(_ origin: Origin) -> Bool {
        if let address = origin.address { return permits(address) }
        // RFC 6761 section 6.3.
        guard origin.host == "localhost" || origin.host.hasSuffix(".localhost") else { return true }
        return permits(.v4(0x7f00_0001)) || permits(.v6(0, 1))
    }

    private static func isPublic(_ address: IPAddress) -> Bool {
        switch address {
        case .v4:
            !specialIPv4.contains { $0.contains(address) }
        case .v6:
            globalUnicast.contains(address) && !specialIPv6.contains { $0.contains(address) }
        }
    }

    private static let specialIPv4 = [
        AddressBlock(v4: 0x0000_0000, 8),  // unspecified, this network
        AddressBlock(v4: 0x0a00_0000, 8),  // private
        AddressBlock(v4: 0x6440_0000, 10),  // carrier-grade NAT, and a cloud's metadata service
        AddressBlock(v4: 0x7f00_0000, 8),  // loopback
        AddressBlock(v4: 0xa83f_8110, 32),  // a cloud's metadata and wire server at a public number
        AddressBlock(v4: 0xa9fe_0000, 16),  // link-local, most clouds' metadata service
        AddressBlock(v4: 0xac10_0000, 12),  // private
        AddressBlock(v4: 0xc000_0000, 24),  // IETF protocol assignments
        AddressBlock(v4: 0xc000_0200, 24),  // documentation
        AddressBlock(v4: 0xc058_6300, 24),  // 6to4 relays
        AddressBlock(v4: 0xc0a8_0000, 16),  // private
        AddressBlock(v4: 0xc612_0000, 15),  // benchmarks
        AddressBlock(v4: 0xc633_6400, 24),  // documentation
        AddressBlock(v4: 0xcb00_7100, 24),  // documentation
        AddressBlock(v4: 0xe000_0000, 4),  // multicast
        AddressBlock(v4: 0xf000_0000, 4),  // reserved, broadcast
    ]

    /// Everything else (loopback, unique local, link-local, site-local, multicast) lies outside of it.
    private static let globalUnicast = AddressBlock(v6: 0x2000_0000_0000_0000, 3)

    private static let specialIPv6 = [
        AddressBlock(v6: 0x2001_0000_0000_0000, 23),  // protocol assignments: Teredo, benchmarks, ORCHID
        AddressBlock(v6: 0x2001_0db8_0000_0000, 32),  // documentation
        AddressBlock(v6: 0x3fff_0000_0000_0000, 20),  // documentation
    ]
}
