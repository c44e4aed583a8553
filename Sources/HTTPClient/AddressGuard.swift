import Glibc
import NIOCore

/// Restricts where users' URLs may lead: to public unicast addresses and the operator's exceptions.
///
/// It checks addresses, never names. Applied to the address of the actual connection, it is safe against DNS rebinding
/// and unusual spellings of numbers. The blocked ranges are those of the IANA special-purpose registries (RFC 6890)
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

    /// Whether connections to a host may be made on behalf of a user, judging by its spelling. Other names are checked
    /// by the addresses that they resolve to.
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
        AddressBlock(v4: 0xa83f_8110, 32),  // a cloud's metadata and wire server at a public address
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

    /// Everything else (loopback, unique local, link-local, site-local, multicast) is outside it.
    private static let globalUnicast = AddressBlock(v6: 0x2000_0000_0000_0000, 3)

    private static let specialIPv6 = [
        AddressBlock(v6: 0x2001_0000_0000_0000, 23),  // protocol assignments: Teredo, benchmarks, ORCHID
        AddressBlock(v6: 0x2001_0db8_0000_0000, 32),  // documentation
        AddressBlock(v6: 0x3fff_0000_0000_0000, 20),  // documentation
    ]
}

/// A range of addresses in CIDR notation (RFC 4632, RFC 4291), such as `10.1.2.0/24`.
package struct AddressBlock: Sendable, Hashable {
    private let base: IPAddress
    package let prefixLength: Int

    /// In canonical spelling.
    package var text: String { "\(base.text)/\(prefixLength)" }

    /// Parses `address/length`, or a bare address as a block of one. Returns nil for anything else, or if bits after
    /// the prefix are set, which is usually an error.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = parts.first, let base = IPAddress(String(first)) else { return nil }
        let width = if case .v4 = base { 32 } else { 128 }
        var length = width
        if parts.count == 2 {
            guard let given = Self.prefixLength(parts[1]), given <= width else { return nil }
            length = given
        }
        self.base = base
        self.prefixLength = length
        guard base == Self.masked(base, to: length) else { return nil }
    }

    init(v4 base: UInt32, _ prefixLength: Int) {
        self.base = .v4(base)
        self.prefixLength = prefixLength
    }

    init(v6 high: UInt64, _ prefixLength: Int) {
        self.base = .v6(high, 0)
        self.prefixLength = prefixLength
    }

    /// Whether `address` is of the same family and inside.
    package func contains(_ address: IPAddress) -> Bool {
        Self.masked(address, to: prefixLength) == base
    }

    private static func prefixLength(_ text: Substring) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    private static func masked(_ address: IPAddress, to length: Int) -> IPAddress {
        // Swift's shifts by the full width or more return zero, which an empty mask needs.
        switch address {
        case .v4(let bits):
            .v4(bits & ~(UInt32.max >> length))
        case .v6(let high, let low):
            .v6(high & ~(UInt64.max >> min(length, 64)), low & ~(UInt64.max >> max(length - 64, 0)))
        }
    }
}

/// An IPv4 or IPv6 address as a number.
package enum IPAddress: Sendable, Hashable {
    case v4(UInt32)
    /// The first and the last eight bytes.
    case v6(UInt64, UInt64)

    /// Parses only strict spellings: four decimal numbers without leading zeros, or RFC 4291 text without a zone.
    package init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self = .v4(UInt32(bigEndian: four.s_addr))
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self = withUnsafeBytes(of: &six) { Self(sixteenBytes: $0) }
        } else {
            return nil
        }
    }

    /// Reads an `AF_INET` or `AF_INET6` socket address; nil for any other family or a short structure.
    init?(_ address: UnsafePointer<sockaddr>, length: Int) {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            self = .v4(UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            var six = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self = withUnsafeBytes(of: &six) { Self(sixteenBytes: $0) }
        default:
            return nil
        }
    }

    /// The spelling that RFC 5952 recommends, or four decimal numbers for IPv4.
    var text: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        switch self {
        case .v4(let bits):
            var address = in_addr(s_addr: bits.bigEndian)
            inet_ntop(AF_INET, &address, &buffer, socklen_t(buffer.count))
        case .v6(let high, let low):
            var address = [high.bigEndian, low.bigEndian]
            inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count))
        }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private init(sixteenBytes bytes: UnsafeRawBufferPointer) {
        self = .v6(
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }

    /// The IPv4 address that an IPv6 address embeds or is translated to; nil if there is none.
    var embeddedIPv4: IPAddress? {
        guard case .v6(let high, let low) = self else { return nil }
        let lowest = UInt32(truncatingIfNeeded: low)
        let isMapped = high == 0 && low >> 32 == 0xffff
        let isCompatible = high == 0 && low >> 32 == 0
        let isTranslated = high == 0 && low >> 32 == 0xffff_0000
        let isNAT64 = high == 0x0064_ff9b_0000_0000 && low >> 32 == 0
        if isMapped || isCompatible || isTranslated || isNAT64 { return .v4(lowest) }
        if high >> 48 == 0x2002 { return .v4(UInt32(truncatingIfNeeded: high >> 16)) }
        return nil
    }
}
