import Delivery

/// Looks on while a run is going on: which transport has ended when, and whether anything ends at all.
struct Watch {
    private let plan: ChaosPlan
    private let total: Int
    private let ordered: [String: Int]
    private var open: [ChaosTransport: Int]
    private let began = ContinuousClock.now
    private var lastNews = ContinuousClock.now
    private(set) var seconds: [ChaosTransport: Double] = [:]
    private(set) var wasStuck = false

    init(_ plan: ChaosPlan, _ population: Population) {
        self.plan = plan
        total = population.deliveries.count
        let ordered = Dictionary(grouping: population.deliveries, by: \.platform).mapValues(\.count)
        open = Dictionary(uniqueKeysWithValues: plan.transports.map { ($0, ordered[$0.platform] ?? 0) })
        self.ordered = ordered
    }

    var ended: Int { total - open.values.reduce(0, +) }

    var isOver: Bool { wasStuck || open.values.allSatisfy { $0 <= 0 } }

    /// When only the transport that hangs has deliveries open.
    var onlyHangingIsLeft: Bool {
        guard case .hanging(let hanging) = plan.weather else { return false }
        return open.allSatisfy { $0.key == hanging || $0.value <= 0 }
    }

    /// `ended` is how many deliveries have ended, by platform.
    mutating func look(at ended: [String: Int]) {
        let now = ContinuousClock.now
        for transport in plan.transports {
            let left = (ordered[transport.platform] ?? 0) - (ended[transport.platform] ?? 0)
            guard left != open[transport] else { continue }
            lastNews = now
            open[transport] = left
            if left == 0 { seconds[transport] = (now - began) / .seconds(1) }
        }
        wasStuck = now - lastNews > .seconds(plan.patience)
    }
}
