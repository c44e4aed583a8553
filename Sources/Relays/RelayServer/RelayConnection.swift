import Core
import Glibc
import Listeners
import Nostr

/// The conversation with one client, without its socket: it takes messages and returns actions (NIP-01, NIP-42).
struct RelayConnection {
    /// An action for the shell around this type.
    enum Action: Equatable {
        /// Send these messages.
        case send([RelayMessage])
        /// Submit the event and respond when it is stored.
        case submit([UInt8])
        /// Look up stored events, and send them and EOSE.
        case query(SubscriptionID, filters: [Filter], authenticated: Set<PublicKey>)
        /// Close the connection because the client ignores refusals.
        case disconnect
        case nothing
    }

    private static let slowDown = MachineReadablePrefix.rateLimited.message("slow down")

    let limits: RelayServerConfiguration.Limits
    /// The keys that the client has authenticated with (NIP-42).
    private(set) var authentication: ClientAuthentication
    private var rate: ConnectionRate
    /// The unanswered requests. At their limit, more data stays in the socket.
    var work: ConnectionWork
    private var scanner = EventScanner()
    private var subscriptions: Set<SubscriptionID> = []
    private var live = LiveSubscriptions()
    /// Registrations that are being processed.
    private var registrations: Set<EventID> = []
    private var hasRegistered = false

    init(
        limits: RelayServerConfiguration.Limits,
        _ authentication: ClientAuthentication,
        share: ClientShare? = nil,
        counts: LimitCounts = LimitCounts(),
        now: Timestamp
    ) {
        self.limits = limits
        self.authentication = authentication
        rate = ConnectionRate(limits, share: share, counts: counts, now: now)
        work = ConnectionWork(limits)
    }

    /// The message to send before the client's first one.
    var greeting: RelayMessage { .authenticate(challenge: authentication.challenge) }

    /// Whether the client has authenticated or registered a device.
    var isProven: Bool { hasRegistered || !authentication.publicKeys.isEmpty }

    /// Returns the messages for a new event: one for each matching subscription.
    func messages(for event: LiveEvent) -> [RelayMessage] {
        live.wanting(event.event).map { .event($0, json: event.json) }
    }

    /// Handles one text message.
    mutating func receive(_ bytes: [UInt8], now: Timestamp) -> Action {
        let withinRate: Bool
        switch rate.take(bytes: bytes.count, now: now) {
        case .passes: withinRate = true
        case .isTooFast: withinRate = false
        case .wasWarnedOften: return .disconnect
        }
        let message: ClientMessage
        do throws(MessageError) {
            message = try bytes.withUnsafeBufferPointer { bytes throws(MessageError) in
                try ClientMessage(UnsafeRawBufferPointer(bytes))
            }
        } catch {
            let refusal = bytes.withUnsafeBytes { RelayMessage.refusal(of: $0, error) }
            // That subscription is closed, not replaced.
            if case .closed(let subscription, _) = refusal { forget(subscription) }
            return .send([refusal])
        }
        switch message {
        case .event(let range):
            return event(Array(bytes[range]), withinRate: withinRate, now: now)
        case .request(let subscription, let filters):
            guard withinRate else { return closed(subscription, .rateLimited, "slow down") }
            return request(subscription, filters)
        case .close(let subscription):
            forget(subscription)
            return .nothing
        case .authenticate(let event):
            guard withinRate else { return .send([.notice(Self.slowDown)]) }
            return .send([authentication.authenticate(event, now: now)])
        }
    }

    /// Counts a ping or pong of that length like a message, because reading and answering it costs as much. No response
    /// can tell a client that its pings are too fast.
    mutating func receive(controlFrameOf bytes: Int, now: Timestamp) -> Action {
        rate.take(bytes: bytes, now: now) == .wasWarnedOften ? .disconnect : .nothing
    }

    /// Takes the results of the next `count` events, of `bytes` bytes in total, after their responses. Returns the
    /// queries that waited for them.
    mutating func answered(events count: Int, bytes: Int, _ answers: [EventAnswer] = []) -> [Action] {
        for answer in answers {
            guard let id = answer.id, registrations.remove(id) != nil, answer.accepted else { continue }
            hasRegistered = true
        }
        return work.answered(events: count, bytes: bytes)
    }

