import Core

/// The open and waiting deliveries of one process, across its restarts. Pure: its owner sends the frames that it
/// returns.
struct DeliveryTable: Sendable {
    /// A delivery until it ends.
    struct Entry: Sendable, Equatable {
        let instance: UInt32
        /// The host's number of the delivery, unique in the instance.
        let ticket: UInt64
        /// The frame that sends it. It is kept to be resent after a death.
        let frame: [UInt8]
        fileprivate(set) var state: State
        /// Its HTTP requests that the router has not answered.
        fileprivate(set) var openRequests = 0
    }

    enum State: Sendable, Equatable {
        /// It was never sent.
        case waiting
        case inHand
        /// It was open at a death.
        case suspected
    }

    enum Decision: Sendable, Equatable {
        /// Send the frame.
        case send
        /// It waits for its turn.
        case wait
        /// The capacity is used up: retry later.
        case full
    }

    enum Cancellation: Sendable, Equatable {
        /// The process has it: forward the cancellation under this number.
        case forward(UInt64)
        /// The process does not have it: it has ended now.
        case ended
        case unknown
    }

    /// The maximum of bytes of deliveries that wait for their turn.
    static let waitingLimit = ByteCount.mebibytes(8)
    /// The maximum of bytes of all deliveries.
    static let totalLimit = ByteCount.mebibytes(256)

    private struct Ticket: Hashable {
        let instance: UInt32
        let ticket: UInt64
    }

    private var entries: [UInt64: Entry] = [:]
    /// The numbers of the entries.
    private var numbers: [Ticket: UInt64] = [:]
    /// All deliveries of the same frame, by each of them.
    private var companions: [UInt64: [UInt64]] = [:]
    /// Waiting deliveries, oldest first; ended ones are skipped.
    private var queue: [UInt64] = []
    private var waitingBytes = 0
    private var totalBytes = 0
    private var suspects = CrashIsolator<UInt64>()
    private var isRunning = false

    init() {}

    /// The number of deliveries that have not ended.
    var count: Int { entries.count }
    /// Whether a single suspect is being tried.
    var isTryingSuspect: Bool { suspects.isTrying }

    /// Adds a delivery under the number `id`, which was never used before.
    mutating func admit(_ id: UInt64, instance: UInt32, ticket: UInt64, frame: [UInt8]) -> Decision {
        guard totalBytes + frame.count <= Self.totalLimit.bytes else { return .full }
        let isNext = isRunning && suspects.isQuiet
        if !isNext, waitingBytes + frame.count > Self.waitingLimit.bytes { return .full }
        let entry = Entry(instance: instance, ticket: ticket, frame: frame, state: isNext ? .inHand : .waiting)
        guard entries[id] == nil else { return .full }
        entries[id] = entry
        numbers[Ticket(instance: instance, ticket: ticket)] = id
        totalBytes += frame.count
        guard !isNext else { return .send }
        queue.append(id)
        waitingBytes += frame.count
        return .wait
    }

    /// Removes a delivery that was not sent after all.
    mutating func withdraw(_ id: UInt64) {
        if let entry = entries[id] { remove(id, entry) }
    }

    /// Notes that deliveries which may be sent go into one frame.
    mutating func handOutTogether(_ ids: [UInt64]) {
        for id in ids where entries[id] != nil { companions[id] = ids }
    }

    /// Ends the delivery `id` of `instance`. Nil if there is none.
    mutating func end(_ id: UInt64, of instance: UInt32) -> Entry? {
        guard let entry = entries[id], entry.instance == instance, entry.state == .inHand else { return nil }
        remove(id, entry)
        return entry
    }

    /// Asks for an early end of a delivery.
    mutating func cancel(instance: UInt32, ticket: UInt64) -> Cancellation {
        guard let id = numbers[Ticket(instance: instance, ticket: ticket)], let entry = entries[id] else {
            return .unknown
        }
        guard entry.state != .inHand else { return .forward(id) }
        remove(id, entry)
        return .ended
    }

    /// Ends all deliveries of an instance.
    mutating func endAll(of instance: UInt32) -> [Entry] {
        let ended = entries.filter { $0.value.instance == instance }.sorted { $0.key < $1.key }
        for (id, entry) in ended { remove(id, entry) }
        return ended.map(\.value)
    }

    /// The part of `instances`, for a separate process. Deliveries that were open at the death stay suspects only if
    /// `mayBeGuilty`.
    func part(of instances: Set<UInt32>, mayBeGuilty: Bool) -> DeliveryTable {
        var part = DeliveryTable()
        let own = entries.filter { instances.contains($0.value.instance) }.sorted { $0.key < $1.key }
        for (id, value) in own {
            var entry = value
            if !mayBeGuilty { entry.state = .waiting }
            part.entries[id] = entry
            part.numbers[Ticket(instance: entry.instance, ticket: entry.ticket)] = id
            part.totalBytes += entry.frame.count
            guard entry.state == .waiting else { continue }
            part.queue.append(id)
            part.waitingBytes += entry.frame.count
        }
        _ = part.suspects.died(hand: suspects.all.filter { part.entries[$0]?.state == .suspected })
        return part
    }

    func instance(of id: UInt64) -> UInt32? { entries[id]?.instance }

