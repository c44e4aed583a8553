import Delivery

/// Looks on while a run is going on: which transport has ended when, and whether anything ends at all.
struct Watch {
    private let plan: ChaosPlan
    private let total: Int
    private var open: [ChaosTransport: Int]
    private let began = ContinuousClock.now
    private var lastNews = ContinuousClock.now
    private var reports = 0
    private(set) var seconds: [ChaosTransport: Double] = [:]
    private(set) var wasStuck = false

    init(_ plan: ChaosPlan, _ population: Population) {
        self.plan = plan
        total = population.deliveries.count
        open = Dictionary(grouping: population.deliveries, by: \.platform).reduce(into: [:]) { open, entry in
            guard let transport = plan.transports.first(where: { $0.platform == entry.key }) else { return }
            open[transport] = entry.value.count
        }
    }

    var ended: Int { total - open.values.reduce(0, +) }

    var isOver: Bool { wasStuck || open.values.allSatisfy { $0 <= 0 } }

    /// True once, when only the transport that hangs has deliveries open.
    var onlyHangingIsLeft: Bool {
        guard case .hanging(let hanging) = plan.weather else { return false }
        return open.allSatisfy { $0.key == hanging || $0.value <= 0 }
    }

    mutating func look(at keeper: JournalKeeper) {
        let now = ContinuousClock.now
        let latest = keeper.reports(from: reports)
        reports += latest.count
        for report in latest where report.kind.isFinal {
            guard let transport = plan.transports.first(where: { $0.platform == report.queue.platform }) else {
                continue
            }
            open[transport, default: 0] -= 1
            lastNews = now
            if open[transport] == 0 { seconds[transport] = (now - began) / .seconds(1) }
        }
        wasStuck = now - lastNews > .seconds(plan.patience)
    }
}
