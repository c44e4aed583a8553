import Core
import Nostr

/// The conversation with one relay, without its socket: it takes watched keys and messages, and returns actions
/// (NIP-01, NIP-42).
///
/// It outlives connections, so that a reconnect continues at the end of the previous connection. The shell around it
///
/// - calls ``connected(limitation:mark:now:)`` when the WebSocket is open and the information document (NIP-11) was
///   read or given up, and ``disconnected(isClean:isMessageTooLong:now:)`` when it is closed. It may make all other
///   calls at any time. ``RelayAction/send(_:)`` actions occur only while connected;
/// - reads each message as ``ReceivedRelayMessage`` and calls ``received(_:on:now:)`` for each event. If that returns
///   nil, it drops the event; otherwise it passes the event to the delegate with the arrival's reading. When the
///   delegate has completed, it calls ``settled(_:_:isDealtWith:now:)``, even if the connection is long closed. All
///   other messages go to ``receive(_:now:)``;
/// - calls ``tick(now:)`` at ``RelayRequests/nextTick`` or later. Every call may change that time;
/// - executes the actions of every call in order.
///
/// Its parts are separate state machines: ``LiveSubscriptions`` for new events, ``CatchUp`` for stored ones,
/// ``Authentication``, ``Publications`` and ``Fetches``. They send through ``RelayRequests``.
struct RelaySession {
    /// How long a relay that requires authentication first may take to send its challenge.
    private static let challengeTimeout: Duration = .seconds(5)

    /// The requested kinds may change. Changes apply from the next connection on.
    var settings: SessionSettings
    private var isConnected = false
    let requests: RelayRequests
    private var authentication = Authentication()
    private(set) var live: LiveSubscriptions
    let catchUp: CatchUp
    private var publications: Publications
    private var fetches: Fetches
    private var scanner = EventScanner()
    /// A subscription known to bring only new events for keys. Most events arrive on one.
    private var plainlyLive: SubscriptionID?

    init(settings: SessionSettings) {
        self.settings = settings
        requests = RelayRequests(settings: settings)
        catchUp = CatchUp(requests)
        live = LiveSubscriptions(catchUp, requests)
        publications = Publications(requests)
        fetches = Fetches(requests)
    }

    /// The number of watched keys.
    var keyCount: Int { catchUp.backlog.keyTable.count }
    /// Whether publications or fetches wait, so that a connection is needed.
    var hasPendingRequests: Bool { !publications.waiting.isEmpty || !fetches.waiting.isEmpty }

    // MARK: Watches and requests

    /// Applies changes to the watched keys.
    mutating func update(_ changes: [WatchChange], now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        for change in changes {
            switch change {
            case .put(let watched) where !watched.interest.isEmpty:
                guard let place = catchUp.backlog.put(watched), isConnected else { continue }
                live.include(place)
            case .put(let watched):
                remove(watched.key)
            case .remove(let key):
                remove(key)
            }
        }
        if isConnected { live.openWhatFits() }
        return finish()
    }

    private mutating func remove(_ key: PublicKey) {
        guard let chunk = catchUp.backlog.remove(key), isConnected else { return }
        live.exclude(from: chunk)
    }

    /// Watches events addressed to the router's own key: registrations, and remote signing if relays of that type are
    /// asked for it. Nil stops watching.
    mutating func watchOwnKey(at place: OwnWatch.Place?, now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        guard place != live.own.place else { return [] }
        live.watchOwnKey(at: place)
        catchUp.backlog.watchOwn(place != nil)
        if isConnected { live.openWhatFits() }
        return finish()
    }

    /// Publishes an event, now or when connected. ``RelayAction/publishEnded(_:isAccepted:message:)`` follows at
    /// `deadline` at the latest. If the event is already being published, the later deadline applies and it ends once.
    mutating func publish(_ event: Event, deadline: Timestamp, now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        publications.add(event, deadline: deadline)
        return finish()
    }

    /// Requests stored events, now or when connected. ``RelayAction/fetchEnded(_:)`` with that number follows at
    /// `deadline` at the latest. The number must not be in use.
    mutating func fetch(_ number: UInt64, _ filters: [Filter], deadline: Timestamp, now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        fetches.add(number, filters, deadline: deadline)
        return finish()
    }

    // MARK: Connections

    /// Starts a connection. `mark`, in seconds, is the second up to which every event was processed, including by an
    /// earlier process.
    mutating func connected(limitation: RelayLimitation, mark: Int64?, now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        isConnected = true
        requests.begin(limitation)
        authentication =
            limitation.isAuthenticationRequired
            ? Authentication(holdUntil: now + min(Self.challengeTimeout, settings.answer)) : Authentication()
        live.begin(settings)
        catchUp.begin(mark: mark, chunkSize: live.keysPerChunk, isOwnWatched: live.own.place != nil)
        live.openAll()
        return finish()
    }

