import Nostr
import Units

/// Reads stored events at one relay: several sweeps at a time, as long as the ``Backlog`` has something to read.
struct CatchUp: Sendable {
    /// Concurrent sweeps, including those that wait for results or for a pause to end.
    private static let sweepLimit = 4
    /// The most live events that are remembered while stored events are read for new keys.
    private static let rememberedLimit = 10_000
    /// Ids in one filter at most.
    private static let idsPerFilter = 200

    private let settings: SessionSettings
    /// Live subscriptions change this as well.
    var backlog: Backlog
    private var sweeps: [UInt32: Sweep] = [:]
    private var lastNumber: UInt32 = 0
    /// Whether one REQ may read several stages.
    private var asksTogether = true
    /// Events that came live while stored events were read for new keys: they are new, although they are stored by now.
    private var liveWhileBeginning: Set<EventID> = []

    init(settings: SessionSettings) {
        self.settings = settings
        backlog = Backlog(settings: settings)
    }

    /// Unfinished sweeps.
    var count: Int { sweeps.count }
    /// Whether a page is being read.
    var isReading: Bool { sweeps.values.contains { $0.subscription != nil } }

    /// Whether everything was read for established keys.
    func isComplete(ignoringOwn: Bool) -> Bool {
        backlog.isEmpty(ignoringOwn: ignoringOwn) && !sweeps.values.contains(where: \.holdsMark)
    }

    // MARK: Connections

    /// Begins a connection. `mark`, in seconds, is up to when everything was dealt with before, in an earlier process
    /// too.
    mutating func begin(mark: Int64?, chunkSize: Int, isOwnWatched: Bool, now: Timestamp) {
        sweeps = [:]
        backlog.begin(mark: mark, chunkSize: chunkSize, isOwnWatched: isOwnWatched, now: now)
    }

    /// Ends a connection. Returns the new mark if one holds.
    mutating func end(isComplete: Bool, now: Timestamp) -> Int64? {
        sweeps = [:]
        return backlog.end(isComplete: isComplete, now: now)
    }

    // MARK: Requests

    /// Requests pages that are due, and begins sweeps while there is anything to read and room for it.
    mutating func advance(_ live: LiveSubscriptions, _ requests: inout RelayRequests) {
        expire(&requests)
        for number in sweeps.keys.sorted() {
            guard let sweep = sweeps[number], sweep.subscription == nil, let step = sweep.step else { continue }
            guard sweep.retry.at <= requests.now else {
                requests.wake(at: sweep.retry.at)
                continue
            }
            guard hasPlace(for: step.length, live, requests), requests.takeTurn() else { return }
            requestPage(number, &requests)
        }
        while hasPlace(for: requests.messageLength, live, requests), sweeps.count < Self.sweepLimit {
            guard let next = nextPurpose(live, &requests) else { return }
            guard requests.mayTakeTurn() else { return }
            guard let sweep = make(next, live, requests) else { continue }
            _ = requests.takeTurn()
            sweeps[sweep.number] = sweep
            requestPage(sweep.number, &requests)
        }
    }

    /// Whether there is room for a REQ of that length. One subscription is left for fetches; live ones come first.
    private func hasPlace(for length: Int, _ live: LiveSubscriptions, _ requests: RelayRequests) -> Bool {
        let open = sweeps.values.count { $0.subscription != nil }
        let limit = requests.capacity.subscriptions
        guard open < settings.sweepsAtOnce, !live.waitsForRoom,
            requests.subscriptions.count < (open == 0 ? limit : limit - 1)
        else { return false }
        if requests.subscriptions.bytes + length <= requests.capacity.bytes { return true }
        // Long-lived subscriptions leave room for one sweep. If that is a little less than one takes, it must do.
        return open == 0 && live.isAtRest
    }

    private func nextPurpose(_ live: LiveSubscriptions, _ requests: inout RelayRequests) -> Sweep.Purpose? {
        if let moment = backlog.missedAt, moment > requests.now { requests.wake(at: moment) }
        let capacity = requests.capacity
        return backlog.nextPurpose(now: requests.now, isOwnOpen: live.isOwnOpen) {
            live.isOpen(chunk: $0, of: backlog.roster.chunkSize, capacity)
        }
    }

