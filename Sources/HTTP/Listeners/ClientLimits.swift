import Core
import Glibc
import Synchronization

/// A token bucket for each client, and larger ones for the networks that clients lie in: the owner of a large network
/// has as many clients as they like.
package struct ClientRates: Sendable {
    private var clients: RateTable<ClientAddress>
    private var networks: [(network: ClientAddress.Network, table: RateTable<ClientAddress>)]

    /// `burst` and `perSecond` are for one client. At most `capacity` clients, and networks of each size, are
    /// remembered.
    package init(burst: Int, perSecond: Double, capacity: Int) {
        clients = RateTable(burst: burst, perSecond: perSecond, capacity: capacity)
        networks = ClientAddress.Network.allCases.map { network in
            let table = RateTable<ClientAddress>(
                burst: burst * network.allowance,
                perSecond: perSecond * Double(network.allowance),
                capacity: capacity
            )
            return (network, table)
        }
    }

    /// How long after a refusal one more may pass, in whole seconds.
    package var pause: Duration { clients.pause }

    /// Whether `count` more of `client` may pass at `now`.
    package mutating func take(_ client: ClientAddress, _ count: Int = 1, now: Timestamp) -> Bool {
        guard clients.take(client, count, now: now) else { return false }
        for index in networks.indices {
            guard let network = client.network(networks[index].network),
                !networks[index].table.take(network, count, now: now)
            else { continue }
            // A refused request costs nothing.
            clients.giveBack(client, count)
            for earlier in networks[..<index].indices {
                if let network = client.network(networks[earlier].network) {
                    networks[earlier].table.giveBack(network, count)
                }
            }
            return false
        }
        return true
    }
}

/// A limit that our clients can meet, in one word for a metric's label.
package enum ClientLimit: String, Sendable, CaseIterable {
    /// Open connections, of one client or altogether.
    case connections
    /// Open connections: an idle one of an unauthenticated client made way for a newer one.
    case idle
    /// Recently opened connections.
    case openings
    /// Recent frames; each counts as a message.
    case messages
    /// Recent HTTP requests.
    case requests
    /// Recent bytes.
    case bytes
    /// Recent registrations.
    case registrations
    /// Recent messages for one device, from all senders.
    case device
    /// Work under way for all clients together.
    case work
    /// Rules of the operator: nothing passes.
    case blocked
}

/// Counts the open connections of one of our servers, and the refusals since its start. From any thread.
package final class LimitCounts: Sendable {
    private let connections = Atomic<Int>(0)
    private let refusals: Mutex<[ClientLimit: UInt64]>

    /// `limits` are those that clients of this server can meet: each has a count from the start.
    package init(_ limits: [ClientLimit] = []) {
        refusals = Mutex(limits.reduce(into: [:]) { $0[$1] = 0 })
    }

    package var openConnections: Int { connections.load(ordering: .relaxed) }

    /// How often each limit refused a client.
    package var refused: [ClientLimit: UInt64] { refusals.withLock(\.self) }

    package func opened() {
        connections.add(1, ordering: .relaxed)
    }

    package func closed() {
        connections.subtract(1, ordering: .relaxed)
    }

    package func refused(by limit: ClientLimit) {
        refusals.withLock { $0[limit, default: 0] += 1 }
    }
}

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
    package static func text(peer: String, forwardedFor lines: [String], isTrustedProxy: (String) -> Bool) -> String? {
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
