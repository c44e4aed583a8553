import Core
import Nostr
import Testing

@testable import Relays

/// A session and a relay that talk to each other, with a clock that is moved by hand.
struct Exchange {
    struct Handed: Hashable {
        let id: EventID
        let reading: Reading
    }

    /// In seconds since 1970.
    static let start: Int64 = 1_700_000_000

    var session: RelaySession
    var relay = ModelRelay()
    var now = Timestamp(seconds: start)
    /// Whether an event that was passed on is settled.
    var dealsWith: (Event) -> Bool = { _ in true }
    /// Whether results come immediately; otherwise with ``settle()``.
    var settlesAtOnce = true

    private(set) var handed: [Handed] = []
    /// How each event was first read when it was settled; a later reading of the event changes nothing.
    private(set) var firstDealtWith: [EventID: Reading] = [:]
    private(set) var established: [PublicKey] = []
    private(set) var marks: [Int64] = []
    /// How often stored events turned out to be out of reach.
    private(set) var unread = 0
    private(set) var rests: [Timestamp] = []
    private(set) var complaintsOfRegistrations = 0
    private(set) var fetchesAnswered: [UInt64] = []
    private(set) var fetchesEnded: [UInt64] = []
    private(set) var published: [EventID: Bool] = [:]
    private(set) var challenges: [String] = []
    private var outstanding: [(Arrival, Event)] = []

    init(_ change: (inout SessionSettings) -> Void = { _ in }) {
        var settings = SessionSettings(ownKeys: [.sample(0)])
        settings.addressedKinds = [.textNote, .reaction, .contactList, .giftWrap, .ephemeralGiftWrap]
        change(&settings)
        session = RelaySession(settings: settings)
    }

    var seconds: Int64 { now.seconds }

    func readings(of event: Event) -> [Reading] { handed.filter { $0.id == event.id }.map(\.reading) }

    /// REQs whose first filter is for new events, oldest first.
    var liveRequests: [(id: SubscriptionID, filters: [Filter])] {
        relay.requests.filter { $0.filters.contains { $0.limit == 1 } }
    }

    mutating func watch(_ keys: some Sequence<Int>, since: Int64? = nil, isEstablished: Bool = false) {
        update(
            keys.map {
                .put(
                    Watched(
                        key: .sample($0),
                        interest: [.addressed, .authored],
                        since: since ?? seconds,
                        isEstablished: isEstablished
                    )
                )
            }
        )
    }

    mutating func update(_ changes: [WatchChange]) { run(session.update(changes, now: now)) }

    mutating func watchOwnKey(at place: OwnWatch.Place? = .operators) {
        run(session.watchOwnKey(at: place, now: now))
    }

    mutating func connect(mark: Int64? = nil, _ change: (inout RelayLimitation) -> Void = { _ in }) {
        var limitation = RelayLimitation()
        change(&limitation)
        run(session.connected(limitation: limitation, mark: mark, now: now))
    }

    mutating func disconnect(isClean: Bool = false) {
        relay.disconnect()
        run(session.disconnected(isClean: isClean, now: now))
    }

    /// Kills the process, and starts another with the durable state: the keys, the established ones, the last mark.
    mutating func restart(_ since: [Int: Int64]) {
        relay.disconnect()
        outstanding = []
        session = RelaySession(settings: session.settings)
        let established = Set(established)
        for (key, since) in since { watch([key], since: since, isEstablished: established.contains(.sample(key))) }
    }

    /// Watches keys that come in bursts.
    mutating func stream(_ keys: ClosedRange<Int>, in span: Duration, every interval: Duration = .milliseconds(200)) {
        let bursts = Int(span / interval)
        let size = (keys.count + bursts - 1) / bursts
        for first in stride(from: keys.lowerBound, through: keys.upperBound, by: size) {
            watch(first...min(first + size - 1, keys.upperBound))
            pass(interval)
        }
    }

    /// Publishes an event at the relay, as another client.
    mutating func arrive(_ event: Event) { hear(relay.arrive(event)) }

    mutating func hear(_ message: ReceivedRelayMessage) { run(session.receive(message, now: now)) }

    mutating func drop(_ id: SubscriptionID, _ message: String) { hear(relay.drop(id, message)) }

    mutating func publish(_ event: Event, within span: Duration = .seconds(30)) {
        run(session.publish(event, deadline: now + span, now: now))
    }

