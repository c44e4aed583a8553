import Logging
import Nostr

/// Looks at one source's events with what an ``EventScreen`` says at the moment. Takes no lock for an event, and
/// allocates nothing.
final class ScreenedReading: EventScreening {
    private let screen: EventScreen
    private let source: EventSource
    private let logger: Logger
    private let passed: @Sendable (_ count: Int) -> Void
    private var scanner = EventScanner()
    private var view: EventScreen.View?
    private var version = 0
    private var count = 0
    /// Whether each event has its line in the log, which is looked up after each read.
    private var isLogged: Bool

    init(
        screen: EventScreen,
        source: EventSource,
        logger: Logger,
        passed: @escaping @Sendable (_ count: Int) -> Void
    ) {
        self.screen = screen
        self.source = source
        self.logger = logger
        self.passed = passed
        isLogged = logger.logLevel <= .debug
    }

    func finding(of json: UnsafeRawBufferPointer) -> ScreeningFinding {
        // Read first: what was registered before this is in the view and its filter, or the index is behind.
        let isBehind = view?.isBehind ?? true
        if let (newer, number) = screen.view(after: version) { (view, version) = (newer, number) }
        guard let view, !source.isAnswered, let event = try? scanner.scan(json) else { return .mayConcernSomebody }
        let finding = view.finding(of: event, naming: scanner.pValues, in: json)
        guard finding == .concernsNobody else { return finding }
        guard !isBehind else { return .mayConcernSomebody }
        count += 1
        if isLogged { StepLog.log(.unaddressed, event.id, to: logger) }
        return .concernsNobody
    }

    func report() {
        guard count > 0 else { return }
        isLogged = logger.logLevel <= .debug
        passed(count)
        count = 0
    }
}
