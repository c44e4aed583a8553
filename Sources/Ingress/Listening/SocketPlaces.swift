import Synchronization
import Units

/// What decides about an open connection when places run out. Written on its event loop, read by any.
package final class SocketActivity: Sendable {
    /// Milliseconds since 1970: a `Timestamp`, which cannot be atomic.
    private let lastMessage: Atomic<Int64>
    private let keeping = Atomic(false)

    package init(now: Timestamp) {
        lastMessage = Atomic(now.milliseconds)
    }

    var lastMessageAt: Timestamp { Timestamp(milliseconds: lastMessage.load(ordering: .relaxed)) }
    /// Whether its client has shown a key (NIP-42), registered a device, or waits for the response to a request.
    var keepsPlace: Bool { keeping.load(ordering: .relaxed) }

    package func noteMessage(at now: Timestamp) { lastMessage.store(now.milliseconds, ordering: .relaxed) }
    package func keepPlace(_ keepsPlace: Bool = true) { keeping.store(keepsPlace, ordering: .relaxed) }
}

/// The pipeline event for a connection that must give its place to another one.
package struct GiveWay: Sendable {
    package init() {}
}

/// Which connections of a server have a place. When none is left, an idle connection that may not keep its place gives
/// way: among those with the most neighbours, the one that was silent for longest. `Socket` is what the owner closes
/// then.
package struct SocketPlaces<Socket: Sendable>: Sendable {
    /// A number that no other connection has.
    package typealias Number = UInt64

    package enum Verdict {
        /// It has a place, perhaps that of another one.
        case admitted(Number, inPlaceOf: Socket?)
        case refused(limit: Int, isWorthALine: Bool)
    }

    private struct Place: Sendable {
        let number: Number
        let socket: Socket
        let activity: SocketActivity
        let isInReserve: Bool
        var client: ClientAddress?
    }

    /// Default: how long a connection must have been silent to give way.
    package static var idleAfter: Duration { .seconds(10) }
    /// How many connections are checked for one that gives way. If there are more, each has its turn.
    static var glance: Int { 1_024 }

    private var census: ConnectionCensus
    private let idleAfter: Duration
    private let ownGiveWay: Bool
    private let reserve: Int
    private var places: [Place] = []
    private var indices: [Number: Int] = [:]
    private var latest: Number = 0
    /// Whether the latest connection that was admitted has a place beyond the limit.
    package private(set) var isInReserve = false
    /// Where the next check begins.
    private var cursor = 0

    /// - Parameters:
    ///   - census: The limits.
    ///   - idleAfter: How long a connection must have been silent to give way.
    ///   - ownGiveWay: Whether a client with too many connections loses an idle one. Otherwise it must close one itself.
    ///   - reserve: Places beyond the limit, for short requests while all others are taken.
    package init(
        census: ConnectionCensus,
        idleAfter: Duration = Self.idleAfter,
        ownGiveWay: Bool = false,
        reserve: Int = 0
    ) {
        self.census = census
        self.idleAfter = idleAfter
        self.ownGiveWay = ownGiveWay
        self.reserve = reserve
    }

    /// Gives a new connection a place. `client` is nil for a proxy, whose client may become known later
    /// (``name(_:_:now:)``).
    package mutating func admit(
        _ client: ClientAddress?,
        _ socket: Socket,
        _ activity: SocketActivity,
        now: Timestamp
    ) -> Verdict {
        var former: Place?
        isInReserve = false
        if let obstacle = census.obstacle(to: client) {
            if let index = idlest(for: obstacle, now: now) {
                former = remove(at: index)
                isInReserve = former?.isInReserve ?? false
            } else if obstacle != .all || !census.hasRoom(beyond: reserve) {
                return refusal(by: obstacle, now)
            } else {
                isInReserve = true
            }
        }
        latest += 1
        census.add(client)
        indices[latest] = places.count
        places.append(
            Place(number: latest, socket: socket, activity: activity, isInReserve: isInReserve, client: client)
        )
        return .admitted(latest, inPlaceOf: former?.socket)
    }

    /// Names the client of a connection that a proxy brought. The connection keeps its place, perhaps at the cost of
    /// another one, or is refused and keeps it until it ends.
    package mutating func name(_ number: Number, _ client: ClientAddress, now: Timestamp) -> Verdict {
        guard indices[number] != nil else { return .refused(limit: 0, isWorthALine: false) }
        var former: Socket?
        if let obstacle = census.obstacle(toOneOfThese: client) {
            guard let index = idlest(for: obstacle, now: now) else { return refusal(by: obstacle, now) }
            former = remove(at: index).socket
        }
        guard let index = indices[number] else { return .refused(limit: 0, isWorthALine: false) }
        census.name(client)
        places[index].client = client
        return .admitted(number, inPlaceOf: former)
    }

    /// A connection has ended. One that gave way has no place to give up.
    package mutating func leave(_ number: Number) {
        if let index = indices[number] { _ = remove(at: index) }
    }

    private mutating func refusal(by obstacle: ConnectionCensus.Obstacle, _ now: Timestamp) -> Verdict {
        guard case .refused(let limit, let isWorthALine) = census.refusal(by: obstacle, now: now) else {
            return .refused(limit: 0, isWorthALine: false)
        }
        return .refused(limit: limit, isWorthALine: isWorthALine)
    }

    private mutating func idlest(for obstacle: ConnectionCensus.Obstacle, now: Timestamp) -> Int? {
        let network: ClientAddress?
        switch obstacle {
        case .client(let client):
            guard ownGiveWay else { return nil }
            network = client
        case .all: network = nil
        case .network(let address): network = address
        }
        // Those of the reserve last: whoever takes such a place may do little with it.
        var best: (index: Int, isInReserve: Bool, crowd: Int, silentSince: Timestamp)?
        let count = min(places.count, Self.glance)
        let idleSince = now - idleAfter
        for offset in 0..<count {
            let index = (cursor + offset) % places.count
            let place = places[index]
            guard !place.activity.keepsPlace, place.activity.lastMessageAt <= idleSince else { continue }
            if let network, place.client?.lies(in: network) != true { continue }
            let (crowd, silentSince) = (census.crowd(around: place.client), place.activity.lastMessageAt)
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
        census.remove(place.client)
        return place
    }
}
