import Core
import Nostr

/// Reads stored events at one relay in several concurrent sweeps until the ``Backlog`` is empty.
final class CatchUp {
    /// Concurrent sweeps, including those that wait for results or for a pause to end.
    private static let sweepLimit = 4
    /// Up to this many live events are remembered while stored events are read for new keys.
    private static let rememberedLimit = 10_000
    /// Up to this many ids are in one filter.
    private static let idsPerFilter = 200

    private let requests: RelayRequests
    private let settings: SessionSettings
    /// Live subscriptions change this as well.
    var backlog: Backlog
    /// The unfinished sweeps.
    private(set) var sweeps: [UInt32: Sweep] = [:]
    private var lastNumber: UInt32 = 0
    /// Whether one REQ may read several stages.
    private var asksTogether = true
    /// Live events that arrived while stored events were read for new keys. They count as new although they are stored
    /// by now.
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

    /// Starts a connection. `mark`, in seconds, is the second up to which every event was processed, including by an
    /// earlier process.
    func begin(mark: Int64?, chunkSize: Int, isOwnWatched: Bool) {
        sweeps = [:]
        backlog.begin(mark: mark, chunkSize: chunkSize, isOwnWatched: isOwnWatched, now: requests.now)
    }

    /// Ends a connection. Returns the new mark if there is one.
    func end(isComplete: Bool) -> Int64? {
        sweeps = [:]
        return backlog.end(isComplete: isComplete, now: requests.now)
    }

    // MARK: Requests

    /// Requests pages that are due, and starts sweeps while there is something to read and capacity for it.
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

    /// Whether a REQ of that length fits. One subscription stays free for fetches, and live subscriptions have
    /// priority.
    private func hasPlace(for length: Int, _ live: LiveSubscriptions) -> Bool {
        let open = sweeps.values.count { $0.subscription != nil }
        let limit = requests.capacity.subscriptions
        guard open < settings.sweepsAtOnce, !live.waitsForRoom,
            requests.subscriptions.entries.count < (open == 0 ? limit : limit - 1)
        else { return false }
        if requests.subscriptions.bytes + length <= requests.capacity.bytes { return true }
        // Live subscriptions leave capacity for one sweep, even if it needs slightly more than is left.
        return open == 0 && live.table.isAtRest
    }

    private func nextPurpose(_ live: LiveSubscriptions) -> Sweep.Purpose? {
        if let moment = backlog.missedAt, moment > requests.now { requests.wake(at: moment) }
        return backlog.nextPurpose(now: requests.now, isOwnOpen: live.isOwnOpen) { live.isOpen(chunk: $0) }
    }

