import Nostr

/// The conversation with one relay, without its socket: what is watched goes in, what to say comes out (NIP-01, NIP-42).
///
/// It outlives connections, so that a reconnect goes on where the connection before ended. The shell around it
///
/// - calls ``connected(limitation:mark:now:)`` when the WebSocket is open and the information document (NIP-11) was read or
///   given up, and ``disconnected(isClean:isMessageTooLong:now:)`` when it is not open any more. Everything else may be called
///   at any time; only while connected are there ``RelayAction/send(_:)`` actions;
/// - reads each message as ``ReceivedRelayMessage``; asks ``received(_:on:now:)`` about each event, drops it when that returns
///   nil, hands it to the delegate under the arrival's reading otherwise, and when the delegate has completed calls
///   ``settled(_:_:isDealtWith:now:)``, also if the connection is long gone by then. All other messages go to
///   ``receive(_:now:)``;
/// - calls ``tick(now:)`` at ``nextTick``, which may have changed after every call, or later;
/// - carries out the actions of every call in their order.
///
/// All times are milliseconds since 1970 unless seconds are spoken of.
struct RelaySession: Sendable {
    /// What it asks for may change, and holds from the next connection on.
    var settings: SessionSettings
    var isConnected = false
    /// Whether there was a conversation before, so that the durable mark says nothing of keys that are put from now on.
    var wasConnected = false
    var limitation = RelayLimitation()
    /// What the relay seems to allow to be open.
    var capacity: RelayCapacity
    var refusals = RefusalRow()
    var plan: FilterPlan
    var roster: Roster
    var isAskedByKind = false
    /// The relay will not be asked by kind.
    var isByKindRefused = false
    /// What is asked for on our own key's account.
    var own: OwnWatch
    /// Keys in one chunk at most, after the relay found more too many.
    var chunkLimit: Int

    var subscriptions = OpenSubscriptions()
    var live: [LiveSubscription.Name: LiveSubscription] = [:]
    var retired: [SubscriptionID] = []
    /// A live subscription waits until there is room for it.
    var waitsForRoom = false
    /// Several stages are read by one REQ.
    var asksTogether = true
    /// When what no subscription could be had for is read next.
    var pollAt: Int64?
    var authentication = Authentication()
    var wantsAuthentication = false
    /// No REQ before that, for the relay wants to know who we are first.
    var holdUntil: Int64?
    var pace: RequestPace

    var sweeps: [UInt32: Sweep] = [:]
    /// Chunks whose established keys must be read for, from that second on.
    var gaps: [Int: Int64] = [:]
    /// Places of established keys that must be read for, each from its own moment on.
    var laggards = ReadingQueue()
    /// Places of keys for which nothing was read yet.
    var beginnings = ReadingQueue()
    /// From when on registrations for our own key must be read; nil when they were.
    var ownGap: OwnGap?
    /// Live events that were not dealt with, to be read again at ``missedAt``.
    var missed: [EventID: Reading] = [:]
    var missedAt: Int64 = 0
    var missedFailures = 0

    /// Events that came live while what was stored for new keys was read: they are news, although they are stored by now.
    var liveWhileBeginning: Set<EventID> = []

    var progress = MarkProgress()
    var publications: [EventID: Publication] = [:]
    var fetches: [UInt64: Fetch] = [:]
    var fetchOrder: [UInt64] = []

    private(set) var nextTick: Int64?
    /// REQs sent since the session began.
    private(set) var requestsSent = 0
    /// The number of the last REQ.
    private(set) var serial: UInt64 = 0
    private var sweepSerial: UInt32 = 0
    private var outbox: [RelayAction] = []
    var scanner = EventScanner()

    init(settings: SessionSettings) {
        self.settings = settings
        capacity = RelayCapacity(enough: settings.openBytes)
        plan = FilterPlan(settings, withWraps: true)
        own = OwnWatch(key: settings.ownKey)
        chunkLimit = settings.keysPerFilter
        roster = Roster(chunkSize: settings.keysPerFilter)
        pace = RequestPace(burst: settings.requestBurst, perSecond: settings.requestsPerSecond, now: 0)
    }

    /// Keys watched.
    var keyCount: Int { roster.count }
    /// Whether anything waits to be published or fetched: a reason to connect.
    var hasErrands: Bool { !publications.isEmpty || !fetches.isEmpty }

    /// Watches keys and stops watching them.
    mutating func update(_ changes: [WatchChange], now: Int64) -> [RelayAction] {
        for change in changes {
            switch change {
            case .put(let watched): put(watched, now: now)
            case .remove(let key): remove(key, now: now)
            }
        }
        if isConnected {
            openOwn(now: now)
            chooseMode(now: now)
        }
        return finish(now)
    }

    /// Watches what is addressed to our own key, registrations and remote signing, as far as that is looked for at such
    /// a relay; nil: no longer.
    mutating func watchOwnKey(at place: OwnWatch.Place?, now: Int64) -> [RelayAction] {
        guard place != own.place else { return [] }
        abandon(.own)
        own.begin(at: place, now: now)
        ownGap = place == nil ? nil : wasConnected ? .everything : .sinceMark
        if isConnected {
            openOwn(now: now)
            chooseMode(now: now)
        }
        return finish(now)
    }

    /// Takes a message that is no event.
    mutating func receive(_ message: ReceivedRelayMessage, now: Int64) -> [RelayAction] {
        guard isConnected else { return [] }
        switch message {
        case .event: return []
        case .endOfStoredEvents(let subscription): ended(subscription, now: now)
        case .closed(let subscription, let message): closed(subscription, Refusal(message), now: now)
        case .ok(let id, let isAccepted, let message): answered(id, isAccepted: isAccepted, message, now: now)
        case .authenticate(let challenge): challenged(challenge, now: now)
        case .notice(let text): noticed(text, now: now)
        }
        return finish(now)
    }

    /// Does what is due.
    mutating func tick(now: Int64) -> [RelayAction] { finish(now) }

    /// Does what is due, and returns what it and what was before led to.
    mutating func finish(_ now: Int64) -> [RelayAction] {
        nextTick = nil
        expirePublications(now)
        expireFetches(now)
        if isConnected { advance(now) }
        defer { outbox = [] }
        return outbox
    }

    mutating func act(_ action: RelayAction) { outbox.append(action) }

    /// Asks to be called at `moment` at the latest.
    mutating func wake(at moment: Int64) { nextTick = min(nextTick ?? moment, moment) }

    /// Opens a subscription, or replaces the one of that name.
    mutating func request(
        _ filters: [Filter],
        as use: SubscriptionUse,
        replacing id: SubscriptionID? = nil
    ) -> SubscriptionID? {
        serial += 1
        guard let id = id ?? SubscriptionID("c\(serial)") else { return nil }
        let bytes = filters.reduce(0) { $0 + $1.estimatedLength }
        subscriptions.open(id, OpenSubscriptions.Entry(use: use, bytes: bytes, number: serial))
        requestsSent += 1
        act(.send(.request(id, filters)))
        return id
    }

    /// Closes a subscription of ours.
    mutating func close(_ id: SubscriptionID?) {
        guard let id, subscriptions.remove(id) != nil else { return }
        act(.send(.close(id)))
    }

    mutating func nextSweepNumber() -> UInt32 {
        sweepSerial = sweepSerial == .max ? 1 : sweepSerial + 1
        return sweepSerial
    }
}
