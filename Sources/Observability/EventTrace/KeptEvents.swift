import Core
import Dispatch
import GRDB
import Logging
import Nostr
import Pipeline
import Storage
import Synchronization

/// Whole events of the last hours, so that an operator can see what other rules would have made of them. Off unless the
/// configuration asks for it. Of messages no content is kept.
///
/// It makes nobody wait: what its disk is too slow for is left out. A file that is damaged, or of another version, is
/// begun anew.
package final class KeptEvents: Sendable {
    private struct Pending {
        var events: [KeptEvent] = []
        var bytes = 0
        var withdrawn: [Deletion] = []
        /// More deletions came than may wait: nothing that is kept may stay.
        var isOverrun = false
        var isScheduled = false
        var isClosed = false
    }

    /// What may be kept at most, in bytes of JSON.
    package static let mostBytes = 64 << 20
    /// Longer events are left out.
    private static let longest = 32 << 10
    /// What may wait for the disk.
    private static let mostPending = 4 << 20
    /// So many deletions may wait for the disk; one names at most 256 events.
    package static let mostWithdrawn = 1_024
    /// How long events wait for others to be written with.
    private static let delay: Duration = .seconds(1)

    private let path: String
    private let age: Duration
    private let limit: Int
    private let mostWithdrawn: Int
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let pending = Mutex(Pending())
    private let file = Mutex<KeptEventsFile?>(nil)
    private let isInTrouble = Atomic<Bool>(false)
    private let queue = DispatchQueue(label: "carillon kept events")

    /// The file at `path` is made with the first event, readable by this user only.
    package init(
        path: String,
        age: Duration,
        limit: Int = KeptEvents.mostBytes,
        mostWithdrawn: Int = KeptEvents.mostWithdrawn,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.path = path
        self.age = age
        self.limit = limit
        self.mostWithdrawn = mostWithdrawn
        self.now = now
        self.logger = logger
    }

    /// Removes what a router before this one kept.
    package static func discard(path: String) { KeptEventsFile.renewable(path).remove() }

    /// Returns when everything that came so far is written.
    package func flush() { queue.sync { writePending() } }

    /// Drops what has had its time; does nothing where there is no file.
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
                    // Nothing in it is worth being put aside.
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
            logger.warning("Events cannot be kept for trying rules", metadata: ["error": "\(error)"])
        }
    }
}

extension KeptEvents {
    /// Takes what rules decide about.
    package var ofRules: RuledEventObserver {
        RuledEventObserver(decided: { self.decided($0, for: $1) }, withdrawn: { self.withdrawn($0) })
    }

    package func decided(_ event: Event, for accounts: [PublicKey]) {
        let event = KeptEvent(time: now(), event: event.withoutMessage, accounts: accounts)
        let size = event.size
        guard size <= Self.longest else { return }
        add { pending in
            guard pending.bytes + size <= Self.mostPending else { return }
            pending.bytes += size
            pending.events.append(event)
        }
    }

    package func withdrawn(_ deletion: Deletion) {
        add { [mostWithdrawn] pending in
            guard pending.withdrawn.count < mostWithdrawn, !pending.isOverrun else {
                // What the deletions are about is among what is kept, or waits.
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
    /// When it was decided.
    package var time: Timestamp
    /// Of messages without the content.
    package var event: Event
    /// Whom it concerned.
    package var accounts: [PublicKey]

    package init(time: Timestamp, event: Event, accounts: [PublicKey]) {
        self.time = time
        self.event = event
        self.accounts = accounts
    }

    /// About how many bytes it takes.
    var size: Int {
        event.tags.reduce(256 + event.content.utf8.count + accounts.count * 32) { size, tag in
            tag.reduce(size + 2) { $0 + $1.utf8.count + 3 }
        }
    }
}

extension Event {
    /// The same without the content where that is a message to somebody, encrypted or not.
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