    /// Returns the sweep, or nil if there is nothing to read.
    private func make(_ purpose: Sweep.Purpose, _ live: LiveSubscriptions) -> Sweep? {
        lastNumber = lastNumber == .max ? 1 : lastNumber + 1
        // Events older than this, in seconds, are not read.
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

    /// Counts pages without a response as failed.
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

    /// Ends a page after all its events came.
    func pageEnded(_ number: UInt32) {
        requests.close(sweeps[number]?.subscription)
        if let unread = sweeps[number]?.endPage(), unread > 0 { requests.act(.unread(unread)) }
        finish(number)
    }

    /// Whether a REQ was refused for a reason that smaller chunks may remove.
    func wantsSmallerChunks(_ number: UInt32, _ refusal: RejectReason) -> Bool {
        guard refusal == .smaller, let sweep = sweeps[number] else { return false }
        return sweep.step?.isOfSeveral != true && sweep.keys.count > 50
    }

    /// Handles a sweep's subscription that the relay closed or did not open.
    func closed(_ number: UInt32, _ refusal: RejectReason) {
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

    /// Gives keys new places, in chunks of that size. Readings in progress start again.
    func rearrange(chunkSize: Int) {
        for number in Array(sweeps.keys) { dissolve(number) }
        backlog.rearrange(chunkSize: chunkSize)
    }

    /// Ends a finished sweep, or has it read the unprocessed events again.
    private func finish(_ number: UInt32) {
        guard let sweep = sweeps[number], sweep.isRead else { return }
        if sweep.mustBeginAgain {
            dissolve(number)
        } else if !sweep.unprocessed.isEmpty {
            let steps = steps(for: stages(for: sweep.unprocessed))
            sweeps[number]?.readAgain(steps, now: requests.now, settings)
        } else {
            sweeps[number] = nil
            if sweep.purpose == .again { backlog.missed.wereRead() }
            let keys = backlog.readingEnded(for: sweep.keys, by: number)
            if sweep.isBeginning, !keys.isEmpty { requests.act(.established(keys)) }
        }
    }

    /// Drops an unfinished sweep and queues its reading again.
    private func dissolve(_ number: UInt32) {
        guard let sweep = sweeps.removeValue(forKey: number) else { return }
        requests.close(sweep.subscription)
        switch sweep.purpose {
        case .again: backlog.missed.putBack(sweep.unprocessed)
        case .own(let since): backlog.own.abandoned(since: since)
        case .gap(let chunk, let since): backlog.read(chunk: chunk, since: since)
        case .stragglers, .beginning: backlog.readingAbandoned(for: sweep.keys, by: number)
        }
    }

    // MARK: Events

    /// Returns how to read an event from a sweep, or nil if it is not wanted.
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

    /// Extends the deadline of open pages while the router skips a message over the limit.
    func passes() {
        for (number, sweep) in sweeps where sweep.subscription != nil { sweeps[number]?.received(now: requests.now) }
    }

    /// Remembers a live event, because a sweep may deliver it again and take it for an old one.
    func cameLive(_ event: UnsafeRawBufferPointer, _ scanner: inout EventScanner) {
        if sweeps.isEmpty {
            if !liveWhileBeginning.isEmpty { liveWhileBeginning = [] }
        } else if liveWhileBeginning.count < Self.rememberedLimit, sweeps.values.contains(where: \.isBeginning),
            let id = try? scanner.scan(event).id
        {
            liveWhileBeginning.insert(id)
        }
    }

    /// Takes the result for an event from a sweep. An event without an id cannot be requested again. The caller must
    /// then call ``finish(_:_:)``.
    func settled(_ number: UInt32, _ reading: Reading, isDealtWith: Bool, id: EventID?) {
        guard sweeps[number] != nil else { return }
        sweeps[number]?.settled(now: requests.now)
        if !isDealtWith { sweeps[number]?.missed(id, reading, atMost: Backlog.missedLimit) }
    }

    /// Ends the given sweeps that are finished.
    func finish(_ numbers: Set<UInt32>) {
        for number in numbers { finish(number) }
    }
}

/// Finds moments up to which every event was processed, while more events keep arriving.
///
/// Events are counted by epoch. A candidate ends an epoch. Once no event of that epoch or an earlier one is
/// outstanding, the candidate becomes the mark.
struct MarkProgress: Sendable {
    /// Corrections of the clock by less than this are normal.
    private static let clockSlack: Duration = .minutes(1)

    /// The last mark, in seconds since 1970.
    private(set) var reached: Int64?
    private(set) var epoch: UInt32 = 0
    /// The number of outstanding events of the current epoch. A counter avoids a dictionary access for each event.
    private var current = 0
    /// The number of outstanding events of each earlier epoch that has any.
    private var earlier: [UInt32: Int] = [:]
    private var candidate: (seconds: Int64, epoch: UInt32)?
    /// When to look for the next candidate.
    private(set) var nextAt = Timestamp.epoch

    /// Whether no event is outstanding.
    var isIdle: Bool { current == 0 && earlier.isEmpty }

    /// Counts an event that is passed to the delegate. Returns its epoch.
    mutating func arrived() -> UInt32 {
        current += 1
        return epoch
    }

    /// Counts an event that was processed, or that will be read again.
    mutating func settled(_ epoch: UInt32) {
        if epoch == self.epoch {
            current = max(0, current - 1)
        } else if let count = earlier[epoch] {
            earlier[epoch] = count > 1 ? count - 1 : nil
        }
    }

    /// Drops the candidate because an event is missing.
    mutating func dismiss() { candidate = nil }

    /// Takes the mark that an earlier process reached.
    mutating func resume(from seconds: Int64) {
        reached = max(reached ?? seconds, seconds)
    }

    /// Takes back a mark from a clock that was ahead of `now` and has been set back: everything after `seconds` is
    /// unread again.
    mutating func distrust(now: Timestamp, to seconds: Int64) {
        guard let reached, reached > (now + Self.clockSlack).seconds else { return }
        self.reached = seconds
        candidate = nil
        nextAt = .epoch
    }

    /// Returns a new mark if one holds at `now`. Call it only if no event is missing.
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

    /// Takes `now` as the mark if no event is outstanding. Returns nil if the mark does not advance.
    mutating func conclude(now: Timestamp) -> Int64? {
        guard isIdle, now.seconds > reached ?? 0 else { return nil }
        reached = now.seconds
        return reached
    }
}