    mutating func fetch(_ number: UInt64, _ filters: [Filter], within span: Duration = .seconds(5)) {
        run(session.fetch(number, filters, deadline: now + span, now: now))
    }

    /// Advances the time, and runs the session's timers at their due time.
    mutating func pass(_ span: Duration) {
        let end = now + span
        var turns = 0
        while let next = session.requests.nextTick, next <= end {
            turns += 1
            guard turns < 20_000 else {
                Issue.record("the session asks to be called again and again")
                break
            }
            now = max(now, next)
            run(session.tick(now: now))
        }
        now = end
        run(session.tick(now: now))
    }

    /// Reports the results of outstanding events.
    mutating func settle() {
        let batch = outstanding
        outstanding = []
        guard !batch.isEmpty else { return }
        let isDealtWith = batch.map { dealsWith($0.1) }
        for (entry, isDone) in zip(batch, isDealtWith) where isDone && firstDealtWith[entry.1.id] == nil {
            firstDealtWith[entry.1.id] = entry.0.reading
        }
        let actions = session.settled(batch.map(\.0), batch.map(\.1.json), isDealtWith: isDealtWith, now: now)
        run(actions)
    }

    private mutating func hear(_ messages: [ModelRelay.Message]) {
        for message in messages {
            switch message {
            case .other(let message):
                run(session.receive(message, now: now))
            case .event(let id, let event):
                let arrival = event.json.withUnsafeBytes { session.received($0, on: id, now: now) }
                guard let arrival else { continue }
                handed.append(Handed(id: event.id, reading: arrival.reading))
                outstanding.append((arrival, event))
            }
        }
        if settlesAtOnce { settle() }
    }

    private mutating func run(_ actions: [RelayAction]) {
        for action in actions {
            switch action {
            case .send(let command): hear(relay.receive(command))
            case .authenticate(let challenge):
                challenges.append(challenge)
                let answer = Event.sample(
                    800_000 + challenges.count,
                    .clientAuthentication,
                    at: seconds,
                    tags: [["challenge", challenge]]
                )
                run(session.signed(answer, now: now))
            case .established(let keys): established += keys
            case .marked(let moment): marks.append(moment)
            case .unread(let times): unread += times
            case .tooManyRegistrations: complaintsOfRegistrations += 1
            case .fetchAnswered(let number): fetchesAnswered.append(number)
            case .fetchEnded(let number): fetchesEnded.append(number)
            case .publishEnded(let id, let isAccepted, _): published[id] = isAccepted
            case .rest(let until): rests.append(until)
            }
        }
    }
}

/// A relay as NIP-01 describes it, in memory, with the variations that a test sets.
struct ModelRelay {
    enum Message {
        case event(SubscriptionID, Event)
        case other(ReceivedRelayMessage)
    }

    var events: [Event] = []
    /// Maximum number of events per response, whatever the `limit`.
    var cap = 500
    /// Whether `cap` is for the filters of a REQ together.
    var capsTogether = false
    var ignoresLimit = false
    var ignoresUntil = false
    /// Whether the relay omits events of the second named in `until`.
    var excludesUntil = false
    var ignoresSince = false
    var ignoresKinds = false
    var ignoresTags = false
    var endsStoredEvents = true
    /// Open subscriptions at most.
    var maxSubscriptions = 20
    /// Bytes of all open REQs together at most.
    var maxBytesOpen = Int.max
    /// The relay's message above that limit.
    var wordsForBytesOpen = "rate-limited: active subscriptions exceed max size"
    /// Returns the message that rejects a subscription; nil if it is accepted.
    var refusal: ([Filter]) -> String? = { _ in nil }
    var publishRefusal: (Event) -> String? = { _ in nil }
    /// Whether authentication is accepted; nil: the relay does not respond to it.
    var acceptsAuthentication: Bool? = true

    private(set) var open: [SubscriptionID: [Filter]] = [:]
    private(set) var requests: [(id: SubscriptionID, filters: [Filter])] = []
    private(set) var closes: [SubscriptionID] = []
    private(set) var published: [Event] = []
    private(set) var isAuthenticated = false
    private var sizes: [SubscriptionID: Int] = [:]
    private(set) var peakOpen = 0
    private(set) var peakBytesOpen = 0
    /// Bytes of all REQs.
    private(set) var bytesRequested = 0
    private(set) var refused: [SubscriptionID] = []

