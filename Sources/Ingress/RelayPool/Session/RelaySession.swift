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
/// Its parts are machines of their own: ``LiveSubscriptions`` for new events, ``CatchUp`` for stored ones, ``Authentication``,
/// ``Publications`` and ``Fetches``. They send through ``RelayRequests``.
///
/// All times are milliseconds since 1970 unless a name or comment says seconds.
struct RelaySession: Sendable {
    /// Before authenticating, a relay that wants that first is given so long to send its challenge, in milliseconds.
    private static let challengePatience: Int64 = 5_000

    /// The kinds asked for may change, which holds from the next connection on.
    var settings: SessionSettings
    private var isConnected = false
    private var requests: RelayRequests
    private var authentication = Authentication()
    private var live: LiveSubscriptions
    private var catchUp: CatchUp
    private var publications: Publications
    private var fetches: Fetches
    private var scanner = EventScanner()

    init(settings: SessionSettings) {
        self.settings = settings
        requests = RelayRequests(settings: settings)
        live = LiveSubscriptions(settings: settings)
        catchUp = CatchUp(settings: settings)
        publications = Publications(settings: settings)
        fetches = Fetches(settings: settings)
    }

    /// Keys watched.
    var keyCount: Int { catchUp.backlog.roster.count }
    /// Whether anything waits to be published or fetched: a reason to connect.
    var hasErrands: Bool { !publications.isEmpty || !fetches.isEmpty }
    var isAskedByKind: Bool { live.isAskedByKind }
    /// What the relay seems to allow to be open.
    var capacity: RelayCapacity { requests.capacity }
    /// REQs sent since the session began.
    var requestsSent: Int { Int(requests.lastNumber) }
    /// Sweeps through stored events that are not through.
    var sweepCount: Int { catchUp.count }
    /// Whether stored events are being read.
    var isReading: Bool { catchUp.isReading }
    var nextTick: Int64? { requests.nextTick }

    // MARK: What is wanted

    /// Watches keys and stops watching them.
    mutating func update(_ changes: [WatchChange], now: Int64) -> [RelayAction] {
        for change in changes {
            switch change {
            case .put(let watched) where !watched.interest.isEmpty:
                guard let place = catchUp.backlog.put(watched), isConnected else { continue }
                live.include(place, now: now, &catchUp, requests)
            case .put(let watched):
                remove(watched.key, now: now)
            case .remove(let key):
                remove(key, now: now)
            }
        }
        if isConnected { live.openWhatFits(now, &catchUp, &requests) }
        return finish(now)
    }

    private mutating func remove(_ key: PublicKey, now: Int64) {
        guard let chunk = catchUp.backlog.remove(key), isConnected else { return }
        live.exclude(from: chunk, now: now, catchUp.backlog.roster, &requests)
    }

    /// Watches what is addressed to our own key, registrations and remote signing, as far as that is looked for at such
    /// a relay; nil: no longer.
    mutating func watchOwnKey(at place: OwnWatch.Place?, now: Int64) -> [RelayAction] {
        guard place != live.own.place else { return [] }
        live.watchOwnKey(at: place, now: now, &requests)
        catchUp.backlog.watchOwn(place != nil)
        if isConnected { live.openWhatFits(now, &catchUp, &requests) }
        return finish(now)
    }

    /// Publishes an event, now or when connected. ``RelayAction/publishEnded(_:isAccepted:message:)`` follows, at `deadline` at the
    /// latest. An event that is being published already is so until the later deadline, and ends once.
    mutating func publish(_ event: Event, deadline: Int64, now: Int64) -> [RelayAction] {
        publications.add(event, deadline: deadline, now: now, &requests)
        return finish(now)
    }

    /// Asks for stored events, now or when connected. ``RelayAction/fetchEnded(_:)`` with that number follows, at `deadline` at the
    /// latest. The number must not be in use.
    mutating func fetch(_ number: UInt64, _ filters: [Filter], deadline: Int64, now: Int64) -> [RelayAction] {
        fetches.add(number, filters, deadline: deadline, &requests)
        return finish(now)
    }

    // MARK: Connections

    /// Begins a conversation. `mark`, in seconds, is up to when everything was dealt with before, in an earlier process too.
    mutating func connected(limitation: RelayLimitation, mark: Int64?, now: Int64) -> [RelayAction] {
        isConnected = true
        requests.begin(limitation, now: now)
        authentication =
            limitation.isAuthenticationRequired
            ? Authentication(holdUntil: now + min(Self.challengePatience, settings.answer)) : Authentication()
        live.begin(settings, now: now)
        catchUp.begin(
            mark: mark,
            chunkSize: live.keysPerChunk(requests),
            isOwnWatched: live.own.place != nil,
            now: now
        )
        live.openAll(now, &catchUp, &requests)
        return finish(now)
    }

