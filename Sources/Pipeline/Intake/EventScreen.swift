import Logging
import Nostr
import Registry
import Synchronization

/// What other threads need to see that an event concerns nobody: a part of what the ``Gate`` knows, kept up to date by
/// the pipeline.
///
/// Says "nobody" only where the gate would stop an event as ``PipelineStep/unaddressed`` at its first look, unverified.
/// A registration counts from the moment on in which its sender may learn of it: while the registry has changes that
/// the pipeline's index lacks, nobody says "nobody".
package final class EventScreen: Sendable {
    /// What readers look at. Replaced as a whole; an object, so that no event costs a copy of its parts.
    final class View: Sendable {
        let purposes: Purposes
        let keys: KeyFilter
        let changes: IndexFeed

        init(purposes: Purposes, keys: KeyFilter, changes: IndexFeed) {
            self.purposes = purposes
            self.keys = keys
            self.changes = changes
        }

        var isBehind: Bool { changes.isBehind }

        /// As ``Gate/judge(_:index:isListWanted:now:)`` does, as far as that takes no state of the pipeline.
        /// Reads who wrote an event and what it says only where its kind makes that count.
        func finding(
            of json: UnsafeRawBufferPointer,
            by scanner: inout EventScanner
        ) throws(EventError) -> ScreeningFinding {
            let kind = try scanner.kind(of: json)
            switch purposes[kind] {
            case .registration:
                guard let event = try? Event(scanned: scanner.scan(json), in: json) else { return .mayRegister }
                return purposes.keys.named(by: event.identifier) == nil ? .concernsNobody : .mayRegister
            // An account's lists may change which keys it receives messages under.
            case .list: return keys.mayContain(try scanner.scan(json).pubkey.bytes) ? .mayRegister : .mayConcernSomebody
            case .recipientList, .deletion: return .mayConcernSomebody
            case .request where purposes.isForUs(scanner.pValues): return .mayRegister
            case .request where !purposes.isRuled(kind): return .concernsNobody
            case .order, .other: return .concernsNobody
            case .hint, .notice, .request:
                return keys.mayContain(anyOf: scanner.pValues) ? .mayConcernSomebody : .concernsNobody
            }
        }
    }

    private struct Upkeep {
        var view: View?
        /// Keys that were inserted into the filter since it was made, and devices that left.
        var inserted = 0
        var removed = 0
    }

    private let upkeep = Mutex(Upkeep())
    /// The number of the view that is in force; 0: there is none, and everything is handed over.
    private let version = Atomic<Int>(0)
    private let logger: Logger
    private let passed: @Sendable (_ count: Int) -> Void

    /// `passed` receives how many events concerned nobody, on the readers' threads.
    package init(logger: Logger, passed: @escaping @Sendable (_ count: Int) -> Void) {
        self.logger = logger
        self.passed = passed
    }

    /// For one reader of events that come in this way. Those of sources that are answered are never passed over: each
    /// of theirs is verified.
    package func screening(of source: EventSource) -> any EventScreening {
        ScreenedReading(screen: self, source: source, logger: logger, passed: passed)
    }

    /// The view in force, where it is not the one of that number.
    func view(after number: Int) -> (view: View?, number: Int)? {
        guard version.load(ordering: .acquiring) != number else { return nil }
        return upkeep.withLock { ($0.view, version.load(ordering: .relaxed)) }
    }

    // MARK: For the pipeline

    /// Lets readers see everything that is in `index` now. `changes` are those that the index follows.
    func open(_ index: borrowing MatchIndex, _ purposes: Purposes, following changes: IndexFeed) {
        replace(by: View(purposes: purposes, keys: index.keyFilter(), changes: changes))
    }

    /// Reads kinds by other rules and settings from now on.
    func follow(_ purposes: Purposes) {
        guard let view = upkeep.withLock({ $0.view }) else { return }
        replace(by: View(purposes: purposes, keys: view.keys, changes: view.changes), isNewFilter: false)
    }

    /// A change was applied to the index.
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

    /// Makes the filter anew where it holds too many keys, or too many that are gone. To be called between batches.
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

/// Looks at one source's events with what an ``EventScreen`` says at the moment. Takes no lock for an event, allocates
/// nothing and counts no references.
final class ScreenedReading: EventScreening {
    /// What changes from event to event. Apart, because what a struct holds is used where it lies: from a property of a
    /// class it would be retained for each use.
    private struct Progress {
        var scanner = EventScanner()
        var view: EventScreen.View?
        /// The number of ``view``.
        var version = 0
        /// Events that concerned nobody since the last report.
        var count = 0
        /// Whether each event has its line in the log, which is looked up after each read.
        var isLogged: Bool

        mutating func finding(
            of json: UnsafeRawBufferPointer,
            by screen: EventScreen,
            _ logger: Logger
        ) -> ScreeningFinding {
            // Read first: what was registered before this is in the view and its filter, or the index is behind.
            let isBehind = view?.isBehind ?? true
            if let (newer, number) = screen.view(after: version) { (view, version) = (newer, number) }
            do throws(EventError) {
                switch try view?.finding(of: json, by: &scanner) {
                case .concernsNobody where !isBehind:
                    count += 1
                    if isLogged, let id = try? scanner.scan(json).id { StepLog.log(.unaddressed, id, to: logger) }
                    return .concernsNobody
                case .mayRegister: return .mayRegister
                case .concernsNobody, .mayConcernSomebody, nil: return .mayConcernSomebody
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

    func finding(of json: UnsafeRawBufferPointer) -> ScreeningFinding {
        isAnswered ? .mayConcernSomebody : progress.finding(of: json, by: screen, logger)
    }

    func report() {
        guard progress.count > 0 else { return }
        progress.isLogged = logger.logLevel <= .debug
        passed(progress.count)
        progress.count = 0
    }
}
