import Listening
import Nostr
import RateLimits

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
        /// End the connection: the client does not listen to what it is told.
        case disconnect
        case nothing
    }

    private static let slowDown = MachineReadablePrefix.rateLimited.message("slow down")

    private let limits: RelayServerConfiguration.Limits
    private var authentication: ClientAuthentication
    private var bucket: TokenBucket
    /// What the client has left over all its connections; nil where nobody knows whose they are.
    private let share: ClientShare?
    private let counts: DoorCounts
    /// Refusals for speed that are answered before the connection ends.
    private var patience: TokenBucket
    private var scanner = EventScanner()
    private var subscriptions: Set<SubscriptionID> = []
    private var live = LiveSubscriptions()
    /// Registrations that are being worked on.
    private var registrations: Set<EventID> = []
    private var hasRegistered = false
    private var eventsTaken = 0
    private var eventsAnswered = 0
    private var bytesInWork = 0
    /// Queries that came behind events, for whoever registers and then asks must find the registration, or behind other
    /// queries.
    private var waitingQueries: [(behind: Int, query: Action)] = []
    private var queriesInWork = 0

    init(
        limits: RelayServerConfiguration.Limits,
        url: String,
        addresses: [String] = [],
        challenge: String,
        share: ClientShare? = nil,
        counts: DoorCounts = DoorCounts(),
        now: Int64
    ) {
        self.limits = limits
        self.share = share
        self.counts = counts
        self.authentication = ClientAuthentication(url: url, addresses: addresses, challenge: challenge)
        self.bucket = TokenBucket(capacity: limits.burst, perSecond: limits.messagesPerSecond, now: now)
        self.patience = TokenBucket(capacity: 4 * limits.burst, perSecond: limits.messagesPerSecond, now: now)
    }

    /// What to send before the client says anything.
    var greeting: RelayMessage { .authenticate(challenge: authentication.challenge) }

    /// Whether to read on, or to leave what comes in the socket until answers are out.
    var wantsMore: Bool {
        eventsTaken - eventsAnswered < limits.eventsInWork && bytesInWork < limits.bytesInWork
            && waitingQueries.count < limits.subscriptions
    }

    /// Whether the client has shown a key, or registered a device.
    var isProven: Bool { hasRegistered || !authentication.publicKeys.isEmpty }

    /// Whom the client has proven to be (NIP-42).
    var authenticated: Set<PublicKey> { authentication.publicKeys }

    /// What to send of an event that just came to be: it, for every subscription that wants it.
    func messages(for event: LiveEvent) -> [RelayMessage] {
        live.wanting(event.event).map { .event($0, json: event.json) }
    }

    /// Handles one text message. `now` is in milliseconds since 1970.
    mutating func receive(_ bytes: [UInt8], now: Int64) -> Action {
        let withinRate = isWithinRate(bytes: bytes.count, now: now)
        if !withinRate, !patience.take(at: now) { return .disconnect }
        let message: ClientMessage
        do throws(MessageError) {
            message = try bytes.withUnsafeBufferPointer { bytes throws(MessageError) in
                try ClientMessage(UnsafeRawBufferPointer(bytes))
            }
        } catch {
            return .send([.notice(MachineReadablePrefix.invalid.message(error))])
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

    /// Counts a ping or a pong of so many bytes like a message: it costs as much to read, and an answer. Nobody can be told to slow
    /// down by it.
    mutating func receive(controlFrameOf bytes: Int, now: Int64) -> Action {
        count(frameOf: bytes, now: now)
    }

    /// Counts a frame that its message goes on behind. Its bytes count with the message.
    mutating func receiveFragment(now: Int64) -> Action {
        count(frameOf: 0, now: now)
    }

    private mutating func count(frameOf bytes: Int, now: Int64) -> Action {
        isWithinRate(bytes: bytes, now: now) || patience.take(at: now) ? .nothing : .disconnect
    }

    private mutating func isWithinRate(bytes: Int, now: Int64) -> Bool {
        guard let limit = bucket.take(at: now) ? share?.take(messageOf: bytes, now: now) : .messages else {
            return true
        }
        counts.refused(by: limit)
        return false
    }

    /// The answers to the next `count` events, of `bytes` bytes in all, are out. Returns the queries that waited for them.
    mutating func answered(events count: Int, bytes: Int, _ answers: [EventAnswer] = []) -> [Action] {
        for answer in answers {
            guard let id = answer.id, registrations.remove(id) != nil, answer.accepted else { continue }
            hasRegistered = true
        }
        eventsAnswered += count
        bytesInWork -= bytes
        return readyQueries()
    }

    /// The answer to a query is out. Returns the queries that waited for it.
    mutating func answeredQuery() -> [Action] {
        queriesInWork -= 1
        return readyQueries()
    }

    private mutating func readyQueries() -> [Action] {
        let ready = waitingQueries.prefix { $0.behind <= eventsAnswered }.prefix(limits.queriesInWork - queriesInWork)
        waitingQueries.removeFirst(ready.count)
        queriesInWork += ready.count
        return ready.map(\.query)
    }

    private mutating func event(_ event: [UInt8], withinRate: Bool, now: Int64) -> Action {
        // What cannot be scanned is handed over all the same: the pipeline says why.
        let scanned = try? event.withUnsafeBytes { try scanner.scan($0) }
        let registers = scanned?.kind == .pushRegistration || scanned?.kind == .addressablePushRegistration
        guard withinRate, !registers || mayRegister(now: now) else {
            return .send([EventAnswer(id: scanned?.id, accepted: false, message: Self.slowDown).relayMessage])
        }
        if registers, let id = scanned?.id { registrations.insert(id) }
        eventsTaken += 1
        bytesInWork += event.count
        return .submit(event)
    }

    private mutating func mayRegister(now: Int64) -> Bool {
        if share?.takeRegistration(now: now) ?? true { return true }
        counts.refused(by: .registrations)
        return false
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
        let query = Action.query(subscription, filters: filters, authenticated: authentication.publicKeys)
        guard eventsTaken == eventsAnswered, waitingQueries.isEmpty, queriesInWork < limits.queriesInWork else {
            waitingQueries.append((behind: eventsTaken, query: query))
            return .nothing
        }
        queriesInWork += 1
        return query
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
        waitingQueries.removeAll { waiting in
            guard case .query(subscription, _, _) = waiting.query else { return false }
            return true
        }
    }
}