    /// Ends the conversation. `isClean` says that we ended it, with nothing unread; `isMessageTooLong` that the relay did
    /// because a message of ours was too long for it (status 1009).
    mutating func disconnected(isClean: Bool, isMessageTooLong: Bool = false, now: Int64) -> [RelayAction] {
        guard isConnected else { return finish(now) }
        if let mark = catchUp.end(isComplete: isClean && isEverythingLive, now: now) { requests.act(.marked(mark)) }
        isConnected = false
        requests.end()
        live.end(isMessageTooLong: isMessageTooLong, catchUp.backlog.roster)
        fetches.disconnected()
        publications.disconnected(now)
        return finish(now)
    }

    /// Whether nothing of established keys is missing at this moment.
    private var isEverythingLive: Bool {
        isConnected && live.isComplete && catchUp.isComplete(ignoringOwn: live.isOwnGivenUp)
    }

    // MARK: Messages

    /// Takes a message that is no event.
    mutating func receive(_ message: ReceivedRelayMessage, now: Int64) -> [RelayAction] {
        guard isConnected else { return [] }
        switch message {
        case .event: return []
        case .endOfStoredEvents(let subscription): ended(subscription, now: now)
        case .closed(let subscription, let message): closed(subscription, Refusal(message), now: now)
        case .ok(let id, let isAccepted, let message): answered(id, isAccepted: isAccepted, message, now: now)
        case .authenticate(let challenge):
            if let challenge = authentication.challenged(challenge, now: now) {
                requests.act(.authenticate(challenge: challenge))
            }
        case .notice(let text):
            if requests.noticed(text, now: now) { live.fit(now, &catchUp, &requests) }
        }
        return finish(now)
    }

    /// The stored events of a subscription have ended.
    private mutating func ended(_ subscription: SubscriptionID, now: Int64) {
        switch requests.accepted(subscription) {
        case .live(let name): live.becameLive(name, subscription, now, &catchUp, &requests)
        case .sweep(let number): catchUp.pageEnded(number, now: now, &requests)
        case .fetch(let number): fetches.answered(number, &requests)
        case .retired, nil: break
        }
    }

