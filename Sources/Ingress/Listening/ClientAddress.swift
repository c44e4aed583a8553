import Glibc

/// The client of a request, for limits: an IPv4 address, the first 64 bits of an IPv6 address (anyone has all addresses
/// behind these), or a larger network of those.
package struct ClientAddress: Hashable, Sendable {
    /// A network of IPv6 that may have a single owner: most providers hand out 48 bits to anyone who asks, and have 32
    /// themselves.
    package enum Network: UInt8, Sendable, CaseIterable {
        case bits48 = 48
        case bits32 = 32

        /// How many times as much it may do as one client.
        package var allowance: Int {
            switch self {
            case .bits48: 4
            case .bits32: 16
            }
        }

        /// It may take at most one part in so many of all places.
        package var share: Int {
            switch self {
            case .bits48: 4
            case .bits32: 2
            }
        }
    }

    /// The address's first bits; the first one is the highest.
    private let bits: UInt64
    /// How many of them count.
    private let length: UInt8
    package let isLoopback: Bool

    /// Finds the client of a request from `peer`: `peer` itself or, if that is a trusted proxy, the last address in
    /// `X-Forwarded-For` that is none. Nil when there is no such address: a proxy that names nobody may stand for
    /// everybody.
    package init?(peer: String, forwardedFor lines: [String], isTrustedProxy: (String) -> Bool) {
        guard let client = Self.text(peer: peer, forwardedFor: lines, isTrustedProxy: isTrustedProxy) else {
            return nil
        }
        self.init(client)
    }

    /// The whole address of that client.
    package static func text(
        peer: String,
        forwardedFor lines: [String],
        isTrustedProxy: (String) -> Bool
    ) -> String? {
        var client = Self.plain(peer)
        var hops = lines.flatMap { $0.split(separator: ",") }[...]
        // Each proxy appends the address it saw, so whatever a client wrote itself comes first.
        while isTrustedProxy(client) {
            guard let hop = hops.popLast(), let address = Self.address(in: String(hop)) else { return nil }
            client = address
        }
        return client
    }

    /// The client at an address as the system spells it; nil for anything else.
    package init?(_ text: String) {
        guard let all = Self.bytes(of: Self.plain(text)) else { return nil }
        bits = all.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        length = all.count == 4 ? 4 : 64
        isLoopback = LoopbackAddress.contains(text)
    }

    private init(_ network: Network, of client: ClientAddress) {
        bits = client.bits & ~(UInt64.max >> network.rawValue)
        length = network.rawValue
        isLoopback = false
    }

    /// The network that it lies in; nil for IPv4, where neighbours are unrelated.
    package func network(_ network: Network) -> ClientAddress? {
        length > network.rawValue ? ClientAddress(network, of: self) : nil
    }

    package func `is`(_ network: Network) -> Bool { length == network.rawValue }

    /// Whether it is `network`, or lies in it.
    package func lies(in network: ClientAddress) -> Bool {
        self == network || Network.allCases.contains { self.network($0) == network }
    }

    /// The plain form of an IPv4 address that a socket for both kinds has put into an IPv6 one; other addresses
    /// unchanged.
    package static func plain(_ text: String) -> String {
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(mapped.count)) : text
    }

    /// The address in an element of `X-Forwarded-For`, which may have a port.
    private static func address(in element: String) -> String? {
        var text = element.filter { $0 != " " && $0 != "\t" }
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            text = String(text[..<end].dropFirst())
        } else if let colon = text.firstIndex(of: ":"), text[..<colon].contains(".") {
            text = String(text[..<colon])
        }
        return bytes(of: text) == nil ? nil : plain(text)
    }

    private static func bytes(of text: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four, Array.init) }
        var six = in6_addr()
        if inet_pton(AF_INET6, text, &six) == 1 { return withUnsafeBytes(of: six, Array.init) }
        return nil
    }
}

/// The addresses of this machine for itself.
package enum LoopbackAddress {
    /// Whether `address` is one of them, as the system spells it.
    package static func contains(_ address: String) -> Bool {
        address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.")
    }
}
