import Core
import Glibc
import Listeners
import Nostr

/// One client's conversation, without its socket: messages in, actions out (NIP-01, NIP-42).
struct RelayConnection {
    /// What the shell around this must do with a message.
    enum Action: Equatable {
        /// Send these messages.
        case send([RelayMessage])
        /// Hand the event over and answer when it is kept.
        case submit([UInt8])
        /// Look for stored events, send them and EOSE.
        case query(SubscriptionID, filters: [Filter], authenticated: Set<PublicKey>)
        /// End the connection: the client ignores refusals.
        case disconnect
        case nothing
    }

    private static let slowDown = MachineReadablePrefix.rateLimited.message("slow down")

    let limits: RelayServerConfiguration.Limits
    /// The keys that the client has proven to have (NIP-42).
    private(set) var authentication: ClientAuthentication
    private var rate: ConnectionRate
    /// What is not answered yet. While it has no room, further data stays in the socket.
    var work: ConnectionWork
    private var scanner = EventScanner()
    private var subscriptions: Set<SubscriptionID> = []
    private var live = LiveSubscriptions()
    /// Registrations that are being worked on.
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

    /// What to send before the client says anything.
    var greeting: RelayMessage { .authenticate(challenge: authentication.challenge) }

    /// Whether the client has shown a key, or registered a device.
    var isProven: Bool { hasRegistered || !authentication.publicKeys.isEmpty }

    /// The messages for a new event: one for every subscription that wants it.
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
            // That subscription is not replaced but gone.
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

    /// Counts a ping or a pong of so many bytes like a message: it costs as much to read, and an answer. No answer can
    /// tell a client that its pings are too fast.
    mutating func receive(controlFrameOf bytes: Int, now: Timestamp) -> Action {
        rate.take(bytes: bytes, now: now) == .wasWarnedOften ? .disconnect : .nothing
    }

    /// The answers to the next `count` events, of `bytes` bytes in all, are out. Returns the queries that waited for
    /// them.
    mutating func answered(events count: Int, bytes: Int, _ answers: [EventAnswer] = []) -> [Action] {
        for answer in answers {
            guard let id = answer.id, registrations.remove(id) != nil, answer.accepted else { continue }
            hasRegistered = true
        }
        return work.answered(events: count, bytes: bytes)
    }