    /// The relay closed a subscription, or would not open it.
    private mutating func closed(_ subscription: SubscriptionID, _ refusal: Refusal, now: Int64) {
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
            hasOpenChunk: live.hasOpenChunk,
            now: now
        )
        if lesson.allowsLess { live.fit(now, &catchUp, &requests) }
        let meaning = authentication.meaning(of: lesson.meaning)
        if meaning == .authenticate { authenticate(now: now) }
        switch entry.use {
        case .live(let name):
            live.closed(name, subscription, meaning, now, &catchUp, &requests)
        case .sweep(let number):
            let isDone = catchUp.wantsSmallerChunks(number, meaning) && live.shrinkChunks(now, &catchUp, &requests)
            if !isDone { catchUp.closed(number, meaning, now: now, &requests) }
        case .fetch(let number):
            fetches.closed(number, meaning, now: now, &requests)
        case .retired(let former):
            live.retiredClosed(subscription, former, now, &catchUp)
        }
    }

    private mutating func answered(_ id: EventID, isAccepted: Bool, _ message: String, now: Int64) {
        if authentication.answered(id, isAccepted: isAccepted) {
            authenticationEnded(now: now)
        } else if publications.answered(id, isAccepted: isAccepted, message, authentication, now: now, &requests) {
            authenticate(now: now)
        }
    }

    // MARK: Authentication

    /// Sends the answer to a challenge and remembers what waits for it.
    mutating func signed(_ answer: Event, now: Int64) -> [RelayAction] {
        guard isConnected else { return finish(now) }
        authentication.sent(answer.id, now: now)
        requests.act(.send(.authenticate(answer)))
        return finish(now)
    }

    /// Answers the relay's challenge, as soon as there is one.
    private mutating func authenticate(now: Int64) {
        if let challenge = authentication.want(now: now) { requests.act(.authenticate(challenge: challenge)) }
    }

    /// Asks again for what was refused until we had said who we are. If that was in vain, the relay will say so.
    private mutating func authenticationEnded(now: Int64) {
        live.authenticationEnded(now)
        catchUp.authenticationEnded(now)
        fetches.authenticationEnded(now)
        publications.authenticationEnded(now)
    }

    // MARK: Events

    /// Says how an event is to be read that came on that subscription; nil when it is not to be read at all.
    ///
    /// Looks at the event's bytes only in subscriptions to stored events. Is not followed by actions.
    mutating func received(_ event: UnsafeRawBufferPointer, on subscription: SubscriptionID, now: Int64) -> Arrival? {
        switch requests.subscriptions[subscription]?.use {
        case .live(let name):
            let isPending = live.isPending(name, subscription)
            if name == .own, !isOurs(event, isLive: !isPending, now: now) {
                live.received(name, now: now)
                return nil
            }
            guard isPending else { return liveArrival(event) }
            live.received(name, now: now)
            // What is stored is read by a sweep, which knows what is new. Nobody sweeps for remote signing.
            return name == .own ? arrival(.stored) : nil
        case .retired:
            return liveArrival(event)
        case .fetch:
            return Arrival(reading: .fetched, sweep: nil)
        case .sweep(let number):
            return catchUp.received(event, in: number, own: live.own, &scanner, now: now)
        case nil:
            return nil
        }
    }

    /// Whether an event on our own key's account is for us. If too many are not, less is asked for.
    private mutating func isOurs(_ event: UnsafeRawBufferPointer, isLive: Bool, now: Int64) -> Bool {
        guard let scanned = try? scanner.scan(event), !live.own.isOurs(scanned, in: event) else { return true }
        if live.receivedStranger(scanned.kind, isLive: isLive, now: now) {
            requests.wake(at: now)
            requests.act(.tooManyRegistrations)
        }
        return false
    }

    private mutating func liveArrival(_ event: UnsafeRawBufferPointer) -> Arrival {
        catchUp.cameLive(event, &scanner)
        return arrival(.live)
    }

    private mutating func arrival(_ reading: Reading) -> Arrival {
        Arrival(reading: reading, sweep: nil, epoch: catchUp.backlog.handedOver())
    }

    /// Takes what became of events that ``received(_:on:now:)`` let through, one result an event. The events are looked at only
    /// where they were not dealt with, to be read again.
    mutating func settled(
        _ arrivals: [Arrival],
        _ events: [[UInt8]],
        isDealtWith: [Bool],
        now: Int64
    ) -> [RelayAction] {
        var sweeps: Set<UInt32> = []
        for (index, arrival) in arrivals.enumerated() where arrival.reading != .fetched {
            let isDealtWith = index < isDealtWith.count && isDealtWith[index]
            let missed = isDealtWith || index >= events.count ? nil : id(of: events[index])
            if let number = arrival.sweep {
                sweeps.insert(number)
                catchUp.settled(number, arrival.reading, isDealtWith: isDealtWith, id: missed, now: now)
            } else {
                if !isDealtWith {
                    catchUp.backlog.missed(missed, isOwnWatched: live.own.place != nil, now: now)
                }
                catchUp.backlog.settled(epoch: arrival.epoch)
            }
        }
        catchUp.finish(sweeps, now: now, &requests)
        return finish(now)
    }

    private mutating func id(of event: [UInt8]) -> EventID? {
        event.withUnsafeBytes { try? scanner.scan($0).id }
    }

    // MARK: Time

    /// Does what is due.
    mutating func tick(now: Int64) -> [RelayAction] { finish(now) }

    /// Does what is due, and returns what it and what was before led to.
    private mutating func finish(_ now: Int64) -> [RelayAction] {
        requests.forgetTick()
        publications.expire(now, &requests)
        fetches.expire(now, &requests)
        if isConnected { advance(now) }
        return requests.takeActions()
    }

    /// Does what is due, as far as the pace allows.
    private mutating func advance(_ now: Int64) {
        if let deadline = authentication.deadline(settings.answer) {
            if now >= deadline {
                authentication.presume()
                authenticationEnded(now: now)
            } else {
                requests.wake(at: deadline)
            }
        }
        if requests.forgetGuesses(now) { live.chooseMode(now, &catchUp, &requests) }
        publications.send(now, &requests)
        if let moment = authentication.holdUntil, now < moment { return requests.wake(at: moment) }
        live.advance(now, &catchUp, &requests)
        live.advancePolling(now, &catchUp, &requests)
        fetches.send(now, &requests)
        catchUp.advance(now, live, &requests)
        let (mark, next) = catchUp.backlog.advanceMark(isComplete: isEverythingLive, now: now)
        if let mark { requests.act(.marked(mark)) }
        if let next { requests.wake(at: next) }
    }
}
