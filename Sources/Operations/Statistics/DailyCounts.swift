import Core
import Delivery
import Pipeline
import Push
import Synchronization

/// Daily counters in memory, until the caller writes them to disk.
package final class DailyCounts: PipelineObserver, DeliveryObserver {
    /// The maximum number of platform/app pairs. Registrations choose the names; more pairs count without a name.
    private static let maxQueues = 1_000
    /// The maximum number of languages. Registrations choose these too; more languages count without a name.
    private static let maxLanguages = 200

    private struct State {
        var figures: [DailyFigure: Int] = [:]
        var queues: Set<QueueName> = []
        var languages: Set<String> = []

        mutating func add(_ figure: DailyFigure, _ count: Int = 1) { figures[figure, default: 0] += count }
    }

    private let state = Mutex(State())
    private let language: @Sendable (DeviceID) -> String
    private let now: @Sendable () -> Timestamp

    /// `language` returns the language of a device's app; empty if unknown.
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
        // Equal reports come in runs. Indices avoid copies of the reports, which hold many strings.
        for place in reports.indices {
            guard let what = DailyFigure.Category(reports[place].kind) else { continue }
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
                if state.queues.count < Self.maxQueues { state.queues.insert(queue) }
                if state.queues.contains(queue) { (figure.platform, figure.app) = (queue.platform, queue.app) }
                if state.languages.count < Self.maxLanguages { state.languages.insert(row.language) }
                if state.languages.contains(row.language) { figure.language = row.language }
                state.add(figure, row.count)
            }
        }
    }

    /// Final results of deliveries that count as one figure.
    private struct Row {
        let what: DailyFigure.Category
        let language: String
        /// The index of the first one.
        let first: Int
        var count = 1
    }

    /// Returns and resets the counts.
    package func take() -> [DailyFigure: Int] {
        state.withLock { state in
            defer { state = State() }
            return state.figures
        }
    }

    /// Adds back counts that could not be written.
    package func putBack(_ figures: [DailyFigure: Int]) {
        state.withLock { $0.figures.merge(figures, uniquingKeysWith: +) }
    }

    /// The counts that are not written yet.
    package var pending: [DailyFigure: Int] { state.withLock { $0.figures } }

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

extension DailyFigure.Category {
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
    /// Splits the array into runs of equal neighbors. `areAlike` takes indices, because elements are large. Each
    /// element is compared with the first of its run.
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
