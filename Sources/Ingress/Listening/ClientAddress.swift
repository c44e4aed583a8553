import Glibc

/// Whose doing a request is, as far as limits are concerned.
package struct ClientAddress: Hashable {
    /// The four bytes of an IPv4 address or the first eight of an IPv6 one, of which everybody has the rest.
    private let bytes: [UInt8]
    package let isLoopback: Bool

    /// Finds the client of a request that came from `peer`: `peer` itself, or, where that is a trusted proxy, the last of those in
    /// `X-Forwarded-For` who is none. Nil where there is no such address: a proxy that names nobody may stand for everybody.
    package init?(peer: String, forwardedFor lines: [String], isTrustedProxy: (String) -> Bool) {
        var client = Self.plain(peer)
        var hops = lines.flatMap { $0.split(separator: ",") }[...]
        // Each proxy puts behind the others whom it saw, and what a client wrote itself comes first.
        while isTrustedProxy(client) {
            guard let hop = hops.popLast(), let address = Self.address(in: String(hop)) else { return nil }
            client = address
        }
        self.init(client)
    }

    private init?(_ text: String) {
        guard let all = Self.bytes(of: text) else { return nil }
        bytes = Array(all.prefix(8))
        isLoopback = LoopbackAddress.contains(text)
    }

    /// An IPv4 address as such, also where a socket for both kinds has put it into an IPv6 one.
    package static func plain(_ text: String) -> String {
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(mapped.count)) : text
    }

    /// The address in an element of `X-Forwarded-For`, which some write with a port.
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