    /// Notes that the process and its instances are ready.
    mutating func started() { isRunning = true }

    /// Notes that the process died; `named` is the delivery in its crash report. Returns the delivery to abandon.
    mutating func died(named: UInt64? = nil) -> Entry? {
        isRunning = false
        let hand = entries.filter { $0.value.state == .inHand }.keys.sorted()
        for id in hand { entries[id]?.state = .suspected }
        companions = [:]
        guard let id = suspects.died(hand: hand, named: named), let entry = entries[id] else { return nil }
        remove(id, entry)
        return entry
    }

    /// The frames to send now.
    mutating func takeNext() -> [[UInt8]] {
        guard isRunning else { return [] }
        let turn = suspects.next { [entries] id in entries[id]?.openRequests == 0 }
        switch turn {
        case .nothing: return []
        case .alone(let id):
            guard let frame = entries[id]?.frame else { return [] }
            entries[id]?.state = .inHand
            return [frame]
        case .anything: return takeWaiting()
        }
    }

    private mutating func takeWaiting() -> [[UInt8]] {
        guard !queue.isEmpty else { return [] }
        var frames: [[UInt8]] = []
        for id in queue {
            guard let entry = entries[id] else { continue }
            entries[id]?.state = .inHand
            frames.append(entry.frame)
        }
        queue = []
        waitingBytes = 0
        return frames
    }

    /// Whether a delivery's or request's end may allow other frames to be sent.
    var mayHaveNext: Bool { isRunning && (!suspects.isQuiet || !queue.isEmpty) }

    /// Notes an HTTP request of the delivery. Returns all deliveries that it carries.
    mutating func beginRequest(for id: UInt64) -> [UInt64] {
        guard entries[id] != nil else { return [] }
        let carried = companions[id] ?? [id]
        for id in carried { entries[id]?.openRequests += 1 }
        return carried
    }

    /// Notes that a request for deliveries has ended.
    mutating func endRequest(for ids: [UInt64]) {
        for id in ids {
            if let open = entries[id]?.openRequests, open > 0 { entries[id]?.openRequests = open - 1 }
        }
    }

    /// Whether inbound requests may be sent to the process: next to a suspect they could hide the culprit.
    var mayReceive: Bool { isRunning && suspects.isQuiet }

    private mutating func remove(_ id: UInt64, _ entry: Entry) {
        entries[id] = nil
        let ticket = Ticket(instance: entry.instance, ticket: entry.ticket)
        if numbers[ticket] == id { numbers[ticket] = nil }
        companions[id] = nil
        totalBytes -= entry.frame.count
        if entry.state == .waiting { waitingBytes -= entry.frame.count }
        suspects.ended(id)
    }
}

/// Finds the delivery that crashes its process: deliveries that were open at a death are retried one by one.
///
/// A delivery that was the only open one at two crashes is the culprit and is abandoned. All others are resent, and no
/// new delivery is sent until the last suspect has ended. Pure.
struct CrashIsolator<ID: Hashable & Sendable>: Sendable {
    /// The deliveries that may be sent now.
    enum Turn: Sendable, Equatable {
        /// None: a suspect is being tried, or no suspect is ready.
        case nothing
        /// Only this suspect.
        case alone(ID)
        /// Any delivery.
        case anything
    }

    /// The number of crashes with a single open delivery that prove it guilty. One may be an accident.
    private static var proof: Int { 2 }

    private var lone: ID?
    private var suspects: [ID] = []
    private var deathsAlone: [ID: Int] = [:]

    init() {}

    /// The deliveries to try, the next one first.
    var all: [ID] { suspects }

    /// Whether there is no suspect, so that any delivery may be sent.
    var isQuiet: Bool { lone == nil && suspects.isEmpty }

    /// Whether a suspect is being tried.
    var isTrying: Bool { lone != nil }

    /// Notes a death with the open deliveries `hand`. Returns the delivery to abandon. `named` is the one in the crash
    /// report: a hint, so it is tried first.
    mutating func died(hand: [ID], named: ID? = nil) -> ID? {
        defer { lone = nil }
        guard let lone, hand == [lone] else {
            if let named, hand.contains(named) { suspects.append(named) }
            suspects += hand.filter { $0 != named }
            return nil
        }
        deathsAlone[lone, default: 0] += 1
        guard deathsAlone[lone] == Self.proof else {
            suspects.append(lone)
            return nil
        }
        deathsAlone[lone] = nil
        return lone
    }

    /// The deliveries that may be sent next; a returned suspect counts as being tried from now on. `isReady`: whether a
    /// suspect may be retried yet.
    mutating func next(isReady: (ID) -> Bool = { _ in true }) -> Turn {
        // Even for the last suspect: next to it, a death would prove nothing.
        guard lone == nil else { return .nothing }
        guard !suspects.isEmpty else { return .anything }
        guard let index = suspects.firstIndex(where: isReady) else { return .nothing }
        let suspect = suspects.remove(at: index)
        lone = suspect
        return .alone(suspect)
    }

    /// Notes the end of a delivery, tried or waiting.
    mutating func ended(_ id: ID) {
        if lone == id { lone = nil }
        guard !suspects.isEmpty || !deathsAlone.isEmpty else { return }
        suspects.removeAll { $0 == id }
        deathsAlone[id] = nil
    }
}
