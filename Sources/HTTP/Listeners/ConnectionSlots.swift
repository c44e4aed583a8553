import Core
import Synchronization

/// The activity of an open connection, which decides about its eviction. Written on its event loop, read from any
/// thread.
package final class SocketActivity: Sendable {
    /// Milliseconds since 1970: a `Timestamp`, which cannot be atomic.
    private let lastMessage: Atomic<Int64>
    private let keeping = Atomic(false)

    package init(now: Timestamp) {
        lastMessage = Atomic(now.milliseconds)
    }

    var lastMessageAt: Timestamp { Timestamp(milliseconds: lastMessage.load(ordering: .relaxed)) }
    /// Whether its client authenticated (NIP-42), registered a device, or waits for a response.
    var keepsPlace: Bool { keeping.load(ordering: .relaxed) }

    package func noteMessage(at now: Timestamp) { lastMessage.store(now.milliseconds, ordering: .relaxed) }
    package func keepPlace(_ keepsPlace: Bool = true) { keeping.store(keepsPlace, ordering: .relaxed) }
}

/// The pipeline event that evicts a connection for another one.
package struct EvictionEvent: Sendable {
    package init() {}
}

/// A server's connection slots. When all are taken, an idle unprotected connection is evicted: the longest-silent one
/// among those with the most neighbours. `Socket` is the handle that the owner closes then.
package struct ConnectionSlots<Socket: Sendable>: Sendable {
    /// A connection's unique number.
    package typealias Number = UInt64

    package enum Decision {
        /// It got a slot, perhaps an evicted connection's.
        case admitted(Number, inPlaceOf: Socket?)
        /// Refused by a limit, which is logged once in a while.
        case refused(limit: Int, shouldLog: Bool)
    }

    private struct Place: Sendable {
        let number: Number
        let socket: Socket
        let activity: SocketActivity
        let isInReserve: Bool
        var client: ClientAddress?
    }

    /// Default: how long a connection must be silent before it can be evicted.
    package static var idleAfter: Duration { .seconds(10) }
    /// The number of connections checked for eviction at a time. If there are more, the checks rotate.
    static var glance: Int { 1_024 }

    private var counts: ConnectionCounts
    private let idleAfter: Duration
    private let ownGiveWay: Bool
    private let reserve: Int
    private var places: [Place] = []
    private var indices: [Number: Int] = [:]
    private var latest: Number = 0
    /// Whether the last admitted connection is in the reserve.
    package private(set) var isInReserve = false
    /// The index at which the next check starts.
    private var cursor = 0

    /// - Parameters:
    ///   - counts: The limits.
    ///   - idleAfter: How long a connection must be silent before it can be evicted.
    ///   - ownGiveWay: Whether a client with too many connections loses an idle one. Otherwise it must close one
    ///     itself.
    ///   - reserve: Extra slots for short requests while all others are taken.
    package init(
        counts: ConnectionCounts,
        idleAfter: Duration = Self.idleAfter,
        ownGiveWay: Bool = false,
        reserve: Int = 0
    ) {
        self.counts = counts
        self.idleAfter = idleAfter
        self.ownGiveWay = ownGiveWay
        self.reserve = reserve
    }

    /// Gives a new connection a slot. `client` is nil for a proxy; its client may become known later
    /// (``name(_:_:now:)``).
    package mutating func admit(
        _ client: ClientAddress?,
        _ socket: Socket,
        _ activity: SocketActivity,
        now: Timestamp
    ) -> Decision {
        var former: Place?
        isInReserve = false
        if let exhaustedLimit = counts.exhaustedLimit(to: client) {
            if let index = idlest(for: exhaustedLimit, now: now) {
                former = remove(at: index)
                isInReserve = former?.isInReserve ?? false
            } else if exhaustedLimit != .all || !counts.hasRoom(beyond: reserve) {
                return refusal(by: exhaustedLimit, now)
            } else {
                isInReserve = true
            }
        }
        latest += 1
        counts.add(client)
        indices[latest] = places.count
        places.append(
            Place(number: latest, socket: socket, activity: activity, isInReserve: isInReserve, client: client)
        )
        return .admitted(latest, inPlaceOf: former?.socket)
    }

    /// Sets the client of a connection through a proxy. The connection keeps its slot, perhaps by evicting another one,
    /// or is refused and keeps the slot until it closes.
    package mutating func name(_ number: Number, _ client: ClientAddress, now: Timestamp) -> Decision {
        guard indices[number] != nil else { return .refused(limit: 0, shouldLog: false) }
        var former: Socket?
        if let exhaustedLimit = counts.exhaustedLimit(toOneOfThese: client) {
            guard let index = idlest(for: exhaustedLimit, now: now) else { return refusal(by: exhaustedLimit, now) }
            former = remove(at: index).socket
        }
        guard let index = indices[number] else { return .refused(limit: 0, shouldLog: false) }
        counts.name(client)
        places[index].client = client
        return .admitted(number, inPlaceOf: former)
    }

    /// Releases a closed connection's slot. An evicted connection has none.
    package mutating func leave(_ number: Number) {
        if let index = indices[number] { _ = remove(at: index) }
    }

    private mutating func refusal(by exhaustedLimit: ConnectionCounts.ExhaustedLimit, _ now: Timestamp) -> Decision {
        let (limit, shouldLog) = counts.refusal(by: exhaustedLimit, now: now)
        return .refused(limit: limit, shouldLog: shouldLog)
    }

    private mutating func idlest(for exhaustedLimit: ConnectionCounts.ExhaustedLimit, now: Timestamp) -> Int? {
        let network: ClientAddress?
        switch exhaustedLimit {
        case .client(let client):
            guard ownGiveWay else { return nil }
            network = client
        case .all: network = nil
        case .network(let address): network = address
        }
        // Reserved slots are evicted last, because they serve only short requests.
        var best: (index: Int, isInReserve: Bool, crowd: Int, silentSince: Timestamp)?
        let count = min(places.count, Self.glance)
        let idleSince = now - idleAfter
        for offset in 0..<count {
            let index = (cursor + offset) % places.count
            let place = places[index]
            guard !place.activity.keepsPlace, place.activity.lastMessageAt <= idleSince else { continue }
            if let network, place.client?.lies(in: network) != true { continue }
            let (crowd, silentSince) = (counts.crowd(around: place.client), place.activity.lastMessageAt)
            if let best,
                best.isInReserve == place.isInReserve
                    ? (best.crowd, silentSince) >= (crowd, best.silentSince) : place.isInReserve
            {
                continue
            }
            best = (index, place.isInReserve, crowd, silentSince)
        }
        if !places.isEmpty { cursor = (cursor + count) % places.count }
        return best?.index
    }

    private mutating func remove(at index: Int) -> Place {
        let place = places[index]
        places.swapAt(index, places.count - 1)
        places.removeLast()
        indices[place.number] = nil
        if index < places.count { indices[places[index].number] = index }
        counts.remove(place.client)
        return place
    }
}

