import Core
import Nostr

/// Reads stored events at one relay: several sweeps at a time, as long as the ``Backlog`` has something to read.
final class CatchUp {
    /// Concurrent sweeps, including those that wait for results or for a pause to end.
    private static let sweepLimit = 4
    /// The most live events that are remembered while stored events are read for new keys.
    private static let rememberedLimit = 10_000
    /// Ids in one filter at most.
    private static let idsPerFilter = 200

    private let requests: RelayRequests
    private let settings: SessionSettings
    /// Live subscriptions change this as well.
    var backlog: Backlog
    /// Those that are not finished.
    private(set) var sweeps: [UInt32: Sweep] = [:]
    private var lastNumber: UInt32 = 0
    /// Whether one REQ may read several stages.
    private var asksTogether = true
    /// Events that came live while stored events were read for new keys: they are new, although they are stored by now.
    private var liveWhileBeginning: Set<EventID> = []

    init(_ requests: RelayRequests) {
        self.requests = requests
        settings = requests.settings
        backlog = Backlog(settings: settings)
    }

    /// Whether a page is being read.
    var isReading: Bool { sweeps.values.contains { $0.subscription != nil } }

    /// Whether everything was read for established keys.
    func isComplete(ignoringOwn: Bool) -> Bool {
        backlog.isEmpty(ignoringOwn: ignoringOwn) && !sweeps.values.contains(where: \.holdsMark)
    }

    // MARK: Connections

    /// Begins a connection. `mark`, in seconds, is up to when everything was dealt with before, in an earlier process
    /// too.
    func begin(mark: Int64?, chunkSize: Int, isOwnWatched: Bool) {
        sweeps = [:]
        backlog.begin(mark: mark, chunkSize: chunkSize, isOwnWatched: isOwnWatched, now: requests.now)
    }

    /// Ends a connection. Returns the new mark if one holds.
    func end(isComplete: Bool) -> Int64? {
        sweeps = [:]
        return backlog.end(isComplete: isComplete, now: requests.now)
    }

    // MARK: Requests

    /// Requests pages that are due, and begins sweeps while there is anything to read and room for it.
    func advance(_ live: LiveSubscriptions) {
        expire()
        for number in sweeps.keys.sorted() {
            guard let sweep = sweeps[number], sweep.subscription == nil, let step = sweep.step else { continue }
            guard sweep.retry.at <= requests.now else {
                requests.wake(at: sweep.retry.at)
                continue
            }
            guard hasPlace(for: step.length, live), requests.takeTurn() else { return }
            requestPage(number)
        }
        while hasPlace(for: requests.messageLength, live), sweeps.count < Self.sweepLimit {
            guard let next = nextPurpose(live) else { return }
            guard requests.mayTakeTurn() else { return }
            guard let sweep = make(next, live) else { continue }
            _ = requests.takeTurn()
            sweeps[sweep.number] = sweep
            requestPage(sweep.number)
        }
    }

    /// Whether there is room for a REQ of that length. One subscription is left for fetches; live ones come first.
    private func hasPlace(for length: Int, _ live: LiveSubscriptions) -> Bool {
        let open = sweeps.values.count { $0.subscription != nil }
        let limit = requests.capacity.subscriptions
        guard open < settings.sweepsAtOnce, !live.waitsForRoom,
            requests.subscriptions.entries.count < (open == 0 ? limit : limit - 1)
        else { return false }
        if requests.subscriptions.bytes + length <= requests.capacity.bytes { return true }
        // Long-lived subscriptions leave room for one sweep. If that is a little less than one takes, it must do.
        return open == 0 && live.table.isAtRest
    }

    private func nextPurpose(_ live: LiveSubscriptions) -> Sweep.Purpose? {
        if let moment = backlog.missedAt, moment > requests.now { requests.wake(at: moment) }
        return backlog.nextPurpose(now: requests.now, isOwnOpen: live.isOwnOpen) { live.isOpen(chunk: $0) }
    }