    /// Ends a connection. `isClean`: the router ended it, with no unread data. `isMessageTooLong`: the relay ended it
    /// because a message from the router was too long (status 1009).
    mutating func disconnected(isClean: Bool, isMessageTooLong: Bool = false, now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        guard isConnected else { return finish() }
        if let mark = catchUp.end(isComplete: isClean && isEverythingLive) { requests.act(.marked(mark)) }
        isConnected = false
        requests.end()
        live.end(isMessageTooLong: isMessageTooLong)
        fetches.disconnected()
        publications.disconnected()
        return finish()
    }

    /// Whether no event of established keys is missing at this moment.
    private var isEverythingLive: Bool {
        isConnected && live.table.isComplete && catchUp.isComplete(ignoringOwn: live.isOwnGivenUp)
    }

    // MARK: Messages

    /// Takes a message that is not an event.
    mutating func receive(_ message: ReceivedRelayMessage, now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        guard isConnected else { return [] }
        switch message {
        case .event: return []
        case .endOfStoredEvents(let subscription): ended(subscription)
        case .closed(let subscription, let message): closed(subscription, RejectReason(message))
        case .ok(let id, let isAccepted, let message): answered(id, isAccepted: isAccepted, message)
        case .authenticate(let challenge):
            if let challenge = authentication.challenged(challenge, now: now) {
                requests.act(.authenticate(challenge: challenge))
            }
        case .notice(let text):
            if requests.noticed(text) { live.fit() }
        }
        return finish()
    }

    /// Handles the end of a subscription's stored events.
    private mutating func ended(_ subscription: SubscriptionID) {
        switch requests.accepted(subscription) {
        case .live(let name): live.becameLive(name, subscription)
        case .sweep(let number): catchUp.pageEnded(number)
        case .fetch(let number): fetches.answered(number)
        case .retired, nil: break
        }
    }

    /// Handles a subscription that the relay closed or refused to open.
    private mutating func closed(_ subscription: SubscriptionID, _ refusal: RejectReason) {
        guard let entry = requests.closed(subscription) else { return }
        let isUnanswered =
            switch entry.use {
            case .live(let name): live.isPending(name, subscription)
            case .retired: false
            case .sweep, .fetch: true
            }
        let lesson = requests.learn(
            from: refusal,
            of: entry,
            isUnanswered: isUnanswered,
            hasOpenChunk: live.table.hasOpenChunk
        )
        if lesson.allowsLess { live.fit() }
        let meaning = authentication.meaning(of: lesson.meaning)
        if meaning == .authenticate { authenticate() }
        switch entry.use {
        case .live(let name):
            live.closed(name, subscription, meaning)
        case .sweep(let number):
            let isDone = catchUp.wantsSmallerChunks(number, meaning) && live.shrinkChunks()
            if !isDone { catchUp.closed(number, meaning) }
        case .fetch(let number):
            fetches.closed(number, meaning)
        case .retired(let former):
            live.retiredClosed(subscription, former)
        }
    }

    private mutating func answered(_ id: EventID, isAccepted: Bool, _ message: String) {
        if authentication.answered(id, isAccepted: isAccepted) {
            authenticationEnded()
        } else if publications.answered(id, isAccepted: isAccepted, message, authentication) {
            authenticate()
        }
    }

    // MARK: Authentication

    /// Sends the response to a challenge.
    mutating func signed(_ answer: Event, now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        guard isConnected else { return finish() }
        authentication.sent(answer.id, now: now)
        requests.act(.send(.authenticate(answer)))
        return finish()
    }

    /// Answers the relay's challenge as soon as there is one.
    private mutating func authenticate() {
        if let challenge = authentication.want(now: requests.now) { requests.act(.authenticate(challenge: challenge)) }
    }

    /// Retries the requests that were refused until the router authenticated. If that was in vain, the relay refuses
    /// them again.
    private mutating func authenticationEnded() {
        live.authenticationEnded()
        catchUp.authenticationEnded()
        fetches.authenticationEnded()
        publications.authenticationEnded()
    }

    // MARK: Events