/// Counts open connections in total, by client and by network, so that no client takes all slots.
package struct ConnectionCounts: Sendable {
    /// The client or network without a free slot.
    package enum ExhaustedLimit: Hashable, Sendable {
        case all
        /// One client, by its own connections.
        case client(ClientAddress)
        /// A network, by the connections of all its clients.
        case network(ClientAddress)
    }

    private let limit: Int
    private let limitPerClient: Int
    private var total = 0
    private var counts: [ClientAddress: Int] = [:]
    private var lines: TokenBucket

    /// `limit` is the total, `limitPerAddress` the limit for one client.
    package init(limit: Int, limitPerAddress: Int, now: Timestamp) {
        self.limit = limit
        self.limitPerClient = limitPerAddress
        self.lines = TokenBucket(capacity: 3, perSecond: 0.1, now: now)
    }

    /// Whether a slot is free, including `reserve` extra ones.
    func hasRoom(beyond reserve: Int) -> Bool { total < limit + reserve }

    /// The limit that refuses one more connection of `client`; nil: none. Unknown clients have no limit: proxies, and
    /// this machine, which may run one, serve many clients.
    package func exhaustedLimit(to client: ClientAddress?) -> ExhaustedLimit? {
        exhaustedLimit(toOneOfThese: client) ?? (total < limit ? nil : .all)
    }

    /// The same for an already counted connection whose client just became known.
    package func exhaustedLimit(toOneOfThese client: ClientAddress?) -> ExhaustedLimit? {
        guard let client, !client.isLoopback else { return nil }
        guard counts[client, default: 0] < limitPerClient else { return .client(client) }
        for network in ClientAddress.Network.allCases {
            guard let address = client.network(network) else { continue }
            if counts[address, default: 0] >= limit(of: network) { return .network(address) }
        }
        return nil
    }

    /// The limit behind a refusal, and whether to log it, which happens once in a while.
    package mutating func refusal(by exhaustedLimit: ExhaustedLimit, now: Timestamp) -> (limit: Int, shouldLog: Bool) {
        let limit =
            switch exhaustedLimit {
            case .all: limit
            case .client: limitPerClient
            case .network(let address): ClientAddress.Network.allCases.first { address.is($0) }.map(limit(of:)) ?? limit
            }
        return (limit, lines.take(at: now))
    }

    private func limit(of network: ClientAddress.Network) -> Int {
        max(limitPerClient, min(limitPerClient.multipliedWithoutOverflow(by: network.allowance), limit / network.share))
    }

    /// Counts a connection regardless of limits.
    package mutating func add(_ client: ClientAddress?) {
        total += 1
        name(client, by: 1)
    }

    package mutating func remove(_ client: ClientAddress?) {
        total -= 1
        name(client, by: -1)
    }

    /// Assigns a counted connection to `client`.
    package mutating func name(_ client: ClientAddress?) { name(client, by: 1) }

    /// The number of connections of the client and its neighbours.
    package func crowd(around client: ClientAddress?) -> Int {
        client.map { counts[$0.network(.bits48) ?? $0, default: 0] } ?? 0
    }

    private mutating func name(_ client: ClientAddress?, by change: Int) {
        guard let client, !client.isLoopback else { return }
        for address in [client] + ClientAddress.Network.allCases.compactMap(client.network) {
            let count = counts[address, default: 0] + change
            counts[address] = count == 0 ? nil : count
        }
    }
}

extension Int {
    fileprivate func multipliedWithoutOverflow(by factor: Int) -> Int {
        let (product, isOverflow) = multipliedReportingOverflow(by: factor)
        return isOverflow ? .max : product
    }
}
