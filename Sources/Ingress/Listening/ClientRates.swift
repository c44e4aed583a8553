import RateLimits

/// A token bucket for each client, and larger ones for the networks that clients lie in: whoever has a large network
/// has as many clients as they like.
package struct ClientRates: Sendable {
    private var clients: RateTable<ClientAddress>
    private var networks: [(network: ClientAddress.Network, table: RateTable<ClientAddress>)]

    /// `burst` and `perSecond` are for one client. `capacity` is how many clients, and networks of each sort, are
    /// remembered at most.
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

    /// How long until one more passes that was refused, in whole seconds.
    package var pause: Int { clients.pause }

    /// Whether one more of `client`, or so many more, may pass at `now`, in milliseconds since 1970.
    package mutating func take(_ client: ClientAddress, _ count: Int = 1, now: Int64) -> Bool {
        guard clients.take(client, count, now: now) else { return false }
        for index in networks.indices {
            guard let network = client.network(networks[index].network),
                !networks[index].table.take(network, count, now: now)
            else { continue }
            // Nobody pays for what does not pass.
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
