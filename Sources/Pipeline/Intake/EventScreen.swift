import Logging
import Nostr
import Registry
import Synchronization

/// A snapshot of the ``Gate`` that other threads use to skip events that concern no account. The pipeline keeps it up
/// to date.
///
/// It skips only events that the gate would stop unverified, as ``PipelineStep/unaddressed``. A registration applies as
/// soon as its sender may learn of it: while the registry has changes that the pipeline's index lacks, no event is
/// skipped.
package final class EventScreen: Sendable {
    /// An immutable snapshot for readers. It is an object, so that events do not copy its parts.
    final class View: Sendable {
        let purposes: Purposes
        let keys: AccountBloomFilter
        let changes: IndexFeed

        init(purposes: Purposes, keys: AccountBloomFilter, changes: IndexFeed) {
            self.purposes = purposes
            self.keys = keys
            self.changes = changes
        }

        var isBehind: Bool { changes.isBehind }

        /// Decides like ``Gate/judge(_:index:isListWanted:now:)``, without the pipeline's state. Parses the author and
        /// tags only if the event's kind requires it.
        func finding(
            of json: UnsafeRawBufferPointer,
            by scanner: inout EventScanner
        ) throws(EventError) -> PrefilterResult {
            let kind = try scanner.kind(of: json)
            switch purposes[kind] {
            case .registration:
                guard let event = try? Event(scanned: scanner.scan(json), in: json) else { return .mayRegister }
                return purposes.keys.named(by: event.identifier) == nil ? .irrelevant : .mayRegister
            // An account's lists may change which keys it receives messages under.
            case .list: return keys.mayContain(try scanner.scan(json).pubkey.bytes) ? .mayRegister : .mayConcernSomebody
            case .recipientList, .deletion: return .mayConcernSomebody
            case .request where purposes.isForUs(scanner.pValues): return .mayRegister
            case .request where !purposes.isRuled(kind): return .irrelevant
            case .order, .other: return .irrelevant
            case .hint, .notice, .request:
                return keys.mayContain(anyOf: scanner.pValues) ? .mayConcernSomebody : .irrelevant
            }
        }
    }

    private struct Maintenance {
        var view: View?
        /// The number of keys added to the filter since it was made, and of devices removed.
        var inserted = 0
        var removed = 0
    }

    private let upkeep = Mutex(Maintenance())
    /// The number of the current view. With 0 there is none, and every event is passed on.
    private let version = Atomic<Int>(0)
    private let logger: Logger
    private let passed: @Sendable (_ count: Int) -> Void

    /// `passed` receives the number of skipped events, on the readers' threads.
    package init(logger: Logger, passed: @escaping @Sendable (_ count: Int) -> Void) {
        self.logger = logger
        self.passed = passed
    }

    /// Returns a prefilter for one reader of events from `source`. Events from answered sources are never skipped,
    /// because each one is verified.
    package func prefilter(of source: EventSource) -> any EventPrefilter {
        ScreenedReading(screen: self, source: source, logger: logger, passed: passed)
    }

    /// The current view, if its number is not `number`.
    func view(after number: Int) -> (view: View?, number: Int)? {
        guard version.load(ordering: .acquiring) != number else { return nil }
        return upkeep.withLock { ($0.view, version.load(ordering: .relaxed)) }
    }

    // MARK: For the pipeline

    /// Shows readers everything that is in `index` now. `changes` is the feed that the index follows.
    func open(_ index: borrowing MatchIndex, _ purposes: Purposes, following changes: IndexFeed) {
        replace(by: View(purposes: purposes, keys: index.keyFilter(), changes: changes))
    }

    /// Uses other rules and settings from now on.
    func follow(_ purposes: Purposes) {
        guard let view = upkeep.withLock({ $0.view }) else { return }
        replace(by: View(purposes: purposes, keys: view.keys, changes: view.changes), isNewFilter: false)
    }

    /// Applies a change that was applied to the index.
    func apply(_ change: IndexChange) {
        upkeep.withLock { upkeep in
            guard let keys = upkeep.view?.keys else { return }
            switch change {
            case .put(let device):
                if keys.insert(device.account.bytes) { upkeep.inserted += 1 }
            case .messageKeys(let messageKeys, _):
                upkeep.inserted += messageKeys.count { keys.insert($0.key.bytes) }
            case .remove:
                upkeep.removed += 1
            }
        }
    }

    /// Rebuilds the filter if it holds too many keys, or too many removed ones. Call this between batches.
    func refresh(from index: borrowing MatchIndex) {
        let worn = upkeep.withLock { upkeep -> View? in
            guard let view = upkeep.view, max(upkeep.inserted, upkeep.removed * 2) > view.keys.capacity / 2 else {
                return nil
            }
            return view
        }
        if let worn { open(index, worn.purposes, following: worn.changes) }
    }

    private func replace(by view: View, isNewFilter: Bool = true) {
        upkeep.withLock { upkeep in
            upkeep.view = view
            if isNewFilter { (upkeep.inserted, upkeep.removed) = (0, 0) }
            version.add(1, ordering: .releasing)
        }
    }
}

/// Screens the events of one source with an ``EventScreen``. It takes no lock per event, and does no allocation or
/// reference counting.
final class ScreenedReading: EventPrefilter {
    /// The state that changes with each event. It is a struct, because class properties would be retained at each use.
    private struct Progress {
        var scanner = EventScanner()
        var view: EventScreen.View?
        /// The number of ``view``.
        var version = 0
        /// The number of skipped events since the last report.
        var count = 0
        /// Whether each event is logged. Updated after each read.
        var isLogged: Bool

        mutating func finding(
            of json: UnsafeRawBufferPointer,
            by screen: EventScreen,
            _ logger: Logger
        ) -> PrefilterResult {
            // Read this first: any earlier registration is then in the view and its filter, or the index is behind.
            let isBehind = view?.isBehind ?? true
            if let (newer, number) = screen.view(after: version) { (view, version) = (newer, number) }
            do throws(EventError) {
                switch try view?.finding(of: json, by: &scanner) {
                case .irrelevant where !isBehind:
                    count += 1
                    if isLogged, let id = try? scanner.scan(json).id { StepLog.log(.unaddressed, id, to: logger) }
                    return .irrelevant
                case .mayRegister: return .mayRegister
                case .irrelevant, .mayConcernSomebody, nil: return .mayConcernSomebody
                }
            } catch {
                return .mayConcernSomebody
            }
        }
    }

    private let screen: EventScreen
    private let isAnswered: Bool
    private let logger: Logger
    private let passed: @Sendable (_ count: Int) -> Void
    private var progress: Progress

    init(
        screen: EventScreen,
        source: EventSource,
        logger: Logger,
        passed: @escaping @Sendable (_ count: Int) -> Void
    ) {
        self.screen = screen
        self.isAnswered = source.isAnswered
        self.logger = logger
        self.passed = passed
        progress = Progress(isLogged: logger.logLevel <= .debug)
    }

    func finding(of json: UnsafeRawBufferPointer) -> PrefilterResult {
        isAnswered ? .mayConcernSomebody : progress.finding(of: json, by: screen, logger)
    }

    func report() {
        guard progress.count > 0 else { return }
        progress.isLogged = logger.logLevel <= .debug
        passed(progress.count)
        progress.count = 0
    }
}
