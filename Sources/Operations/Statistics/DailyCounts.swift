import Core
import Delivery
import Pipeline
import Push
import Synchronization

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
        var rows: [Row] = []
        // By their places: what is alike comes in a row, and a report is many texts.
        for place in reports.indices {
            guard let what = DailyFigure.What(reports[place].kind) else { continue }
            let language = language(reports[place].device)
            if let row = rows.last, row.what == what, row.language == language,
                reports[row.first].mode == reports[place].mode, reports[row.first].queue == reports[place].queue
            {
                rows[rows.count - 1].count += 1
            } else {
                rows.append(Row(what: what, language: language, first: place))
            }
        }
        guard !rows.isEmpty else { return }
        let day = DailyFigure.day(of: now())
        state.withLock { state in
            for row in rows {
                let queue = reports[row.first].queue
                var figure = DailyFigure(day: day, row.what, mode: reports[row.first].mode?.name ?? "")
                if state.queues.count < Self.mostQueues { state.queues.insert(queue) }
                if state.queues.contains(queue) { (figure.platform, figure.app) = (queue.platform, queue.app) }
                if state.languages.count < Self.mostLanguages { state.languages.insert(row.language) }
                if state.languages.contains(row.language) { figure.language = row.language }
                state.add(figure, row.count)
            }
        }
    }

    /// Ends of deliveries that are counted as one figure.
    private struct Row {
        let what: DailyFigure.What
        let language: String
        /// The place of the first of them.
        let first: Int
        var count = 1
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
        case .retry, .reduced, .misconfigured, .postponed, .requeued, .unregistered, .moved, .unreadable, .discarded,
            .deleted:
            return nil
        }
    }
}

extension Array {
    /// Its parts in order, each of neighbours that are alike: whoever counts looks at the first of each. `areAlike` is
    /// asked by places, since elements are large.
    func rows(where areAlike: (Int, Int) -> Bool) -> [Range<Int>] {
        var rows: [Range<Int>] = []
        var start = startIndex
        for place in indices where !areAlike(start, place) {
            rows.append(start..<place)
            start = place
        }
        if start < endIndex { rows.append(start..<endIndex) }
        return rows
    }
}
