import Core
public import PluginKit
import Synchronization

/// Drops noise: events that mention many accounts, tiny zaps, events without proof of work, and bursts.
public final class NoiseFilter: PluginFilter {
    public static let name: StaticString = "noise"
    public static var maxNeeded: FollowNeed { .followed }

    private let settings: NoiseSettings
    private let bursts: Mutex<BurstMemory?>

    public init(configuration: JSONObject, host: Host) throws(PluginError) {
        settings = try NoiseSettings(configuration)
        bursts = Mutex(settings.burst.map { BurstMemory($0) })
    }

    public var need: FollowNeed { settings.asksWhomRecipientsFollow ? .followed : .nothing }

    public func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterDecision {
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

    /// Checks the number of mentions. A contact list names hundreds of people and is not a thread.
    private func crowd(_ event: NostrEvent) -> String? {
        guard let most = settings.hellthread, event.kind != Self.contactList else { return nil }
        let named = Set(event.values(of: "p")).count
        return named > most ? "it mentions \(named) accounts" : nil
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

    /// Checks for bursts, except those of gift wraps, whose author is unknown.
    private func burst(of event: NostrEvent, _ call: borrowing FilterCall) -> String? {
        guard !call.author.isEmpty else { return nil }
        let pair = BurstMemory.Pair(author: call.author.string, recipient: call.recipient.string)
        let now = call.now
        let isAdmitted = bursts.withLock { $0?.admits(event.id, of: pair, at: now) ?? true }
        return isAdmitted ? nil : "a burst from one author"
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

/// The times of the latest events of each author that passed, for each recipient. A bounded, pure state machine.
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

    /// Whether another event passes at `now`. An event that passes counts against later ones.
    mutating func admits(_ event: String, of pair: Pair, at now: Timestamp) -> Bool {
        var passed = pairs.value(of: pair) ?? Passed(moments: [], event: "")
        if passed.event == event { return true }
        // Times in the future are from before the clock was set back.
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
    /// Returns the leading zero bits of the id, up to the target in the event's nonce tag, because an author with a
    /// lower target may be lucky with less work. 0 for an event without such a tag, and for an invalid id.
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

/// The definition of noise. Absent settings are not checked.
struct NoiseSettings {
    /// Signals that always pass.
    let except: Set<String>
    /// The maximum number of accounts that an event may mention.
    let hellthread: Int?
    /// The minimum value of a zap, in millisatoshis.
    let leastZap: UInt64?
    /// The minimum value of zaps from accounts that the recipient follows.
    let leastZapFromFollows: UInt64?
    let difficulty: DifficultyDemand
    let burst: BurstLimit?

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: [
            "except", "hellthread", "min_zap_sats", "min_zap_sats_from_follows", "difficulty",
            "difficulty_from_follows", "burst",
        ])
        except = try object.signals("except")
        hellthread = try object.integer("hellthread", in: 1...100_000).map { Int($0) }
        leastZap = try object.satoshis("min_zap_sats")
        leastZapFromFollows = try object.satoshis("min_zap_sats_from_follows") ?? leastZap
        difficulty = try DifficultyDemand(object)
        burst = try object.mapping("burst", expected: "as in { events: 5, seconds: 60 }").map {
            object throws(PluginError) in
            do throws(PluginError) { return try BurstLimit(object) } catch { throw error.inside("burst") }
        }
    }

    /// Whether a setting depends on the recipient's contact list.
    var asksWhomRecipientsFollow: Bool {
        leastZap != leastZapFromFollows || (difficulty.isAny && !difficulty.countsForFollows)
    }
}

/// The proof of work that events need (NIP-13), by signal.
struct DifficultyDemand {
    /// The signal of zaps. A zap's receipt is made by a wallet and proves nothing about its sender.
    private static var zap: String { "zap" }
    private static var expected: String { "bits, a whole number from 0 to 256, or a mapping of signals to bits" }

    private let usual: Int
    private let bySignal: [String: Int]
    /// Whether accounts that the recipient follows need proof of work too.
    let countsForFollows: Bool

    init(_ object: JSONObject) throws(PluginError) {
        countsForFollows = try object.flag("difficulty_from_follows") ?? false
        guard let value = object["difficulty"], !value.isNull else {
            usual = 0
            bySignal = [:]
            return
        }
        guard let signals = value.object else {
            usual = try Self.bits(value, "difficulty")
            bySignal = [Self.zap: 0]
            return
        }
        var bySignal: [String: Int] = [:]
        for index in 0..<signals.count {
            let member = signals.member(at: index)
            guard member.key != Self.zap else {
                throw PluginError(
                    "difficulty.zap: a zap's receipt contains the wallet's work; use min_zap_sats instead"
                )
            }
            guard SignalName.isPossible(member.key) else {
                throw PluginError("difficulty.\(member.key): expected signals such as mention, \(SignalName.form)")
            }
            bySignal[member.key] = try Self.bits(member.value, "difficulty.\(member.key)")
        }
        usual = 0
        self.bySignal = bySignal
    }

    /// Whether any event needs proof of work.
    var isAny: Bool { usual > 0 || bySignal.values.contains { $0 > 0 } }

    /// Returns the required bits; 0: none.
    func bits(for signal: String) -> Int { bySignal[signal] ?? usual }

    private static func bits(_ value: JSONValue, _ key: String) throws(PluginError) -> Int {
        guard let bits = value.integer, (0...256).contains(bits) else {
            throw PluginError("\(key): expected \(expected), found \(value.integer.map { "\($0)" } ?? value.kind)")
        }
        return Int(bits)
    }
}

/// The maximum number of events from one author to one recipient in a time span.
struct BurstLimit {
    let events: Int
    let span: Duration

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: ["events", "seconds"])
        guard let events = try object.integer("events", in: 1...100) else {
            throw PluginError("events: expected a whole number from 1 to 100, found nothing")
        }
        guard let seconds = try object.integer("seconds", in: 1...86_400) else {
            throw PluginError("seconds: expected a whole number from 1 to 86400, found nothing")
        }
        self.events = Int(events)
        span = .seconds(seconds)
    }
}