    private mutating func event(_ event: [UInt8], withinRate: Bool, now: Timestamp) -> Action {
        // An event that cannot be scanned is submitted too: the pipeline reports why it is invalid.
        let scanned = try? event.withUnsafeBytes { try scanner.scan($0) }
        let registers = scanned?.kind == .pushRegistration || scanned?.kind == .addressablePushRegistration
        guard withinRate, !registers || rate.takeRegistration(now: now) else {
            let answer = EventAnswer(id: scanned?.id, accepted: false, message: Self.slowDown)
            return .send([answer.relayMessage(to: event)])
        }
        if registers, let id = scanned?.id { registrations.insert(id) }
        work.take(event: event.count)
        return .submit(event)
    }

    private mutating func request(_ subscription: SubscriptionID, _ filters: [Filter]) -> Action {
        guard filters.count <= limits.filters else {
            return closed(subscription, .invalid, "at most \(limits.filters) filters per REQ")
        }
        guard subscriptions.contains(subscription) || subscriptions.count < limits.subscriptions else {
            return closed(subscription, .rateLimited, "at most \(limits.subscriptions) subscriptions per connection")
        }
        let asksForRegistrations = filters.contains { filter in
            filter.kinds?.contains { $0 == .pushRegistration || $0 == .addressablePushRegistration } ?? false
        }
        if asksForRegistrations, authentication.publicKeys.isEmpty {
            return closed(subscription, .authRequired, "registrations are returned only to their own author")
        }
        forget(subscription)
        guard live.open(subscription, filters, limit: limits.liveValues) else {
            return closed(
                subscription,
                .rateLimited,
                "at most \(limits.liveValues) values in filters for future events"
            )
        }
        subscriptions.insert(subscription)
        return work.take(query: .query(subscription, filters: filters, authenticated: authentication.publicKeys))
    }

    private mutating func closed(
        _ subscription: SubscriptionID,
        _ prefix: MachineReadablePrefix,
        _ reason: String
    ) -> Action {
        forget(subscription)
        return .send([.closed(subscription, message: prefix.message(reason))])
    }

    private mutating func forget(_ subscription: SubscriptionID) {
        subscriptions.remove(subscription)
        live.close(subscription)
        work.forget(subscription)
    }
}

/// The rate limit of one connection.
private struct ConnectionRate {
    enum Decision {
        case passes
        /// The client must be told to slow down.
        case isTooFast
        /// The client ignored that response too often.
        case wasWarnedOften
    }

    private var bucket: TokenBucket
    /// The number of refusals for speed before the connection is closed.
    private var budget: TokenBucket
    /// The client's limits over all its connections; nil if the client is unknown.
    private let share: ClientShare?
    private let counts: LimitCounts

    init(_ limits: RelayServerConfiguration.Limits, share: ClientShare?, counts: LimitCounts, now: Timestamp) {
        bucket = TokenBucket(capacity: limits.burst, perSecond: limits.messagesPerSecond, now: now)
        budget = TokenBucket(capacity: 4 * limits.burst, perSecond: limits.messagesPerSecond, now: now)
        self.share = share
        self.counts = counts
    }

    /// Counts a message of that length.
    mutating func take(bytes: Int, now: Timestamp) -> Decision {
        guard let limit = bucket.take(at: now) ? share?.take(messageOf: bytes, now: now) : .messages else {
            return .passes
        }
        counts.refused(by: limit)
        return budget.take(at: now) ? .isTooFast : .wasWarnedOften
    }

    /// Whether the limit of registrations also permits one.
    func takeRegistration(now: Timestamp) -> Bool {
        if share?.takeRegistration(now: now) ?? true { return true }
        counts.refused(by: .registrations)
        return false
    }
}

/// The unanswered requests of one connection.
struct ConnectionWork {
    private let limits: RelayServerConfiguration.Limits
    private var eventsTaken = 0
    private var eventsAnswered = 0
    private var bytes = 0
    /// Queries that wait for earlier events or other queries. A client that registers and then queries must find the
    /// registration.
    private var waiting: [(after: Int, query: RelayConnection.Action)] = []
    private var queries = 0

    init(_ limits: RelayServerConfiguration.Limits) {
        self.limits = limits
    }

    /// Whether more data may be read.
    var hasRoom: Bool {
        eventsTaken - eventsAnswered < limits.eventsInWork && bytes < limits.bytesInWork.bytes
            && waiting.count < limits.subscriptions
    }

    mutating func take(event bytes: Int) {
        eventsTaken += 1
        self.bytes += bytes
    }

