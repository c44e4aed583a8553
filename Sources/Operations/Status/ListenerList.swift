import Console
import Listeners
import Relays
import RouterConfiguration
import WebIngress

/// The router's listeners and other inputs of events, registrations and requests, with their rejections.
package struct ListenerList: OperatorAnswer, JoinedAnswer, Equatable {
    package struct Listener: Codable, Sendable, Equatable {
        /// `socket`, `relays`, `feed`, `ingress`, `api`, `plugins` or `subscribe`.
        package var listener: String
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

    package var listeners: [Listener]
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String {
        var head = ["LISTENER", "STATE", "WHERE", "CONNECTIONS", "EVENTS", "REFUSED"]
        if members != nil { head.insert("MEMBER", at: 1) }
        let rows = listeners.map { listener in
            [listener.listener] + (listener.member.map { [$0] } ?? []) + [
                listener.isOpen ? "open" : "closed", listener.listen ?? listener.url ?? "-",
                listener.connections.map(String.init) ?? "-", listener.events.map(String.init) ?? "-",
                "\(listener.refused.values.reduce(0, +))",
            ]
        }
        return (TextTable.lines([head] + rows) + (members?.lines ?? [])).joined(separator: "\n")
    }

    /// Joins the members' lists, with the same listeners next to each other.
    static func joined(_ lists: [(member: String, answer: ListenerList)], _ members: MembersAsked) -> ListenerList {
        let names = lists.first?.answer.listeners.map(\.listener) ?? []
        let listeners = names.flatMap { name in
            lists.flatMap { member, list in
                list.listeners.filter { $0.listener == name }.named(member, by: \.member)
            }
        }
        return ListenerList(listeners: listeners, members: members)
    }
}

extension StatusReader {
    /// The listeners of the running router.
    var listeners: ListenerList {
        let (limits, counts, pool) = (health.incoming.listeners, health.incoming.counts, health.incoming.pool)
        let connected = pool.status.filter { $0.state == .connected }.count
        var socket = listener("socket", limits.socket, counts.socket)
        socket.listen = "\(configuration.relay.host):\(configuration.relay.port)"
        socket.url = configuration.relay.url.isEmpty ? nil : configuration.relay.url
        var relays = listener("relays", nil, counts.relays, isOpen: !pool.status.isEmpty)
        relays.connections = connected
        let feed = listener("feed", nil, counts.feed, isOpen: configuration.feed != nil)
        var ingress = listener("ingress", limits.ingress, nil, isOpen: configuration.sealedIngress != nil)
        ingress.listen = configuration.sealedIngress.map { "\($0.web.host):\($0.web.port)" }
        let console = configuration.api?.console
        var api = listener("api", limits.api, nil, isOpen: console != nil)
        api.listen = console.map { "\($0.host):\($0.port)" }
        api.url = console?.inbound?.publicURL
        var plugins = listener("plugins", nil, nil, isOpen: console?.inbound != nil)
        plugins.url = console?.inbound.map { "\($0.publicURL)/plugins/" }
        let subscribe = listener("subscribe", nil, nil, isOpen: configuration.subscribePage != nil)
        return ListenerList(listeners: [socket, relays, feed, ingress, api, plugins, subscribe])
    }

    private func listener(
        _ name: String,
        _ limits: LimitCounts?,
        _ events: AtomicHistogram?,
        isOpen: Bool = true
    ) -> ListenerList.Listener {
        let refused = (limits?.refused ?? [:]).map { ($0.key.rawValue, $0.value) }
        return ListenerList.Listener(
            listener: name,
            isOpen: isOpen,
            connections: limits?.openConnections,
            events: events.map { $0.snapshot.counts.reduce(0, +) },
            refused: Dictionary(uniqueKeysWithValues: refused)
        )
    }
}
