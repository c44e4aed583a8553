import Delivery
import Notifications
import Pipeline
import Synchronization
import Units

/// Counts what a day brings, in memory, until somebody writes it down.
package final class DailyCounts: PipelineObserver, DeliveryObserver {
    /// Names come from registrations; what exceeds so many pairs of a platform and an app counts without.
    private static let mostQueues = 1_000
    /// So do languages: there are fewer in use than words that apps could register.
    private static let mostLanguages = 200

    private struct State {
        var figures: [DailyFigure: Int] = [:]
        var queues: Set<QueueName> = []
        var languages: Set<String> = []

        mutating func add(_ figure: DailyFigure, _ count: Int = 1) { figures[figure, default: 0] += count }
    }

    private let state = Mutex(State())
    private let language: @Sendable (DeviceID) -> String
    private let now: @Sendable () -> Timestamp

    /// `language` is that of a device's app; empty where it is not known.
    package init(
        language: @escaping @Sendable (DeviceID) -> String = { _ in "" },
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.language = language
        self.now = now
    }

    package func record(_ counts: [PipelineStep: Int]) {
        let day = DailyFigure.day(of: now())
        let (matched, suppressed) = (Self.sum(Self.matching, counts), Self.sum(Self.suppressing, counts))
        guard matched + suppressed > 0 else { return }
        state.withLock { state in
            if matched > 0 { state.add(DailyFigure(day: day, .matched), matched) }
            if suppressed > 0 { state.add(DailyFigure(day: day, .suppressed), suppressed) }
        }
    }

    package func deliveriesReported(_ reports: [DeliveryReport]) {
        let day = DailyFigure.day(of: now())
        let ends: [End] = reports.compactMap { report in
            DailyFigure.What(report.kind).map { (report, what: $0, language: language(report.device)) }
        }
        guard !ends.isEmpty else { return }
        state.withLock { state in
            for row in ends.rows(where: Self.areAlike) {
                guard let (report, what, language) = row.first else { continue }
                var figure = DailyFigure(day: day, what, mode: report.mode?.name ?? "")
                if state.queues.count < Self.mostQueues { state.queues.insert(report.queue) }
                if state.queues.contains(report.queue) {
                    (figure.platform, figure.app) = (report.queue.platform, report.queue.app)
                }
                if state.languages.count < Self.mostLanguages { state.languages.insert(language) }
                if state.languages.contains(language) { figure.language = language }
                state.add(figure, row.count)
            }
        }
    }

    private typealias End = (report: DeliveryReport, what: DailyFigure.What, language: String)

    private static func areAlike(_ one: End, _ other: End) -> Bool {
        one.what == other.what && one.language == other.language && one.report.mode == other.report.mode
            && one.report.queue == other.report.queue
    }

    /// What was counted since the last time.
    package func take() -> [DailyFigure: Int] {
        state.withLock { state in
            defer { state = State() }
            return state.figures
        }
    }

    /// Puts back what could not be written.
    package func putBack(_ figures: [DailyFigure: Int]) {
        state.withLock { $0.figures.merge(figures, uniquingKeysWith: +) }
    }

    /// What is counted and not written yet.
    package var pending: [DailyFigure: Int] { state.withLock { $0.figures } }

    package func filtered(_ counts: [String: Int]) {}

    package func leftOut(_ counts: [RuleValue: Int]) {}

    package func queuePaused(_ pause: QueuePause) {}

    package func queueResumed(_ queue: QueueName) {}

    package func outboxFailed(_ error: any Error) {}

    private static let matching: [PipelineStep] = [.queued, .batched]
    private static let suppressing: [PipelineStep] = [
        .dropped, .filtered, .unwanted, .withheld, .silent, .beforeRegistration,
    ]

    private static func sum(_ steps: [PipelineStep], _ counts: [PipelineStep: Int]) -> Int {
        steps.reduce(0) { $0 + (counts[$1] ?? 0) }
    }
}

extension DailyFigure.What {
    fileprivate init?(_ kind: DeliveryReport.Kind) {
        switch kind {
        case .delivered: self = .delivered
        case .gone, .rejected: self = .failed
        case .expired: self = .expired
        case .retry, .reduced, .misconfigured, .postponed, .requeued, .unregistered, .moved, .unreadable, .discarded:
            return nil
        }
    }
}