    /// Makes the sweep; nil if there is nothing to read after all.
    private func make(_ purpose: Sweep.Purpose, _ live: LiveSubscriptions) -> Sweep? {
        lastNumber = lastNumber == .max ? 1 : lastNumber + 1
        // Nothing older is read, in seconds.
        let horizon = max(0, (requests.now - settings.catchUp).seconds)
        let slack = settings.slack.seconds
        var entries: [KeyEntry] = []
        let stages: [SweepStage]
        switch purpose {
        case .again:
            stages = self.stages(for: backlog.missed.take())
        case .own(let since):
            stages = live.own.stages(
                since: since.map { max(0, $0 - slack) },
                pages: settings.pages,
                wholePages: settings.registrationPages
            )
            backlog.own.take()
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
        return Sweep(number: lastNumber, purpose: purpose, keys: entries.map(\.key), steps: steps(for: stages))
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

    private func steps(for stages: [SweepStage]) -> [SweepStep] {
        let limit = min(settings.pageLimit, requests.limitation.maxLimit ?? settings.pageLimit)
        return SweepStep.pack(stages, limit: limit, within: asksTogether ? requests.messageLength - 64 : 0)
    }

    private func requestPage(_ number: UInt32) {
        sweeps[number]?.beginPage()
        guard let step = sweeps[number]?.step else { return }
        let id = requests.request(step.filters, as: .sweep(number))
        sweeps[number]?.sent(id, now: requests.now)
        requests.wake(at: requests.now + settings.answer)
    }

    /// Counts pages without an answer as failed.
    private func expire() {
        for (number, sweep) in sweeps {
            guard let deadline = sweep.deadline(settings.answer) else { continue }
            guard requests.now >= deadline else {
                requests.wake(at: deadline)
                continue
            }
            requests.countUnanswered()
            requests.close(sweep.subscription)
            failed(number)
        }
    }

    private func failed(_ number: UInt32) {
        guard let sweep = sweeps[number] else { return }
        sweeps[number]?.failed(until: requests.now + settings.pause(after: sweep.retry.failures))
    }

    // MARK: Answers

    /// All events of a page came.
    func pageEnded(_ number: UInt32) {
        requests.close(sweeps[number]?.subscription)
        if let unread = sweeps[number]?.endPage(), unread > 0 { requests.act(.unread(unread)) }
        finish(number)
    }

    /// Whether a REQ was refused for a reason that fewer keys in each chunk may remove.
    func wantsSmallerChunks(_ number: UInt32, _ refusal: Refusal) -> Bool {
        guard refusal == .smaller, let sweep = sweeps[number] else { return false }
        return sweep.step?.isOfSeveral != true && sweep.keys.count > 50
    }

    /// The relay closed the subscription of a sweep, or did not open it.
    func closed(_ number: UInt32, _ refusal: Refusal) {
        guard let sweep = sweeps[number] else { return }
        switch refusal {
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            failed(number)
        case .authenticate:
            sweeps[number]?.failed(until: requests.now + settings.answer)
            sweeps[number]?.retry.awaitAuthentication(until: requests.now + settings.answer)
        case .smaller where sweep.step?.isOfSeveral == true, .never where sweep.step?.isOfSeveral == true:
            asksTogether = false
            sweeps[number]?.separate()
        case .smaller, .never:
            sweeps[number]?.endStep()
            finish(number)
        }
    }

    func authenticationEnded() {
        for number in sweeps.keys { sweeps[number]?.retry.authenticationEnded(requests.now) }
    }

    /// Postpones the page that is being read. Returns false if there is none.
    func interrupt() -> Bool {
        guard let (number, sweep) = sweeps.filter({ $0.value.subscription != nil }).max(by: { $0.key < $1.key }) else {
            return false
        }
        requests.close(sweep.subscription)
        sweeps[number]?.stopPage()
        sweeps[number]?.retry.wait(until: requests.now + settings.firstPause)
        return true
    }

    /// Gives keys new places, in chunks of that size. What is being read is read again.
    func rearrange(chunkSize: Int) {
        for number in Array(sweeps.keys) { dissolve(number) }
        backlog.rearrange(chunkSize: chunkSize)
    }

    /// Ends a finished sweep, or lets it read again what was not dealt with.
    private func finish(_ number: UInt32) {
        guard let sweep = sweeps[number], sweep.isRead else { return }
        if sweep.mustBeginAgain {
            dissolve(number)
        } else if !sweep.undealt.isEmpty {
            let steps = steps(for: stages(for: sweep.undealt))
            sweeps[number]?.readAgain(steps, now: requests.now, settings)
        } else {
            sweeps[number] = nil
            if sweep.purpose == .again { backlog.missed.wereRead() }
            let keys = backlog.readingEnded(for: sweep.keys, by: number)
            if sweep.isBeginning, !keys.isEmpty { requests.act(.established(keys)) }
        }
    }

    /// Drops an unfinished sweep, and queues again what it read.
    private func dissolve(_ number: UInt32) {
        guard let sweep = sweeps.removeValue(forKey: number) else { return }
        requests.close(sweep.subscription)
        switch sweep.purpose {
        case .again: backlog.missed.putBack(sweep.undealt)
        case .own(let since): backlog.own.abandoned(since: since)
        case .gap(let chunk, let since): backlog.read(chunk: chunk, since: since)
        case .stragglers, .beginning: backlog.readingAbandoned(for: sweep.keys, by: number)
        }
    }

    // MARK: Events

    /// Says how an event that a sweep brought is to be read; nil when it is not wanted.
    func received(
        _ event: UnsafeRawBufferPointer,
        in number: UInt32,
        own: OwnWatch,
        _ scanner: inout EventScanner
    ) -> Arrival? {
        sweeps[number]?.received(now: requests.now)
        guard let scanned = try? scanner.scan(event), let reading = sweeps[number]?.reading(of: scanned),
            let sweep = sweeps[number]
        else { return nil }
        if sweep.isForOwnKey, !own.isOurs(scanned, in: event) { return nil }
        if reading == .baseline {
            // Otherwise one user's relay could make other users' messages look old.
            let isMessage = scanned.kind == .giftWrap || scanned.kind == .ephemeralGiftWrap
            if isMessage, !sweep.asksFor(scanner.pValues) { return nil }
            if liveWhileBeginning.contains(scanned.id) || backlog.missed.events[scanned.id] != nil { return nil }
        }
        sweeps[number]?.handedOver()
        return Arrival(reading: reading, sweep: number)
    }

    /// A message over the limit is being read past: pages that are open wait for it.
    func passes() {
        for (number, sweep) in sweeps where sweep.subscription != nil { sweeps[number]?.received(now: requests.now) }
    }

    /// Remembers a live event, because a sweep may bring it again and take it for an old one.
    func cameLive(_ event: UnsafeRawBufferPointer, _ scanner: inout EventScanner) {
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
    func settled(_ number: UInt32, _ reading: Reading, isDealtWith: Bool, id: EventID?) {
        guard sweeps[number] != nil else { return }
        sweeps[number]?.settled(now: requests.now)
        if !isDealtWith { sweeps[number]?.missed(id, reading, atMost: Backlog.missedLimit) }
    }

    /// Ends those of these sweeps that are finished.
    func finish(_ numbers: Set<UInt32>) {
        for number in numbers { finish(number) }
    }
}

/// Finds moments up to which every event was dealt with, although further events keep coming.
///
/// Events are counted by epoch. A candidate ends an epoch. Once no event of that epoch or earlier ones is outstanding,
/// the candidate holds.
struct MarkProgress: Sendable {
    /// Corrections of the clock by less than this are normal.
    private static let clockSlack: Duration = .minutes(1)

    /// The last moment that held, in seconds since 1970.
    private(set) var reached: Int64?
    private(set) var epoch: UInt32 = 0
    /// How many events of the current epoch are out; no dictionary is for each event.
    private var current = 0
    /// The same of earlier epochs, where there are any.
    private var earlier: [UInt32: Int] = [:]
    private var candidate: (seconds: Int64, epoch: UInt32)?
    /// When to look for the next candidate.
    private(set) var nextAt = Timestamp.epoch

    /// Whether no event is out.
    var isIdle: Bool { current == 0 && earlier.isEmpty }

    /// Counts an event that is handed over; returns its epoch.
    mutating func arrived() -> UInt32 {
        current += 1
        return epoch
    }

    /// Counts an event that was dealt with, or was not and will be read again.
    mutating func settled(_ epoch: UInt32) {
        if epoch == self.epoch {
            current = max(0, current - 1)
        } else if let count = earlier[epoch] {
            earlier[epoch] = count > 1 ? count - 1 : nil
        }
    }

    /// Something is missing: no moment after the last mark holds for now.
    mutating func dismiss() { candidate = nil }

    /// Sets what an earlier process reached.
    mutating func resume(from seconds: Int64) {
        reached = max(reached ?? seconds, seconds)
    }

    /// Takes back a mark from a clock that ran ahead of `now` and was set back since: everything after `seconds` is
    /// open again.
    mutating func distrust(now: Timestamp, to seconds: Int64) {
        guard let reached, reached > (now + Self.clockSlack).seconds else { return }
        self.reached = seconds
        candidate = nil
        nextAt = .epoch
    }

    /// Checks at `now` whether a moment holds. Call it only if nothing is missing.
    mutating func advance(now: Timestamp, interval: Duration) -> Int64? {
        if candidate == nil, now >= nextAt {
            candidate = (now.seconds, epoch)
            if current > 0 { earlier[epoch] = current }
            current = 0
            epoch &+= 1
        }
        guard let candidate, !earlier.keys.contains(where: { $0 <= candidate.epoch }) else { return nil }
        self.candidate = nil
        nextAt = now + interval
        guard candidate.seconds > reached ?? 0 else { return nil }
        reached = candidate.seconds
        return candidate.seconds
    }

    /// Takes `now` as the mark, if no event is outstanding. Returns nil if that is nothing new.
    mutating func conclude(now: Timestamp) -> Int64? {
        guard isIdle, now.seconds > reached ?? 0 else { return nil }
        reached = now.seconds
        return reached
    }
}