    /// Makes the sweep; nil if there is nothing to read after all.
    private mutating func make(_ purpose: Sweep.Purpose, _ live: LiveSubscriptions, _ requests: RelayRequests) -> Sweep?
    {
        lastNumber = lastNumber == .max ? 1 : lastNumber + 1
        // Nothing older is read, in seconds.
        let horizon = max(0, (requests.now - settings.catchUp).seconds)
        let slack = settings.slack.seconds
        var entries: [RosterEntry] = []
        let stages: [SweepStage]
        switch purpose {
        case .again:
            stages = self.stages(for: backlog.takeMissed())
        case .own(let since):
            stages = live.own.stages(
                since: since.map { max(0, $0 - slack) },
                pages: settings.pages,
                wholePages: settings.registrationPages
            )
            backlog.takeOwnGap()
        case .gap(let chunk, let since):
            entries = backlog.takeGap(chunk: chunk)
            let first = entries.map { Int64($0.since) }.min() ?? 0
            stages = live.plan.catchUp(entries, since: max(first, since - slack, horizon))
        case .stragglers:
            entries = backlog.takeStragglers(for: lastNumber)
            let first = entries.map { max(Int64($0.since), Int64($0.behindSince) - slack) }.min() ?? 0
            stages = live.plan.catchUp(entries, since: max(first, horizon))
        case .beginning:
            entries = backlog.takeBeginnings(for: lastNumber)
            stages = live.plan.beginning(entries, notBefore: horizon)
        }
        guard !stages.isEmpty else { return nil }
        return Sweep(
            number: lastNumber,
            purpose: purpose,
            keys: entries.map(\.key),
            steps: steps(for: stages, requests)
        )
    }

    private func stages(for events: [EventID: Reading]) -> [SweepStage] {
        var stages: [SweepStage] = []
        for reading in Set(events.values) {
            let ids = events.filter { $0.value == reading }.keys.sorted()
            for start in stride(from: 0, to: ids.count, by: Self.idsPerFilter) {
                let some = Set(ids[start..<min(start + Self.idsPerFilter, ids.count)])
                stages.append(SweepStage(filter: Filter(ids: some), reading: reading, pages: settings.pages))
            }
        }
        return stages
    }

    private func steps(for stages: [SweepStage], _ requests: RelayRequests) -> [SweepStep] {
        let limit = min(settings.pageLimit, requests.limitation.maxLimit ?? settings.pageLimit)
        return SweepStep.pack(stages, limit: limit, within: asksTogether ? requests.messageLength - 64 : 0)
    }

    private mutating func requestPage(_ number: UInt32, _ requests: inout RelayRequests) {
        sweeps[number]?.beginPage()
        guard let step = sweeps[number]?.step else { return }
        let id = requests.request(step.filters, as: .sweep(number))
        sweeps[number]?.sent(id, now: requests.now)
        requests.wake(at: requests.now + settings.answer)
    }

    /// Counts pages without an answer as failed.
    private mutating func expire(_ requests: inout RelayRequests) {
        for (number, sweep) in sweeps {
            guard let deadline = sweep.deadline(settings.answer) else { continue }
            guard requests.now >= deadline else {
                requests.wake(at: deadline)
                continue
            }
            requests.countUnanswered()
            requests.close(sweep.subscription)
            failed(number, now: requests.now)
        }
    }

    private mutating func failed(_ number: UInt32, now: Timestamp) {
        guard let sweep = sweeps[number] else { return }
        sweeps[number]?.failed(until: now + settings.pause(after: sweep.retry.failures))
    }

    // MARK: Answers

    /// All events of a page came.
    mutating func pageEnded(_ number: UInt32, _ requests: inout RelayRequests) {
        requests.close(sweeps[number]?.subscription)
        if let unread = sweeps[number]?.endPage(), unread > 0 { requests.act(.unread(unread)) }
        finish(number, &requests)
    }

    /// Whether a REQ was refused for a reason that fewer keys in each chunk may remove.
    func wantsSmallerChunks(_ number: UInt32, _ refusal: Refusal) -> Bool {
        guard refusal == .smaller, let sweep = sweeps[number] else { return false }
        return sweep.step?.isOfSeveral != true && sweep.keys.count > 50
    }

    /// The relay closed the subscription of a sweep, or did not open it.
    mutating func closed(_ number: UInt32, _ refusal: Refusal, _ requests: inout RelayRequests) {
        guard let sweep = sweeps[number] else { return }
        switch refusal {
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            failed(number, now: requests.now)
        case .authenticate:
            sweeps[number]?.failed(until: requests.now + settings.answer)
            sweeps[number]?.retry.awaitAuthentication(until: requests.now + settings.answer)
        case .smaller where sweep.step?.isOfSeveral == true, .never where sweep.step?.isOfSeveral == true:
            asksTogether = false
            sweeps[number]?.separate()
        case .smaller, .never:
            sweeps[number]?.endStep()
            finish(number, &requests)
        }
    }

    mutating func authenticationEnded(_ now: Timestamp) {
        for number in sweeps.keys { sweeps[number]?.retry.authenticationEnded(now) }
    }