    /// Returns the query if it may run now.
    mutating func take(query: RelayConnection.Action) -> RelayConnection.Action {
        guard eventsTaken == eventsAnswered, waiting.isEmpty, queries < limits.queriesInWork else {
            waiting.append((after: eventsTaken, query: query))
            return .nothing
        }
        queries += 1
        return query
    }

    /// Returns the queries that may run now.
    mutating func answered(events count: Int, bytes: Int) -> [RelayConnection.Action] {
        eventsAnswered += count
        self.bytes -= bytes
        return nextQueries()
    }

    /// Notes that a query was answered. Returns the queries that may run now.
    mutating func answeredQuery() -> [RelayConnection.Action] {
        queries -= 1
        return nextQueries()
    }

    /// Drops the waiting queries of a subscription.
    mutating func forget(_ subscription: SubscriptionID) {
        waiting.removeAll { waiting in
            guard case .query(subscription, _, _) = waiting.query else { return false }
            return true
        }
    }

    private mutating func nextQueries() -> [RelayConnection.Action] {
        let ready = waiting.prefix { $0.after <= eventsAnswered }.prefix(limits.queriesInWork - queries)
        waiting.removeFirst(ready.count)
        queries += ready.count
        return ready.map(\.query)
    }
}

/// The keys that a client has authenticated with on this connection (NIP-42).
struct ClientAuthentication {
    /// The maximum difference between the event's `created_at` and now, in seconds.
    private static let tolerance: Int64 = 600

    /// The maximum number of keys. Each key widens every query, and one client represents a few accounts.
    private static let keys = 32

    let challenge: String
    /// The normalized hosts that an event may name.
    private let hosts: Set<String>
    private let expected: String
    private(set) var publicKeys: Set<PublicKey> = []

    /// `url` is the relay's public URL. If it is empty, an event must name one of `addresses`, on which the relay
    /// listens. An event that names another relay may have been made for that one and replayed here.
    init(url: String, addresses: [String] = [], challenge: String) {
        self.challenge = challenge
        if url.isEmpty {
            let hosts = addresses.map(Self.plain)
            self.hosts = Set(hosts + (hosts.contains(where: LoopbackAddress.contains) ? ["localhost"] : []))
            expected =
                "the relay tag must name the address of this relay's socket, because relay.url is not set"
        } else {
            hosts = [Self.host(of: url)]
            expected = "the relay tag must be this relay's URL"
        }
    }

    /// Checks the event of an AUTH message and returns an OK with the result.
    mutating func authenticate(_ event: Event, now: Timestamp) -> RelayMessage {
        if let reason = rejectionReason(for: event, now: now) {
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.invalid.message(reason))
        }
        guard publicKeys.count < Self.keys || publicKeys.contains(event.pubkey) else {
            let reason = "at most \(Self.keys) keys per connection"
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.restricted.message(reason))
        }
        publicKeys.insert(event.pubkey)
        return .ok(event.id, isAccepted: true, message: "")
    }

    private func rejectionReason(for event: Event, now: Timestamp) -> String? {
        guard event.kind == .clientAuthentication else { return "AUTH requires an event of kind 22242" }
        guard event.value(of: "challenge") == challenge else { return "the challenge tag must match this connection" }
        // Proxies and ports make URLs differ, so NIP-42 advises comparing hosts.
        guard let relay = event.value(of: "relay"), hosts.contains(Self.host(of: relay)) else { return expected }
        let second = now.seconds
        guard (second - Self.tolerance...second + Self.tolerance).contains(event.createdAt) else {
            return "created_at must be within ten minutes of now"
        }
        guard (try? event.verify()) != nil else { return "the id or the signature is wrong" }
        return nil
    }

    /// Returns the host of a URL in lower case, without scheme, port and path.
    private static func host(of url: String) -> String {
        let rest = url.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if authority.hasPrefix("[") { return plain(String(authority.dropFirst().prefix { $0 != "]" })) }
        return plain(String(authority.prefix { $0 != ":" }))
    }

    /// Returns an IPv6 address in the system's spelling, and a name unchanged.
    private static func plain(_ host: String) -> String {
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, host, &bytes) == 1 else { return host.lowercased() }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &bytes, &text, socklen_t(INET6_ADDRSTRLEN)) != nil else { return host }
        return ClientAddress.plain(
            String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        )
    }
}
