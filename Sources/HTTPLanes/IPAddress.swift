import Glibc

/// An IPv4 or IPv6 address as a number.
package enum IPAddress: Sendable, Hashable {
    case v4(UInt32)
    /// The first and the last eight bytes.
    case v6(UInt64, UInt64)

    /// Reads the strict spellings only: four decimal numbers without leading zeros, or RFC 4291 text without a zone.
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

    /// In the one spelling that RFC 5952 recommends, and four decimal numbers for IPv4.
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

    /// The IPv4 address that an IPv6 address stands for or is translated to on its way, if it is of such a kind.
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
