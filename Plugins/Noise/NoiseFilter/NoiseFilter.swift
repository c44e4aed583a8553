public import PluginKit
import Synchronization

/// Drops what is noise whoever the recipient is: crowds, tiny zaps, events without work, and bursts.
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
        if let reason = crowd(event) ?? smallChange(call, signal, isFollowed) ?? idleness(event, signal, isFollowed) {
            return .drop(reason: reason)
        }
        // Last: what is dropped for another reason uses nothing up.
        return burst(of: event, call).map { .drop(reason: $0) } ?? .pass
    }

    /// A contact list names hundreds and is no thread.
    private func crowd(_ event: NostrEvent) -> String? {
        guard let most = settings.hellthread, event.kind != Self.contactList else { return nil }
        let named = Set(event.values(of: "p")).count
        return named > most ? "it names \(named) people" : nil
    }

    private func smallChange(_ call: borrowing FilterCall, _ signal: String, _ isFollowed: Bool) -> String? {
        guard signal == "zap" || call.zapMillisats > 0 else { return nil }
        guard let least = isFollowed ? settings.leastZapFromFollows : settings.leastZap else { return nil }
        return call.zapMillisats < least ? "a zap of less than \(least / 1000) sats" : nil
    }

    private func idleness(_ event: NostrEvent, _ signal: String, _ isFollowed: Bool) -> String? {
        let demanded = settings.difficulty.bits(for: signal)
        guard demanded > 0, settings.difficulty.countsForFollows || !isFollowed else { return nil }
        let difficulty = ProofOfWork.difficulty(of: event)
        return difficulty < demanded ? "difficulty \(difficulty) of \(demanded)" : nil
    }

    /// Who is behind a gift wrap nobody can tell: of those there are no bursts.
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
