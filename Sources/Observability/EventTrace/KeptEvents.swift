import Core
import Dispatch
import GRDB
import Logging
import Nostr
import Pipeline
import Storage
import Synchronization

/// A store of whole events of the last hours, with which an operator can try other rules (`carillon rules diff`). Off
/// unless the configuration enables it. The content of messages is never kept.
///
/// It never blocks callers: events that the disk is too slow for are dropped. A damaged file, or one of another
/// version, is replaced by a new one.
package final class KeptEvents: Sendable {
    private struct Pending {
        var events: [KeptEvent] = []
        var bytes = 0
        var withdrawn: [Deletion] = []
        /// Too many deletions were waiting, so all kept events must be removed.
        var isOverrun = false
        var isScheduled = false
        var isClosed = false
    }

    /// The maximum of kept events, in bytes of JSON.
    package static let maxBytes = 64 << 20
    /// Longer events are dropped.
    private static let longest = 32 << 10
    /// The maximum of bytes that wait for the disk.
    private static let maxPending = 4 << 20
    /// Up to this many deletions may wait for the disk; one names at most 256 events.
    package static let maxWithdrawn = 1_024
    /// How long events wait to be written together.
    private static let delay: Duration = .seconds(1)

    private let path: String
    private let age: Duration
    private let limit: Int
    private let maxWithdrawn: Int
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let pending = Mutex(Pending())
    private let file = Mutex<KeptEventsFile?>(nil)
    private let isInTrouble = Atomic<Bool>(false)
    private let queue = DispatchQueue(label: "carillon kept events")

    /// The file at `path` is created with the first event, readable only by this user.
    package init(
        path: String,
        age: Duration,
        limit: Int = KeptEvents.maxBytes,
        maxWithdrawn: Int = KeptEvents.maxWithdrawn,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.path = path
        self.age = age
        self.limit = limit
        self.maxWithdrawn = maxWithdrawn
        self.now = now
        self.logger = logger
    }

    /// Removes the file of an earlier router.
    package static func discard(path: String) { KeptEventsFile.renewable(path).remove() }

    /// Returns once everything received is written.
    package func flush() { queue.sync { writePending() } }

    /// Drops expired events; does nothing if there is no file.
    package func dropExpired() {
        queue.async { [self] in
            guard !pending.withLock(\.isClosed), KeptEventsFile.renewable(path).exists else { return }
            write([], [])
        }
    }

    package func close() {
        pending.withLock { $0.isClosed = true }
        queue.sync {
            writePending()
            file.withLock { file in
                file?.close()
                file = nil
            }
        }
    }

    private func add(_ take: (inout Pending) -> Void) {
        let mustSchedule = pending.withLock { pending in
            guard !pending.isClosed else { return false }
            take(&pending)
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        guard mustSchedule else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(Self.delay.milliseconds))) { [weak self] in
            self?.writePending()
        }
    }

    private func writePending() {
        let taken = pending.withLock { pending in
            defer { pending = Pending(isClosed: pending.isClosed) }
            return pending
        }
        if taken.isOverrun { forgetAll() }
        if !taken.events.isEmpty || !taken.withdrawn.isEmpty { write(taken.events, taken.withdrawn) }
    }

    private func forgetAll() {
        file.withLock { file in
            file?.close()
            file = nil
            KeptEventsFile.renewable(path).remove()
        }
    }

    private func write(_ events: [KeptEvent], _ withdrawn: [Deletion]) {
        let time = now()
        do {
            try file.withLock { file in
                do {
                    file = try file ?? KeptEventsFile(path)
                    try file?.write(events, withdrawn, keptSince: time - age, atMost: limit, at: time)
                } catch let error as DatabaseError where error.isDamage {
                    // Its content is not worth moving aside.
                    file?.close()
                    KeptEventsFile.renewable(path).remove()
                    file = nil
                    throw error
                }
            }
            isInTrouble.store(false, ordering: .relaxed)
        } catch {
            guard !isInTrouble.exchange(true, ordering: .relaxed) else { return }
            let error = TraceError(error, path: path)
            logger.warning("Failed to keep events for testing rules", metadata: ["error": "\(error)"])
        }
    }
}

extension KeptEvents {
    /// Takes the events that rules decide about.
    package var ofRules: RuledEventObserver {
        RuledEventObserver(decided: { self.decided($0, for: $1) }, withdrawn: { self.withdrawn($0) })
    }

    package func decided(_ event: Event, for accounts: [PublicKey]) {
        let event = KeptEvent(time: now(), event: event.withoutMessage, accounts: accounts)
        let size = event.size
        guard size <= Self.longest else { return }
        add { pending in
            guard pending.bytes + size <= Self.maxPending else { return }
            pending.bytes += size
            pending.events.append(event)
        }
    }

    package func withdrawn(_ deletion: Deletion) {
        add { [maxWithdrawn] pending in
            guard pending.withdrawn.count < maxWithdrawn, !pending.isOverrun else {
                // The deletions were dropped, so every kept or waiting event may be a deleted one.
                pending.isOverrun = true
                pending.events = []
                pending.withdrawn = []
                pending.bytes = 0
                return
            }
            pending.withdrawn.append(deletion)
        }
    }
}

/// An event that rules decided about.
package struct KeptEvent: Sendable, Hashable {
    /// The time of the decision.
    package var time: Timestamp
    /// The event; without its content if it is a message.
    package var event: Event
    /// The accounts that it concerns.
    package var accounts: [PublicKey]

    package init(time: Timestamp, event: Event, accounts: [PublicKey]) {
        self.time = time
        self.event = event
        self.accounts = accounts
    }

    /// Its approximate size in bytes.
    var size: Int {
        event.tags.reduce(256 + event.content.utf8.count + accounts.count * 32) { size, tag in
            tag.reduce(size + 2) { $0 + $1.utf8.count + 3 }
        }
    }
}

extension Event {
    /// The same without the content if that is a message, encrypted or not.
    fileprivate var withoutMessage: Event {
        switch kind {
        case .giftWrap, .ephemeralGiftWrap, .encryptedDirectMessage, .chatMessage:
            var event = self
            event.content = ""
            return event
        default: return self
        }
    }
}
