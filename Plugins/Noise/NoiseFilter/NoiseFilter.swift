public import PluginKit
import Synchronization
import Units

/// Drops noise: events that name crowds, tiny zaps, events without proof of work, and bursts.
public final class NoiseFilter: PluginFilter {
    public static let name: StaticString = "noise"
    public static var mostNeeded: FollowNeed { .followed }

    private let settings: NoiseSettings
    private let bursts: Mutex<BurstMemory?>

    public init(configuration: JSONObject, host: Host) throws(PluginError) {
        settings = try NoiseSettings(configuration)
        bursts = Mutex(settings.burst.map { BurstMemory($0) })
    }

    public var need: FollowNeed { settings.asksWhomRecipientsFollow ? .followed : .nothing }

    public func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterVerdict {
        let signal = call.signal.string
        if settings.except.contains(signal) { return .pass }
        let event = try Self.event(of: call)
        let isFollowed = call.followDistance == .followed
        if let reason = crowd(event) ?? tinyZap(call, signal, isFollowed) ?? missingWork(event, signal, isFollowed) {
            return .drop(reason: reason)
        }
        // Last, so that an event dropped for another reason does not count.
        return burst(of: event, call).map { .drop(reason: $0) } ?? .pass
    }

    /// A contact list names hundreds of people and is not a thread.
    private func crowd(_ event: NostrEvent) -> String? {
        guard let most = settings.hellthread, event.kind != Self.contactList else { return nil }
        let named = Set(event.values(of: "p")).count
        return named > most ? "it names \(named) people" : nil
    }

    private func tinyZap(_ call: borrowing FilterCall, _ signal: String, _ isFollowed: Bool) -> String? {
        guard signal == "zap" || call.zapMillisats > 0 else { return nil }
        guard let least = isFollowed ? settings.leastZapFromFollows : settings.leastZap else { return nil }
        return call.zapMillisats < least ? "a zap of less than \(least / 1000) sats" : nil
    }

    private func missingWork(_ event: NostrEvent, _ signal: String, _ isFollowed: Bool) -> String? {
        let required = settings.difficulty.bits(for: signal)
        guard required > 0, settings.difficulty.countsForFollows || !isFollowed else { return nil }
        let difficulty = ProofOfWork.difficulty(of: event)
        return difficulty < required ? "difficulty \(difficulty) of \(required)" : nil
    }

    /// Nobody can tell the author of a gift wrap, so those have no bursts.
    private func burst(of event: NostrEvent, _ call: borrowing FilterCall) -> String? {
        guard !call.author.isEmpty else { return nil }
        let pair = BurstMemory.Pair(author: call.author.string, recipient: call.recipient.string)
        let now = call.now
        let isAdmitted = bursts.withLock { $0?.admits(event.id, of: pair, at: now) ?? true }
        return isAdmitted ? nil : "a burst of one author's"
    }

    private static let contactList: Int64 = 3

    private static func event(of call: borrowing FilterCall) throws(PluginError) -> NostrEvent {
        do throws(JSONError) {
            return try NostrEvent(parsing: call.event)
        } catch {
            throw PluginError("the event cannot be read: \(error)")
        }
    }
}

/// When the latest events of each author passed, for each recipient. A bounded, pure state machine.
struct BurstMemory {
    struct Pair: Hashable {
        let author: String
        let recipient: String
    }

    private struct Passed {
        var moments: [Timestamp]
        /// The latest event that passed. The filter is called once for each signal of an event.
        var event: String
    }

    private let limit: BurstLimit
    private var pairs: BoundedCache<Pair, Passed>

    init(_ limit: BurstLimit, capacity: Int = 20_000) {
        self.limit = limit
        pairs = BoundedCache(capacity: capacity)
    }

    /// Whether another event passes at `now`. One that passes counts against later ones.
    mutating func admits(_ event: String, of pair: Pair, at now: Timestamp) -> Bool {
        var passed = pairs.value(of: pair) ?? Passed(moments: [], event: "")
        if passed.event == event { return true }
        // Moments in the future are from before the clock was set back.
        passed.moments.removeAll { $0 > now || now - $0 >= limit.span }
        guard passed.moments.count < limit.events else { return false }
        passed.moments.append(now)
        passed.event = event
        pairs.set(passed, for: pair)
        return true
    }
}

/// Proof of work in an event (NIP-13).
enum ProofOfWork {
    /// The leading zero bits of the id, limited to the target in the event's nonce tag: an author who aims lower and is
    /// lucky has worked less. 0 for an event without such a tag, and for an invalid id.
    static func difficulty(of event: NostrEvent) -> Int {
        let target = event.tags.first { $0.count > 2 && $0[0] == "nonce" }.flatMap { Int($0[2]) }
        guard let target, target > 0, event.id.utf8.count == 64 else { return 0 }
        return min(target, leadingZeroBits(event.id))
    }

    static func leadingZeroBits(_ hex: String) -> Int {
        var bits = 0
        for digit in hex.utf8 {
            switch digit {
            case UInt8(ascii: "0"): bits += 4
            case UInt8(ascii: "1"): return bits + 3
            case UInt8(ascii: "2"), UInt8(ascii: "3"): return bits + 2
            case UInt8(ascii: "4")...UInt8(ascii: "7"): return bits + 1
            default: return bits
            }
        }
        return bits
    }
}
