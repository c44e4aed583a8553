import Logging
import Nostr

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
