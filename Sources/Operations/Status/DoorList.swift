import Console
import Listeners
import Relays
import RouterConfiguration
import WebIngress

/// The router's listeners and other inputs of events, registrations and requests, with their rejections.
package struct DoorList: OperatorAnswer, JoinedAnswer, Equatable {
    package struct Door: Codable, Sendable, Equatable {
        /// `socket`, `relays`, `feed`, `ingress`, `api`, `plugins` or `subscribe`.
        package var door: String
        package var isOpen: Bool
        /// The listen address; `nil` if it does not listen.
        package var listen: String?
        /// The public URL, if configured.
        package var url: String?
        /// The number of open connections.
        package var connections: Int?
        /// Events that were received and processed since the start.
        package var events: UInt64?
        /// Rejections since the start, by exceeded limit.
        package var refused: [String: UInt64]
        /// The member; `nil` without a cluster.
        package var member: String?
    }

    package var doors: [Door]
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String {
        var head = ["DOOR", "STATE", "WHERE", "CONNECTIONS", "EVENTS", "REFUSED"]
        if members != nil { head.insert("MEMBER", at: 1) }
        let rows = doors.map { door in
            [door.door] + (door.member.map { [$0] } ?? []) + [
                door.isOpen ? "open" : "closed", door.listen ?? door.url ?? "-",
                door.connections.map(String.init) ?? "-", door.events.map(String.init) ?? "-",
                "\(door.refused.values.reduce(0, +))",
            ]
        }
        return (TextTable.lines([head] + rows) + (members?.lines ?? [])).joined(separator: "\n")
    }

    /// Joins the members' lists, with the same listeners next to each other.
    static func joined(_ lists: [(member: String, answer: DoorList)], _ members: MembersAsked) -> DoorList {
        let names = lists.first?.answer.doors.map(\.door) ?? []
        let doors = names.flatMap { name in
            lists.flatMap { member, list in
                list.doors.filter { $0.door == name }.map { door in
                    var door = door
                    door.member = member
                    return door
                }
            }
        }
        return DoorList(doors: doors, members: members)
    }
}

/// Reads the listeners of a running router.
package struct DoorReader: Sendable {
    private let configuration: Configuration
    private let listeners: ListenerCounts
    private let counts: RouterCounts
    private let pool: RelayPool

    package init(_ configuration: Configuration, _ router: IncomingParts) {
        self.configuration = configuration
        (listeners, counts, pool) = (router.listeners, router.counts, router.pool)
    }

    var doors: DoorList {
        let connected = pool.status.filter { $0.state == .connected }.count
        var socket = door("socket", listeners.socket, counts.socket)
        socket.listen = "\(configuration.relay.host):\(configuration.relay.port)"
        socket.url = configuration.relay.url.isEmpty ? nil : configuration.relay.url
        var relays = door("relays", nil, counts.relays, isOpen: !pool.status.isEmpty)
        relays.connections = connected
        let feed = door("feed", nil, counts.feed, isOpen: configuration.feed != nil)
        var ingress = door("ingress", listeners.ingress, nil, isOpen: configuration.sealedIngress != nil)
        ingress.listen = configuration.sealedIngress.map { "\($0.web.host):\($0.web.port)" }
        let console = configuration.api?.console
        var api = door("api", listeners.api, nil, isOpen: console != nil)
        api.listen = console.map { "\($0.host):\($0.port)" }
        api.url = console?.inbound?.publicURL
        var plugins = door("plugins", nil, nil, isOpen: console?.inbound != nil)
        plugins.url = console?.inbound.map { "\($0.publicURL)/plugins/" }
        let subscribe = door("subscribe", nil, nil, isOpen: configuration.subscribePage != nil)
        return DoorList(doors: [socket, relays, feed, ingress, api, plugins, subscribe])
    }

    private func door(
        _ name: String,
        _ limits: LimitCounts?,
        _ events: AtomicHistogram?,
        isOpen: Bool = true
    ) -> DoorList.Door {
        let refused = (limits?.refused ?? [:]).map { ($0.key.rawValue, $0.value) }
        return DoorList.Door(
            door: name,
            isOpen: isOpen,
            connections: limits?.openConnections,
            events: events.map { $0.snapshot.counts.reduce(0, +) },
            refused: Dictionary(uniqueKeysWithValues: refused)
        )
    }
}