    /// Postpones the page that is being read. Returns false if there is none.
    mutating func interrupt(_ requests: inout RelayRequests) -> Bool {
        guard let (number, sweep) = sweeps.filter({ $0.value.subscription != nil }).max(by: { $0.key < $1.key }) else {
            return false
        }
        requests.close(sweep.subscription)
        sweeps[number]?.stopPage()
        sweeps[number]?.retry.wait(until: requests.now + settings.firstPause)
        return true
    }

    /// Gives keys new places, in chunks of that size. What is being read is read again.
    mutating func rearrange(chunkSize: Int, _ requests: inout RelayRequests) {
        for number in Array(sweeps.keys) { dissolve(number, &requests) }
        backlog.rearrange(chunkSize: chunkSize)
    }

    /// Ends a finished sweep, or lets it read again what was not dealt with.
    private mutating func finish(_ number: UInt32, _ requests: inout RelayRequests) {
        guard let sweep = sweeps[number], sweep.isRead else { return }
        if sweep.mustBeginAgain {
            dissolve(number, &requests)
        } else if !sweep.undealt.isEmpty {
            let steps = steps(for: stages(for: sweep.undealt), requests)
            sweeps[number]?.readAgain(steps, now: requests.now, settings)
        } else {
            sweeps[number] = nil
            if sweep.purpose == .again { backlog.missedWereRead() }
            let keys = backlog.readingEnded(for: sweep.keys, by: number)
            if sweep.isBeginning, !keys.isEmpty { requests.act(.established(keys)) }
        }
    }

    /// Drops an unfinished sweep, and queues again what it read.
    private mutating func dissolve(_ number: UInt32, _ requests: inout RelayRequests) {
        guard let sweep = sweeps.removeValue(forKey: number) else { return }
        requests.close(sweep.subscription)
        switch sweep.purpose {
        case .again: backlog.missedAgain(sweep.undealt)
        case .own(let since): backlog.ownReadingAbandoned(since: since)
        case .gap(let chunk, let since): backlog.read(chunk: chunk, since: since)
        case .stragglers, .beginning: backlog.readingAbandoned(for: sweep.keys, by: number)
        }
    }

    // MARK: Events

    /// Says how an event that a sweep brought is to be read; nil when it is not wanted.
    mutating func received(
        _ event: UnsafeRawBufferPointer,
        in number: UInt32,
        own: OwnWatch,
        _ scanner: inout EventScanner,
        now: Timestamp
    ) -> Arrival? {
        sweeps[number]?.received(now: now)
        guard let scanned = try? scanner.scan(event), let reading = sweeps[number]?.reading(of: scanned),
            let sweep = sweeps[number]
        else { return nil }
        if sweep.isForOwnKey, !own.isOurs(scanned, in: event) { return nil }
        if reading == .baseline {
            // Otherwise one user's relay could make other users' messages look old.
            let isMessage = scanned.kind == .giftWrap || scanned.kind == .ephemeralGiftWrap
            if isMessage, !sweep.asksFor(scanner.pValues) { return nil }
            if liveWhileBeginning.contains(scanned.id) || backlog.isMissed(scanned.id) { return nil }
        }
        sweeps[number]?.handedOver()
        return Arrival(reading: reading, sweep: number)
    }

    /// A message over the limit is being read past: pages that are open wait for it.
    mutating func passes(now: Timestamp) {
        for (number, sweep) in sweeps where sweep.subscription != nil { sweeps[number]?.received(now: now) }
    }

    /// Remembers a live event, because a sweep may bring it again and take it for an old one.
    mutating func cameLive(_ event: UnsafeRawBufferPointer, _ scanner: inout EventScanner) {
        if sweeps.isEmpty {
            if !liveWhileBeginning.isEmpty { liveWhileBeginning = [] }
        } else if liveWhileBeginning.count < Self.rememberedLimit, sweeps.values.contains(where: \.isBeginning),
            let id = try? scanner.scan(event).id
        {
            liveWhileBeginning.insert(id)
        }
    }

    /// Takes the result for an event that a sweep brought. An event without an id cannot be asked for again.
    /// ``finish(_:_:)`` follows.
    mutating func settled(_ number: UInt32, _ reading: Reading, isDealtWith: Bool, id: EventID?, now: Timestamp) {
        guard sweeps[number] != nil else { return }
        sweeps[number]?.settled(now: now)
        if !isDealtWith { sweeps[number]?.missed(id, reading, atMost: Backlog.missedLimit) }
    }

    /// Ends those of these sweeps that are finished.
    mutating func finish(_ numbers: Set<UInt32>, _ requests: inout RelayRequests) {
        for number in numbers { finish(number, &requests) }
    }
}