    /// Returns how to read an event that arrived on that subscription; nil to drop it.
    ///
    /// Looks at the event's bytes only in subscriptions to stored events. Produces no actions.
    mutating func received(
        _ event: UnsafeRawBufferPointer,
        on subscription: SubscriptionID,
        now: Timestamp
    ) -> Arrival? {
        if subscription == plainlyLive { return liveArrival(event) }
        requests.begin(at: now)
        switch requests.subscriptions[subscription]?.use {
        case .live(let name):
            let isPending = live.isPending(name, subscription)
            if name == .own, !isOurs(event, isLive: !isPending) {
                live.received(name)
                return nil
            }
            guard isPending else {
                if name != .own { plainlyLive = subscription }
                return liveArrival(event)
            }
            live.received(name)
            // A sweep reads stored events because it knows which ones are new. No sweep reads remote signing.
            return name == .own ? arrival(.stored) : nil
        case .retired:
            return liveArrival(event)
        case .fetch:
            return Arrival(reading: .fetched, sweep: nil)
        case .sweep(let number):
            return catchUp.received(event, in: number, own: live.own, &scanner)
        case nil:
            return nil
        }
    }

    /// Whether an event on the router's own subscription is for this router. If too many are not, it requests less.
    private mutating func isOurs(_ event: UnsafeRawBufferPointer, isLive: Bool) -> Bool {
        guard let scanned = try? scanner.scan(event), !live.own.isOurs(scanned, in: event) else { return true }
        if live.receivedStranger(scanned.kind, isLive: isLive) {
            requests.wake(at: requests.now)
            requests.act(.tooManyRegistrations)
        }
        return false
    }

    /// Extends deadlines while the router skips a message over the limit, because no other message can arrive. Produces
    /// no actions.
    mutating func passes(now: Timestamp) {
        requests.begin(at: now)
        catchUp.passes()
    }

    private mutating func liveArrival(_ event: UnsafeRawBufferPointer) -> Arrival {
        catchUp.cameLive(event, &scanner)
        return arrival(.live)
    }

    private mutating func arrival(_ reading: Reading) -> Arrival {
        Arrival(reading: reading, sweep: nil, epoch: catchUp.backlog.progress.arrived())
    }

    /// Settles an event that ``received(_:on:now:)`` let through but that concerns no account. Produces no actions.
    mutating func passedOver(_ arrival: Arrival) { catchUp.backlog.progress.settled(arrival.epoch) }

    /// Takes the results of events that ``received(_:on:now:)`` let through, one result for each event. `events` are
    /// only read for unprocessed events, to request them again.
    mutating func settled(
        _ arrivals: [Arrival],
        _ events: [[UInt8]],
        isDealtWith: [Bool],
        now: Timestamp
    ) -> [RelayAction] {
        requests.begin(at: now)
        var sweeps: Set<UInt32> = []
        for (index, arrival) in arrivals.enumerated() where arrival.reading != .fetched {
            let isDealtWith = index < isDealtWith.count && isDealtWith[index]
            let missed = isDealtWith || index >= events.count ? nil : id(of: events[index])
            if let number = arrival.sweep {
                sweeps.insert(number)
                catchUp.settled(number, arrival.reading, isDealtWith: isDealtWith, id: missed)
            } else {
                if !isDealtWith {
                    catchUp.backlog.missed(missed, isOwnWatched: live.own.place != nil, now: now)
                }
                catchUp.backlog.progress.settled(arrival.epoch)
            }
        }
        catchUp.finish(sweeps)
        return finish()
    }

    private mutating func id(of event: [UInt8]) -> EventID? {
        event.withUnsafeBytes { try? scanner.scan($0).id }
    }

    // MARK: Time

    /// Does due work.
    mutating func tick(now: Timestamp) -> [RelayAction] {
        requests.begin(at: now)
        return finish()
    }

    /// Does due work, and returns all pending actions.
    private mutating func finish() -> [RelayAction] {
        plainlyLive = nil
        requests.forgetTick()
        publications.expire()
        fetches.expire()
        if isConnected { advance() }
        return requests.takeActions()
    }

    /// Does due work on the connection, within the rate limit.
    private mutating func advance() {
        if let deadline = authentication.deadline(settings.answer) {
            if requests.now >= deadline {
                authentication.presume()
                authenticationEnded()
            } else {
                requests.wake(at: deadline)
            }
        }
        if requests.forgetGuesses() { live.chooseMode() }
        publications.send()
        if let moment = authentication.holdUntil, requests.now < moment { return requests.wake(at: moment) }
        live.advance()
        live.advancePolling()
        fetches.send()
        catchUp.advance(live)
        let (mark, next) = catchUp.backlog.advanceMark(isComplete: isEverythingLive, now: requests.now)
        if let mark { requests.act(.marked(mark)) }
        if let next { requests.wake(at: next) }
    }
}
