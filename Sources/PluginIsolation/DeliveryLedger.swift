import PluginServices
import Units

/// The deliveries that one process has in hand or is to get, across its restarts. Pure: its owner sends the frames that
/// it returns.
package struct DeliveryLedger: Sendable {
    /// A delivery until it ends.
    package struct Entry: Sendable, Equatable {
        package let instance: UInt32
        /// The host's number of the delivery, unique in the instance.
        package let ticket: UInt64
        /// What hands it out. It is kept to be sent again after a death.
        package let frame: [UInt8]
        fileprivate(set) var state: State
        /// HTTP requests of it that the router has not answered.
        fileprivate(set) var openRequests = 0
    }

    package enum State: Sendable, Equatable {
        /// It was never handed out.
        case waiting
        case inHand
        /// It was in hand at a death.
        case suspected
    }

    package enum Admission: Sendable, Equatable {
        /// Send the frame.
        case send
        /// Its turn comes later.
        case wait
        /// There is no room: try again later.
        case full
    }

    package enum Cancellation: Sendable, Equatable {
        /// The process has it: forward the wish, under this number.
        case forward(UInt64)
        /// It was not handed out, and has ended now.
        case ended
        case unknown
    }

    /// The most bytes of deliveries that wait for their turn.
    package static let waitingLimit = ByteCount.mebibytes(8)
    /// The most bytes of deliveries altogether.
    package static let totalLimit = ByteCount.mebibytes(256)

    private var entries = NumberTable<Entry>()
    /// The numbers of the entries, by ``key(_:_:)``.
    private var numbers = NumberTable<UInt64>()
    /// Of deliveries that were handed out together: all of these.
    private var companions: [UInt64: [UInt64]] = [:]
    /// What waits, oldest first; ended ones are skipped.
    private var queue: [UInt64] = []
    private var waitingBytes = 0
    private var totalBytes = 0
    private var suspects = SuspectsAlone<UInt64>()
    private var isRunning = false

    package init() {}

    /// Deliveries that have not ended.
    package var count: Int { entries.count }
    /// Whether one suspect is at work, and nothing beside it.
    package var isTryingSuspect: Bool { suspects.isTrying }

    /// A new delivery under the number `id`, which was never used before.
    package mutating func admit(_ id: UInt64, instance: UInt32, ticket: UInt64, frame: [UInt8]) -> Admission {
        guard totalBytes + frame.count <= Self.totalLimit.bytes else { return .full }
        let isNext = isRunning && suspects.isQuiet
        if !isNext, waitingBytes + frame.count > Self.waitingLimit.bytes { return .full }
        let entry = Entry(instance: instance, ticket: ticket, frame: frame, state: isNext ? .inHand : .waiting)
        guard entries.insert(entry, for: id) else { return .full }
        _ = numbers.insert(id, for: Self.key(instance, ticket))
        totalBytes += frame.count
        guard !isNext else { return .send }
        queue.append(id)
        waitingBytes += frame.count
        return .wait
    }

    /// The delivery was not handed out after all.
    package mutating func withdraw(_ id: UInt64) {
        if let entry = entries[id] { remove(id, entry) }
    }

    /// Notes that deliveries which may be sent are handed out together.
    package mutating func handOutTogether(_ ids: [UInt64]) {
        for id in ids where entries[id] != nil { companions[id] = ids }
    }

    /// The delivery `id` of `instance` has ended. Nil when there is none.
    package mutating func end(_ id: UInt64, of instance: UInt32) -> Entry? {
        let ended = entries.remove(id, if: { $0.instance == instance && $0.state == .inHand })
        if let ended { forget(id, ended) }
        return ended
    }

    /// The host wants the delivery to end soon.
    package mutating func cancel(instance: UInt32, ticket: UInt64) -> Cancellation {
        guard let id = numbers[Self.key(instance, ticket)], let entry = entries[id], entry.instance == instance,
            entry.ticket == ticket
        else { return .unknown }
        guard entry.state != .inHand else { return .forward(id) }
        remove(id, entry)
        return .ended
    }

    /// Ends all deliveries of an instance.
    package mutating func endAll(of instance: UInt32) -> [Entry] {
        let ended = entries.all.filter { $0.value.instance == instance }.sorted { $0.number < $1.number }
        for (id, entry) in ended { remove(id, entry) }
        return ended.map(\.value)
    }

    /// Those of `instances`, for a process of their own. Deliveries in hand at the death stay suspects only if
    /// `mayBeGuilty`.
    package func part(of instances: Set<UInt32>, mayBeGuilty: Bool) -> DeliveryLedger {
        var part = DeliveryLedger()
        let own = entries.all.filter { instances.contains($0.value.instance) }.sorted { $0.number < $1.number }
        for (id, value) in own {
            var entry = value
            if !mayBeGuilty { entry.state = .waiting }
            _ = part.entries.insert(entry, for: id)
            _ = part.numbers.insert(id, for: Self.key(entry.instance, entry.ticket))
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
    package mutating func started() { isRunning = true }

    /// The process has died; `named` is the delivery that its crash report names. Returns what is set aside.
    package mutating func died(named: UInt64? = nil) -> Entry? {
        isRunning = false
        let hand = entries.all.filter { $0.value.state == .inHand }.map(\.number).sorted()
        for id in hand { entries.update(id) { $0.state = .suspected } }
        companions = [:]
        guard let id = suspects.died(hand: hand, named: named), let entry = entries[id] else { return nil }
        remove(id, entry)
        return entry
    }

    /// The frames to send now.
    package mutating func takeNext() -> [[UInt8]] {
        guard isRunning else { return [] }
        let turn = suspects.next { [entries] id in entries[id]?.openRequests == 0 }
        switch turn {
        case .nothing: return []
        case .alone(let id):
            guard let frame = entries[id]?.frame else { return [] }
            entries.update(id) { $0.state = .inHand }
            return [frame]
        case .anything: return takeWaiting()
        }
    }

    private mutating func takeWaiting() -> [[UInt8]] {
        guard !queue.isEmpty else { return [] }
        var frames: [[UInt8]] = []
        for id in queue {
            guard let entry = entries[id] else { continue }
            entries.update(id) { $0.state = .inHand }
            frames.append(entry.frame)
        }
        queue = []
        waitingBytes = 0
        return frames
    }

    /// Whether anything but the ordinary flow may have to be sent after a delivery or a request ended.
    package var mayHaveNext: Bool { isRunning && (!suspects.isQuiet || !queue.isEmpty) }

    /// A request of the delivery goes to the network. Returns all deliveries that it carries.
    package mutating func beginRequest(for id: UInt64) -> [UInt64] {
        guard entries[id] != nil else { return [] }
        let carried = companions[id] ?? [id]
        for id in carried { entries.update(id) { $0.openRequests += 1 } }
        return carried
    }

    /// A request that was sent for deliveries has ended.
    package mutating func endRequest(for ids: [UInt64]) {
        for id in ids { entries.update(id) { $0.openRequests = max(0, $0.openRequests - 1) } }
    }

    /// Whether requests from outside may go to the process: beside a suspect they could hide who is guilty.
    package var mayReceive: Bool { isRunning && suspects.isQuiet }

    private mutating func remove(_ id: UInt64, _ entry: Entry) {
        _ = entries.remove(id)
        forget(id, entry)
    }

    /// An entry is not among ``entries`` any more.
    private mutating func forget(_ id: UInt64, _ entry: Entry) {
        _ = numbers.remove(Self.key(entry.instance, entry.ticket), if: { $0 == id })
        if !companions.isEmpty { companions[id] = nil }
        totalBytes -= entry.frame.count
        if entry.state == .waiting { waitingBytes -= entry.frame.count }
        suspects.ended(id)
    }

    /// One number for both: the tickets of an instance follow one another, and the factor keeps those of different
    /// instances apart. Whoever finds an entry so looks whether it is the one.
    private static func key(_ instance: UInt32, _ ticket: UInt64) -> UInt64 {
        ticket &+ UInt64(instance) &* 0x9e37_79b9_7f4a_7c15
    }
}
