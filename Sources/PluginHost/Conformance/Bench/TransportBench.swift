import CarillonABI

/// One transport under check, and what is known about it so far.
final class TransportBench: CreatingBench {
    enum Fate {
        case refused(carillon_status)
        case ended(Ending)
        /// Accepted, and not ended in time.
        case open
    }

    let functions: TransportFunctions
    let library: PluginLibrary
    let plan: ConformancePlan
    let progress: ConformanceProgress
    /// What it can be created with, once that is known.
    var configuration: String?
    /// What it delivers, once that is known.
    var sample: Parcel?
    /// Everything it refused in words.
    private(set) var refusals: [(what: String, refusal: Refusal)] = []
    /// The rules that were found broken: each is reported once.
    var broken: Set<ConformanceCheck> = []
    private var patience: Int
    private var regularInstance: CheckedInstance?

    var platform: String { functions.platform }

    init(
        _ functions: TransportFunctions,
        of library: PluginLibrary,
        _ plan: ConformancePlan,
        _ progress: ConformanceProgress
    ) {
        self.functions = functions
        self.library = library
        self.plan = plan
        self.progress = progress
        patience = plan.patience
    }

    /// Tells what happens now, in case it is the last thing that happens.
    func at(_ what: String) { progress.tell(.at(what: what)) }

    func note(_ refusal: Refusal, of what: String) { refusals.append((what, refusal)) }

    var given: String? { plan.configurations[platform] }

    func tryToCreate(_ configuration: [UInt8], capacity: Int) -> Refusal {
        let (refusal, instance) = create(configuration, capacity: capacity)
        instance?.destroy()
        return refusal
    }

    /// Asks for an instance with any configuration.
    func create(
        _ configuration: [UInt8],
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        capacity: Int = 512
    ) -> (refusal: Refusal, instance: CheckedInstance?) {
        let made = Creation(of: library, by: functions.create, configuration, placement, shape, capacity: capacity)
        guard !made.refusal.isRefused else { return (made.refusal, nil) }
        return (made.refusal, CheckedInstance(made.pointer, on: made.host, functions, of: library))
    }

    /// An instance with the configuration that works.
    func instance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current
    ) throws(CheckStop) -> CheckedInstance {
        guard let configuration else { throw .skipped("no configuration is known that it takes") }
        let (refusal, instance) = create(Array(configuration.utf8), placement, shape)
        guard let instance else {
            throw .failed("it refuses the configuration that it took before, saying: \(refusal.said)")
        }
        return instance
    }

    /// The instance that all regular deliveries go through.
    func regular() throws(CheckStop) -> CheckedInstance {
        if let regularInstance { return regularInstance }
        let instance = try instance()
        regularInstance = instance
        return instance
    }

    func knownSample() throws(CheckStop) -> Parcel {
        guard configuration != nil else { throw .skipped("no configuration is known that it takes") }
        guard let sample else { throw .skipped("no registration is known that it delivers to") }
        return sample
    }

    /// Delivers `parcel`, lets `answer` come, and waits for the end.
    func fate(of parcel: Parcel, on instance: CheckedInstance, answered answer: Answer = Answer(200)) -> Fate {
        instance.host.set(.answer(answer))
        let (ticket, status) = instance.deliver(parcel)
        guard status == .CARILLON_OK else { return .refused(status) }
        guard wait(for: instance, until: { $0.deliveries[ticket]?.endings.isEmpty == false && $0.openRequests == 0 })
        else { return instance.host.log.deliveries[ticket]?.endings.first.map(Fate.ended) ?? .open }
        return instance.host.log.deliveries[ticket]?.endings.first.map(Fate.ended) ?? .open
    }

    /// How the sample ends when `answer` comes. Skips when it does not end, which has a check of its own.
    func kind(answered answer: Answer) throws(CheckStop) -> (kind: carillon_outcome_kind, retryAfter: UInt32)? {
        switch fate(of: try knownSample(), on: try regular(), answered: answer) {
        case .refused(let status):
            throw .failed("deliver returned \(status.rawValue) for what it accepted before")
        case .open: throw .unended
        case .ended(let ending): return ending.kind.map { ($0, ending.retryAfter) }
        }
    }

    func wait(for instance: CheckedInstance, until condition: (CheckLog) -> Bool) -> Bool {
        if instance.host.wait(milliseconds: patience, until: condition) { return true }
        // Whoever let one delivery lie lets others lie.
        patience = min(patience, max(plan.patience / 20, 20))
        return false
    }

    /// Runs `body` on a new instance, waits for all work, holds the rules against what happened, and destroys it.
    func onNewInstance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        rules: [ConformanceCheck] = [.completes, .completesOnce, .outcome, .requests],
        _ body: (CheckedInstance) throws(CheckStop) -> Void
    ) throws(CheckStop) {
        let instance = try instance(placement, shape)
        try body(instance)
        try finish(instance, rules: rules)
    }

    /// Destroys `instance` when its work is done, and holds the rules against all it did.
    func finish(_ instance: CheckedInstance, rules: [ConformanceCheck]) throws(CheckStop) {
        let isIdle = wait(for: instance, until: \.isIdle)
        if isIdle { instance.destroy() }
        let log = instance.host.log
        for rule in rules where !broken.contains(rule) {
            guard let breach = log.breach(of: rule) else { continue }
            broken.insert(rule)
            throw .failed(breach)
        }
        guard isIdle else { throw .unended }
        if log.callsAfterDestroy > 0 {
            throw .failed("it called the host after destroy: nothing may be left running by then")
        }
    }
}