    mutating func disconnect() {
        open = [:]
        isAuthenticated = false
    }

    /// Ends a subscription from the relay's side.
    mutating func drop(_ id: SubscriptionID, _ message: String) -> [Message] {
        open[id] = nil
        return [.other(.closed(id, message: message))]
    }

    mutating func receive(_ command: ClientCommand) -> [Message] {
        switch command {
        case .close(let id):
            open[id] = nil
            closes.append(id)
            return []
        case .authenticate(let event):
            guard let accepts = acceptsAuthentication else { return [] }
            isAuthenticated = accepts
            return [.other(.ok(event.id, isAccepted: accepts, message: accepts ? "" : "restricted: not you"))]
        case .publish(let event):
            if let refusal = publishRefusal(event) {
                return [.other(.ok(event.id, isAccepted: false, message: refusal))]
            }
            published.append(event)
            return [.other(.ok(event.id, isAccepted: true, message: ""))] + arrive(event)
        case .request(let id, let filters):
            requests.append((id, filters))
            let (others, size) = (bytesOpen(except: id), command.json.count)
            bytesRequested += size
            if let refusal = refusal(filters) { return refuse(id, refusal) }
            if open[id] == nil, open.count >= maxSubscriptions { return refuse(id, "error: too many subscriptions") }
            if others + size > maxBytesOpen { return refuse(id, wordsForBytesOpen) }
            open[id] = filters
            sizes[id] = size
            peakOpen = max(peakOpen, open.count)
            peakBytesOpen = max(peakBytesOpen, others + size)
            let stored = (capsTogether ? storedTogether(filters) : filters.flatMap(stored)).map {
                Message.event(id, $0)
            }
            return stored + (endsStoredEvents ? [.other(.endOfStoredEvents(id))] : [])
        }
    }

    private mutating func refuse(_ id: SubscriptionID, _ message: String) -> [Message] {
        open[id] = nil
        refused.append(id)
        return [.other(.closed(id, message: message))]
    }

    /// Bytes of all open REQs.
    var bytesOpen: Int { bytesOpen(except: nil) }

    private func bytesOpen(except id: SubscriptionID?) -> Int {
        open.keys.reduce(0) { $0 + ($1 == id ? 0 : sizes[$1] ?? 0) }
    }

    /// Takes an event from another client.
    mutating func arrive(_ event: Event) -> [Message] {
        if !(20_000..<30_000).contains(event.kind.rawValue) { events.append(event) }
        return open.filter { $0.value.contains { $0.matches(event) } }.keys.map { .event($0, event) }
    }

    private func storedTogether(_ filters: [Filter]) -> [Event] {
        let matching = Set(filters.flatMap(stored)).sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
        return Array(matching.prefix(cap))
    }

    private func stored(_ filter: Filter) -> [Event] {
        var filter = filter
        if ignoresUntil { filter.until = nil }
        if excludesUntil { filter.until = filter.until.map { $0 - 1 } }
        if ignoresSince { filter.since = nil }
        if ignoresKinds { filter.kinds = nil }
        if ignoresTags { filter.tags = [:] }
        let matching = events.filter(filter.matches).sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
        return ignoresLimit ? matching : Array(matching.prefix(min(cap, filter.limit ?? cap)))
    }
}

extension PublicKey {
    static func sample(_ number: Int) -> PublicKey {
        PublicKey(Bytes32(words: (1, 2, 3, UInt64(number).byteSwapped)))
    }
}

extension Event {
    /// Returns an event with an invented id and signature; the session does not verify.
    static func sample(
        _ number: Int,
        _ kind: Kind = .textNote,
        to key: PublicKey? = nil,
        by author: PublicKey = .sample(999_999),
        at seconds: Int64,
        tags: [[String]] = []
    ) -> Event {
        let zero = Bytes32(words: (0, 0, 0, 0))
        return Event(
            id: EventID(Bytes32(words: (7, 7, 7, UInt64(number).byteSwapped))),
            pubkey: author,
            createdAt: seconds,
            kind: kind,
            tags: (key.map { [["p", $0.hex]] } ?? []) + tags,
            content: "",
            signature: Signature(first: zero, second: zero)
        )
    }
}

/// Chance that can be repeated.
struct Dice {
    var state: UInt64

    mutating func roll(_ sides: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % sides
    }
}
