import Console
import Core
import Listeners
import Registry
import Relays
import RouterConfiguration

/// The relays of a running router with their state.
package struct RelayList: OperatorAnswer, JoinedAnswer, Equatable {
    /// A message of a relay, sanitized.
    package struct Words: Codable, Sendable, Equatable {
        /// `NOTICE`, `CLOSED` or `OK`.
        package var command: String
        package var text: String
        package var at: String
    }

    package struct Relay: Codable, Sendable, Equatable {
        package var url: String
        /// `connected`, `connecting`, `waiting` or `idle`.
        package var state: String
        /// `operator` if the relay is in the configuration, else `users`.
        package var whose: String
        /// The number of keys in the relay's subscriptions.
        package var keys = 0
        /// The number of accounts read there; `nil` if not counted.
        package var users: Int?
        /// Whether subscriptions filter by kind only, because the relay does not allow that many keys.
        package var isAskedByKind = false
        /// The number of REQs sent.
        package var requests = 0
        /// The number of events read since the start.
        package var events: UInt64 = 0
        /// The number of subscriptions that the relay closed and events that it rejected since the start.
        package var refusals: UInt64 = 0
        /// Protocol violations since the start, by `RelayViolation`.
        package var violations: [String: UInt64] = [:]
        /// The violations that are currently too frequent.
        package var misbehaves: [String] = []
        package var lastMessages: [Words] = []
        /// The time up to which all events of the relay were read; `nil` if it was never read completely.
        package var readUpTo: String?
        /// The time of the next connection attempt; `nil` if none is scheduled.
        package var nextTry: String?
        /// The code of the error that ended the last connection.
        package var lastFailure: String?
        /// The member that holds the connection; `nil` without a cluster.
        package var member: String?
    }

    package var relays: [Relay]
    /// Relays of users that the operator has blocked.
    package var blocked: [AccessRuleReport]
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package init(_ relays: [Relay], blocked: [AccessRule] = []) {
        self.relays = relays.sorted { ($0.state, $0.url) < ($1.state, $1.url) }
        self.blocked = blocked.map { AccessRuleReport($0) }
    }

    package var text: String {
        guard !relays.isEmpty else {
            return
                (["no relays: none under relays.always, and no user has named one"] + blockLines
                + (members?.lines ?? [])).joined(separator: "\n")
        }
        var head = [
            "RELAY", "STATE", "WHOSE", "KEYS", "REQUESTS", "EVENTS", "REFUSALS", "LAST FAILURE", "NEXT TRY", "",
        ]
        if members != nil { head.insert("MEMBER", at: 1) }
        let rows = relays.map { relay in
            [relay.url] + (relay.member.map { [$0] } ?? []) + [
                relay.state, relay.whose, "\(relay.keys)\(relay.isAskedByKind ? " by kind" : "")",
                "\(relay.requests)", "\(relay.events)", "\(relay.refusals)", relay.lastFailure ?? "-",
                relay.nextTry.second,
                relay.misbehaves.isEmpty ? "" : "misbehaves: \(relay.misbehaves.joined(separator: ", "))",
            ]
        }
        return (TextTable.lines([head] + rows) + blockLines + (members?.lines ?? [])).joined(separator: "\n")
    }

    /// All data of each relay, one item a line.
    package var details: String {
        relays.map { relay in
            var lines = [
                relay.url + (relay.member.map { " [\($0)]" } ?? ""),
                "  state      \(relay.state), \(relay.whose == "operator" ? "of the configuration" : "named by users")",
                "  watched    \(relay.keys) keys\(relay.users.map { " of \($0) accounts" } ?? "")"
                    + (relay.isAskedByKind ? ", asked for by kind" : ""),
                "  asked      \(relay.requests) requests, \(relay.events) events came, \(relay.refusals) refusals",
                "  read       \(relay.readUpTo.map { "up to \($0.second)" } ?? "not to the end yet")",
            ]
            if let failure = relay.lastFailure {
                let explanation = ConnectionError(rawValue: failure).map { ": " + $0.explanation }
                lines.append("  failure    \(failure)\(explanation ?? "")")
            }
            if let next = relay.nextTry { lines.append("  next try   \(next.second)") }
            for words in relay.lastMessages {
                lines.append("  said       \(words.at.second) \(words.command): \(words.text)")
            }
            for (violation, count) in relay.violations.sorted(by: { $0.key < $1.key }) {
                let words = RelayViolation(rawValue: violation)?.words ?? violation
                let mark = relay.misbehaves.contains(violation) ? "!" : " "
                lines.append("\(mark) violation  \(count) \(words)")
            }
            if !relay.misbehaves.isEmpty, relay.whose == "users" {
                lines.append("  remedy     carillon relays block \(ShellWord.quoted(relay.url))")
            }
            return lines.joined(separator: "\n")
        }
        .joined(separator: "\n\n") + (members?.lines ?? []).map { "\n\n" + $0 }.joined()
    }

    /// Joins the members' lists, with the same relays next to each other.
    static func joined(_ lists: [(member: String, answer: RelayList)], _ members: MembersAsked) -> RelayList {
        var whole = RelayList([])
        for (member, list) in lists {
            whole.relays += list.relays.named(member, by: \.member)
            // All members share the registry, which contains the rules.
            if whole.blocked.isEmpty { whole.blocked = list.blocked }
        }
        whole.relays.sort { ($0.url, $0.member ?? "") < ($1.url, $1.member ?? "") }
        whole.members = members
        return whole
    }

    private var blockLines: [String] { blocked.isEmpty ? [] : [""] + blocked.map(\.text) }
}

extension RelayList.Relay {
    init(_ status: RelayStatus, _ behavior: RelayBehavior?, readUpTo mark: Int64?, now: Timestamp) {
        url = status.url.text
        state = status.state.word
        whose = status.isOperators ? "operator" : "users"
        keys = status.keys
        isAskedByKind = status.isAskedByKind
        requests = status.requestsSent
        lastFailure = status.lastFailure?.rawValue
        if case .waiting(let until) = status.state { nextTry = until.rfc3339 }
        readUpTo = mark.map { Timestamp(seconds: $0).rfc3339 }
        if let behavior { take(behavior, now: now) }
    }

    /// Creates the entry of a relay that is no longer used.
    init(left relay: RelayURL, _ behavior: RelayBehavior?, now: Timestamp) {
        url = relay.text
        state = "idle"
        whose = "users"
        if let behavior { take(behavior, now: now) }
    }

    private mutating func take(_ behavior: RelayBehavior, now: Timestamp) {
        events = behavior.events
        refusals = behavior.refusals
        violations = Dictionary(uniqueKeysWithValues: behavior.violations.map { ($0.key.rawValue, $0.value) })
        misbehaves = behavior.misbehaviour(at: now).map(\.rawValue)
        lastMessages = behavior.lastMessages.map {
            RelayList.Words(command: $0.command, text: $0.text, at: $0.at.rfc3339)
        }
    }
}

extension RelayStatus.State {
    var word: String {
        switch self {
        case .idle: "idle"
        case .waiting: "waiting"
        case .connecting: "connecting"
        case .connected: "connected"
        }
    }
}

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
        ingress.listen = configuration.sealedIngress?.listen
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
