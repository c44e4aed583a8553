import Core

/// The deliveries that one process has in hand or is to get, across its restarts. Pure: its owner sends the frames that
/// it returns.
struct DeliveryLedger: Sendable {
    /// A delivery until it ends.
    struct Entry: Sendable, Equatable {
        let instance: UInt32
        /// The host's number of the delivery, unique in the instance.
        let ticket: UInt64
        /// What hands it out. It is kept to be sent again after a death.
        let frame: [UInt8]
        fileprivate(set) var state: State
        /// HTTP requests of it that the router has not answered.
        fileprivate(set) var openRequests = 0
    }

    enum State: Sendable, Equatable {
        /// It was never handed out.
        case waiting
        case inHand
        /// It was in hand at a death.
        case suspected
    }

    enum Admission: Sendable, Equatable {
        /// Send the frame.
        case send
        /// Its turn comes later.
        case wait
        /// There is no room: try again later.
        case full
    }

    enum Cancellation: Sendable, Equatable {
        /// The process has it: forward the wish, under this number.
        case forward(UInt64)
        /// It was not handed out, and has ended now.
        case ended
        case unknown
    }

    /// The most bytes of deliveries that wait for their turn.
    static let waitingLimit = ByteCount.mebibytes(8)
    /// The most bytes of deliveries altogether.
    static let totalLimit = ByteCount.mebibytes(256)

    private struct Ticket: Hashable {
        let instance: UInt32
        let ticket: UInt64
    }

    private var entries: [UInt64: Entry] = [:]
    /// The numbers of the entries.
    private var numbers: [Ticket: UInt64] = [:]
    /// Of deliveries that were handed out together: all of these.
    private var companions: [UInt64: [UInt64]] = [:]
    /// What waits, oldest first; ended ones are skipped.
    private var queue: [UInt64] = []
    private var waitingBytes = 0
    private var totalBytes = 0
    private var suspects = SuspectsAlone<UInt64>()
    private var isRunning = false

    init() {}

    /// Deliveries that have not ended.
    var count: Int { entries.count }
    /// Whether one suspect is at work, and nothing beside it.
    var isTryingSuspect: Bool { suspects.isTrying }

    /// A new delivery under the number `id`, which was never used before.
    mutating func admit(_ id: UInt64, instance: UInt32, ticket: UInt64, frame: [UInt8]) -> Admission {
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

    /// The delivery was not handed out after all.
    mutating func withdraw(_ id: UInt64) {
        if let entry = entries[id] { remove(id, entry) }
    }

    /// Notes that deliveries which may be sent are handed out together.
    mutating func handOutTogether(_ ids: [UInt64]) {
        for id in ids where entries[id] != nil { companions[id] = ids }
    }

    /// The delivery `id` of `instance` has ended. Nil when there is none.
    mutating func end(_ id: UInt64, of instance: UInt32) -> Entry? {
        guard let entry = entries[id], entry.instance == instance, entry.state == .inHand else { return nil }
        remove(id, entry)
        return entry
    }

    /// The host wants the delivery to end soon.
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

    /// Those of `instances`, for a process of their own. Deliveries in hand at the death stay suspects only if
    /// `mayBeGuilty`.
    func part(of instances: Set<UInt32>, mayBeGuilty: Bool) -> DeliveryLedger {
        var part = DeliveryLedger()
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

    /// The instance of a delivery.
    func instance(of id: UInt64) -> UInt32? { entries[id]?.instance }

    /// The process is there, and so are its instances.
    mutating func started() { isRunning = true }

    /// The process has died; `named` is the delivery that its crash report names. Returns what is set aside.
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

    /// Whether anything but the ordinary flow may have to be sent after a delivery or a request ended.
    var mayHaveNext: Bool { isRunning && (!suspects.isQuiet || !queue.isEmpty) }

    /// A request of the delivery goes to the network. Returns all deliveries that it carries.
    mutating func beginRequest(for id: UInt64) -> [UInt64] {
        guard entries[id] != nil else { return [] }
        let carried = companions[id] ?? [id]
        for id in carried { entries[id]?.openRequests += 1 }
        return carried
    }

    /// A request that was sent for deliveries has ended.
    mutating func endRequest(for ids: [UInt64]) {
        for id in ids {
            if let open = entries[id]?.openRequests, open > 0 { entries[id]?.openRequests = open - 1 }
        }
    }

    /// Whether requests from outside may go to the process: beside a suspect they could hide who is guilty.
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

/// Finds out which delivery kills its process: what was in hand at a death is tried again one by one.
///
/// A delivery that was alone in hand at two deaths is the culprit and is set aside. Everything else that was in hand is
/// handed out again, and nothing new goes beside it until the last suspect has ended. Pure.
struct SuspectsAlone<ID: Hashable & Sendable>: Sendable {
    /// What may be handed out now.
    enum Turn: Sendable, Equatable {
        /// Nothing: a suspect is at work, or none of the suspects is ready.
        case nothing
        /// This suspect, and nothing beside it.
        case alone(ID)
        /// Whatever there is.
        case anything
    }

    /// Deaths alone that prove a delivery guilty. One may be an accident.
    private static var proof: Int { 2 }

    private var lone: ID?
    private var suspects: [ID] = []
    private var deathsAlone: [ID: Int] = [:]

    init() {}

    /// The deliveries to try, the next one first.
    var all: [ID] { suspects }

    /// Whether no delivery is under suspicion, so that anything may be handed out.
    var isQuiet: Bool { lone == nil && suspects.isEmpty }

    /// Whether a suspect is at work.
    var isTrying: Bool { lone != nil }

    /// The process died with `hand` in hand. Returns the delivery that is to be set aside. `named` is the one that the
    /// crash report names: a hint, for it is tried first.
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

    /// What is to be handed out next; a suspect that this returns is at work from now on. `isReady` says whether a
    /// suspect may be tried again yet.
    mutating func next(isReady: (ID) -> Bool = { _ in true }) -> Turn {
        // Also when it was the last suspect: beside it a death would prove nothing.
        guard lone == nil else { return .nothing }
        guard !suspects.isEmpty else { return .anything }
        guard let index = suspects.firstIndex(where: isReady) else { return .nothing }
        let suspect = suspects.remove(at: index)
        lone = suspect
        return .alone(suspect)
    }

    /// A delivery has ended, whether it was at work or waited.
    mutating func ended(_ id: ID) {
        if lone == id { lone = nil }
        guard !suspects.isEmpty || !deathsAlone.isEmpty else { return }
        suspects.removeAll { $0 == id }
        deathsAlone[id] = nil
    }
}
