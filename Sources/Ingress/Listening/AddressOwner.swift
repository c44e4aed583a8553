import Glibc

/// Who has an address: all IPv6 addresses of one network of 64 bits have the same owner.
enum AddressOwner {
    /// A name for the owner of `address`, as the system spells it: the address itself but for IPv6.
    static func of(_ address: String) -> String {
        var bytes = in6_addr()
        guard address.contains(":"), inet_pton(AF_INET6, address, &bytes) == 1 else { return address }
        let halves = withUnsafeBytes(of: bytes) {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        // An IPv4 address inside an IPv6 one has no network there.
        return halves.0 == 0 ? address : String(UInt64(bigEndian: halves.0), radix: 16)
    }
}