    private mutating func event(_ event: [UInt8], withinRate: Bool, now: Timestamp) -> Action {
        // An event that cannot be scanned is handed over as well: the pipeline says why it is invalid.
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
            return closed(subscription, .invalid, "at most \(limits.filters) filters a REQ")
        }
        guard subscriptions.contains(subscription) || subscriptions.count < limits.subscriptions else {
            return closed(subscription, .rateLimited, "at most \(limits.subscriptions) subscriptions a connection")
        }
        let asksForRegistrations = filters.contains { filter in
            filter.kinds?.contains { $0 == .pushRegistration || $0 == .addressablePushRegistration } ?? false
        }
        if asksForRegistrations, authentication.publicKeys.isEmpty {
            return closed(subscription, .authRequired, "registrations are served to their own author only")
        }
        forget(subscription)
        guard live.open(subscription, filters, limit: limits.liveValues) else {
            return closed(
                subscription,
                .rateLimited,
                "at most \(limits.liveValues) values in filters for events to come"
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

/// How fast one connection may ask.
private struct ConnectionRate {
    enum Decision {
        case passes
        /// The client must be told to slow down.
        case isTooFast
        /// It ignored that answer too often.
        case wasWarnedOften
    }

    private var bucket: TokenBucket
    /// Refusals for speed that are answered before the connection ends.
    private var patience: TokenBucket
    /// What the client has left over all its connections; nil where nobody knows whose they are.
    private let share: ClientShare?
    private let counts: LimitCounts

    init(_ limits: RelayServerConfiguration.Limits, share: ClientShare?, counts: LimitCounts, now: Timestamp) {
        bucket = TokenBucket(capacity: limits.burst, perSecond: limits.messagesPerSecond, now: now)
        patience = TokenBucket(capacity: 4 * limits.burst, perSecond: limits.messagesPerSecond, now: now)
        self.share = share
        self.counts = counts
    }

    /// Counts a message of so many bytes.
    mutating func take(bytes: Int, now: Timestamp) -> Decision {
        guard let limit = bucket.take(at: now) ? share?.take(messageOf: bytes, now: now) : .messages else {
            return .passes
        }
        counts.refused(by: limit)
        return patience.take(at: now) ? .isTooFast : .wasWarnedOften
    }

    /// Whether a registration may pass besides.
    func takeRegistration(now: Timestamp) -> Bool {
        if share?.takeRegistration(now: now) ?? true { return true }
        counts.refused(by: .registrations)
        return false
    }
}

/// What one connection asked for that is not answered yet.
struct ConnectionWork {
    private let limits: RelayServerConfiguration.Limits
    private var eventsTaken = 0
    private var eventsAnswered = 0
    private var bytes = 0
    /// Queries that came after events, for whoever registers and then asks must find the registration, or after other
    /// queries.
    private var waiting: [(behind: Int, query: RelayConnection.Action)] = []
    private var queries = 0

    init(_ limits: RelayServerConfiguration.Limits) {
        self.limits = limits
    }

    /// Whether more may be read.
    var hasRoom: Bool {
        eventsTaken - eventsAnswered < limits.eventsInWork && bytes < limits.bytesInWork.bytes
            && waiting.count < limits.subscriptions
    }

    mutating func take(event bytes: Int) {
        eventsTaken += 1
        self.bytes += bytes
    }

    /// Returns the query if its turn has come.
    mutating func take(query: RelayConnection.Action) -> RelayConnection.Action {
        guard eventsTaken == eventsAnswered, waiting.isEmpty, queries < limits.queriesInWork else {
            waiting.append((behind: eventsTaken, query: query))
            return .nothing
        }
        queries += 1
        return query
    }

    /// Returns the queries whose turn has come.
    mutating func answered(events count: Int, bytes: Int) -> [RelayConnection.Action] {
        eventsAnswered += count
        self.bytes -= bytes
        return nextQueries()
    }

    /// The answer to a query is out. Returns the queries whose turn has come.
    mutating func answeredQuery() -> [RelayConnection.Action] {
        queries -= 1
        return nextQueries()
    }

    /// Forgets the queries of a subscription that wait.
    mutating func forget(_ subscription: SubscriptionID) {
        waiting.removeAll { waiting in
            guard case .query(subscription, _, _) = waiting.query else { return false }
            return true
        }
    }

    private mutating func nextQueries() -> [RelayConnection.Action] {
        let ready = waiting.prefix { $0.behind <= eventsAnswered }.prefix(limits.queriesInWork - queries)
        waiting.removeFirst(ready.count)
        queries += ready.count
        return ready.map(\.query)
    }
}

/// The keys that a client has proven to have on this connection (NIP-42).
struct ClientAuthentication {
    /// How far the proof's `created_at` may be from now, in seconds.
    private static let tolerance: Int64 = 600

    /// Each key widens every query; one client speaks for a handful of accounts.
    private static let keys = 32

    let challenge: String
    /// Hosts that a proof may name, in one spelling each.
    private let hosts: Set<String>
    private let expected: String
    private(set) var publicKeys: Set<PublicKey> = []

    /// `url` is how clients reach us. If it is empty, a proof must name one of `addresses`, at which we listen: a proof
    /// that names another relay may have been made for that one, which passes it on.
    init(url: String, addresses: [String] = [], challenge: String) {
        self.challenge = challenge
        if url.isEmpty {
            let hosts = addresses.map(Self.plain)
            self.hosts = Set(hosts + (hosts.contains(where: LoopbackAddress.contains) ? ["localhost"] : []))
            expected =
                "the relay tag must name the address of this relay's socket, as its operator has set no relay.url"
        } else {
            hosts = [Self.host(of: url)]
            expected = "the relay tag must be this relay's URL"
        }
    }

    /// Checks the event of an AUTH message and answers with OK or a reason.
    mutating func authenticate(_ event: Event, now: Timestamp) -> RelayMessage {
        if let reason = rejectionReason(for: event, now: now) {
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.invalid.message(reason))
        }
        guard publicKeys.count < Self.keys || publicKeys.contains(event.pubkey) else {
            let reason = "at most \(Self.keys) keys a connection"
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.restricted.message(reason))
        }
        publicKeys.insert(event.pubkey)
        return .ok(event.id, isAccepted: true, message: "")
    }

    private func rejectionReason(for event: Event, now: Timestamp) -> String? {
        guard event.kind == .clientAuthentication else { return "AUTH takes an event of kind 22242" }
        guard event.value(of: "challenge") == challenge else { return "the challenge tag must be this connection's" }
        // Proxies and ports make URLs differ, so that comparing hosts is what NIP-42 advises.
        guard let relay = event.value(of: "relay"), hosts.contains(Self.host(of: relay)) else { return expected }
        let second = now.seconds
        guard (second - Self.tolerance...second + Self.tolerance).contains(event.createdAt) else {
            return "created_at must be within ten minutes of now"
        }
        guard (try? event.verify()) != nil else { return "the id or the signature is wrong" }
        return nil
    }

    /// The host of a URL in lower case, without scheme, port and path.
    private static func host(of url: String) -> String {
        let rest = url.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if authority.hasPrefix("[") { return plain(String(authority.dropFirst().prefix { $0 != "]" })) }
        return plain(String(authority.prefix { $0 != ":" }))
    }

    /// An address in the spelling of the system, which has several for IPv6; a name as it is.
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
