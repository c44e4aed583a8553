import Core
import Glibc
import Synchronization

/// A token bucket for each client, and larger ones for the networks around it, because the owner of a large network has
/// any number of client addresses.
package struct ClientRates: Sendable {
    private var clients: RateTable<ClientAddress>
    private var networks: [(network: ClientAddress.Network, table: RateTable<ClientAddress>)]

    /// `burst` and `perSecond` apply to one client. Up to `capacity` clients, and networks of each size, are tracked.
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

    /// How long after a refusal the next request may pass, in whole seconds.
    package var pause: Duration { clients.pause }

    /// Takes `count` tokens of `client` at `now`, and returns whether there were enough.
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

/// A limit for clients, named by one word for a metric's label.
package enum ClientLimit: String, Sendable, CaseIterable {
    /// Open connections, of one client or in total.
    case connections
    /// Open connections: an idle one of an unauthenticated client was closed for a newer one.
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
    /// Work in progress for all clients together.
    case work
    /// The operator's block list: no request passes.
    case blocked
}

/// Counts the open connections of one of our servers and its refusals since the start. Thread-safe.
package final class LimitCounts: Sendable {
    private let connections = Atomic<Int>(0)
    private let refusals: Mutex<[ClientLimit: UInt64]>

    /// `limits` are those that apply to this server's clients: each count starts at 0.
    package init(_ limits: [ClientLimit] = []) {
        refusals = Mutex(limits.reduce(into: [:]) { $0[$1] = 0 })
    }

    package var openConnections: Int { connections.load(ordering: .relaxed) }

    /// The number of refusals by each limit.
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

/// A client as the limits see it: an IPv4 address, the first 64 bits of an IPv6 address (one client usually has all
/// addresses in them), or a larger IPv6 network.
package struct ClientAddress: Hashable, Sendable {
    /// An IPv6 network that may have a single owner: most providers assign 48 bits to any customer, and have 32
    /// themselves.
    package enum Network: UInt8, Sendable, CaseIterable {
        case bits48 = 48
        case bits32 = 32

        /// The multiple of one client's limits that it gets.
        package var allowance: Int {
            switch self {
            case .bits48: 4
            case .bits32: 16
            }
        }

        /// The divisor of its largest share of all connection slots.
        package var share: Int {
            switch self {
            case .bits48: 4
            case .bits32: 2
            }
        }
    }

    /// An IPv4 address, or the first 64 bits of an IPv6 address or network.
    private let bits: UInt64
    /// The number of bits that identify an IPv6 client or network; 4 marks an IPv4 address.
    private let length: UInt8
    package let isLoopback: Bool

    /// Finds the client of a request from `peer`: `peer` itself or, if that is a trusted proxy, the last address in
    /// `X-Forwarded-For` that is not one. Returns nil if there is none: a proxy without that field may stand for all
    /// clients.
    package init?(peer: String, forwardedFor lines: [String], isTrustedProxy: (String) -> Bool) {
        guard let client = Self.text(peer: peer, forwardedFor: lines, isTrustedProxy: isTrustedProxy) else {
            return nil
        }
        self.init(client)
    }

    /// That client's full address.
    package static func text(peer: String, forwardedFor lines: [String], isTrustedProxy: (String) -> Bool) -> String? {
        var client = Self.plain(peer)
        var hops = lines.flatMap { $0.split(separator: ",") }[...]
        // Each proxy appends the address that it saw, so the entries that a client wrote come first.
        while isTrustedProxy(client) {
            guard let hop = hops.popLast(), let address = Self.address(in: String(hop)) else { return nil }
            client = address
        }
        return client
    }

    /// Parses an address in the system's spelling; nil for anything else.
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

    /// The network around it; nil for IPv4, where neighbours are unrelated.
    package func network(_ network: Network) -> ClientAddress? {
        length > network.rawValue ? ClientAddress(network, of: self) : nil
    }

    package func `is`(_ network: Network) -> Bool { length == network.rawValue }

    /// Whether it is `network` or part of it.
    package func lies(in network: ClientAddress) -> Bool {
        self == network || Network.allCases.contains { self.network($0) == network }
    }

    /// The IPv4 form of an IPv4-mapped IPv6 address, as dual-stack sockets report it; other addresses unchanged.
    package static func plain(_ text: String) -> String {
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(mapped.count)) : text
    }

    /// The address in an element of `X-Forwarded-For`, which may include a port.
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

/// Loopback addresses.
package enum LoopbackAddress {
    /// Whether `address`, in the system's spelling, is a loopback address.
    package static func contains(_ address: String) -> Bool {
        address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.")
    }
}
