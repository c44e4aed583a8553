/// A range of addresses in CIDR notation (RFC 4632, RFC 4291), such as `10.1.2.0/24`.
package struct AddressBlock: Sendable, Hashable {
    private let base: IPAddress
    private let prefixLength: Int

    /// Reads `address/length`, or a bare address as a block of one; nil when it is neither, or when bits behind the
    /// prefix are set, which mostly is a slip.
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
        // Swift's shifts by the full width or more give zero, which is what a mask of no bits needs.
        switch address {
        case .v4(let bits):
            .v4(bits & ~(UInt32.max >> length))
        case .v6(let high, let low):
            .v6(high & ~(UInt64.max >> min(length, 64)), low & ~(UInt64.max >> max(length - 64, 0)))
        }
    }
}
