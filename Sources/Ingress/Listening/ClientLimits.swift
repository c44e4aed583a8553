import RateLimits
import Synchronization
import Units

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
