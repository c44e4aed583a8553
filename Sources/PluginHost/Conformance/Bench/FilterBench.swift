import CarillonABI

/// One filter under check, and what is known about it so far.
final class FilterBench: CreatingBench {
    let functions: FilterFunctions
    let library: PluginLibrary
    let plan: ConformancePlan
    let progress: ConformanceProgress
    var configuration: String?
    private(set) var refusals: [(what: String, refusal: Refusal)] = []
    /// What it said about regular events.
    var decisions: [(what: String, decision: FilterDecision)] = []
    /// Whether a verdict breaks the rules: that is reported once.
    var isFlawed = false

    init(
        _ functions: FilterFunctions,
        of library: PluginLibrary,
        _ plan: ConformancePlan,
        _ progress: ConformanceProgress
    ) {
        self.functions = functions
        self.library = library
        self.plan = plan
        self.progress = progress
    }

    var given: String? { plan.configurations[functions.name] }

    func at(_ what: String) { progress.tell(.at(what: what)) }

    func note(_ refusal: Refusal, of what: String) { refusals.append((what, refusal)) }

    func tryToCreate(_ configuration: [UInt8], capacity: Int) -> Refusal {
        let (refusal, filter) = create(configuration, capacity: capacity)
        filter?.destroy()
        return refusal
    }

    /// Runs `body` on a new instance, and destroys it.
    func onNewInstance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        _ body: (CheckedFilter) throws(CheckStop) -> Void
    ) throws(CheckStop) {
        guard let configuration else { throw .skipped("no configuration is known that it takes") }
        let (refusal, filter) = create(Array(configuration.utf8), placement, shape)
        guard let filter else {
            throw .failed("it refuses the configuration that it took before, saying: \(refusal.said)")
        }
        try body(filter)
        filter.destroy()
        let log = filter.host.log
        if log.callsAfterDestroy > 0 {
            throw .failed("it called the host after destroy: nothing may be left running by then")
        }
        if filter.lateSets > 0 { throw .failed("it called set after decide returned: only inside the call") }
    }

    private func create(
        _ configuration: [UInt8],
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        capacity: Int = 512
    ) -> (refusal: Refusal, filter: CheckedFilter?) {
        let made = Creation(of: library, by: functions.create, configuration, placement, shape, capacity: capacity)
        guard !made.refusal.isRefused else { return (made.refusal, nil) }
        return (made.refusal, CheckedFilter(made.pointer, on: made.host, functions, of: library))
    }
}
