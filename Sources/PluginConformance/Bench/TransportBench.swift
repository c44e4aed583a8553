import CarillonABI
import PluginHost
import Units

/// One transport under check, and what is known about it so far.
final class TransportBench: Bench<TransportFunctions> {
    enum Fate {
        case refused(carillon_status)
        case ended(Ending)
        /// Accepted, and not ended in time.
        case open
    }

    /// What it delivers, once that is known.
    var sample: Parcel?
    /// The rules that were found broken: each is reported once.
    var broken: Set<ConformanceCheck> = []
    /// The sample of its own description, where that works.
    var describedSample: Parcel?
    /// The plan's registration for it.
    let givenRegistration: ConformancePlan.Registration?
    private var patience: Duration
    private let shortestPatience: Duration
    private var regularInstance: CheckedTransport?

    override init(
        _ functions: TransportFunctions,
        of library: CheckedLibrary,
        _ plan: ConformancePlan,
        _ progress: ConformanceProgress
    ) {
        givenRegistration = plan.registrations[functions.platform]
        patience = plan.patience
        shortestPatience = max(plan.patience / 20, .milliseconds(20))
        super.init(functions, of: library, plan, progress)
    }

    override func withFiles(_ configuration: String) throws(CheckStop) -> String {
        do throws(ConfigurationFileError) {
            return try ConfigurationFiles(functions.description).adding(to: configuration)
        } catch {
            throw .failed("the router refuses the configuration given: \(error)")
        }
    }

    /// The instance that all regular deliveries go through.
    func regular() throws(CheckStop) -> CheckedTransport {
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
    func fate(of parcel: Parcel, on instance: CheckedTransport, answered answer: Answer = Answer(200)) -> Fate {
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

    func wait(for instance: CheckedTransport, until condition: (CheckLog) -> Bool) -> Bool {
        if instance.host.wait(patience, until: condition) { return true }
        // A plugin that does not end one delivery in time probably does not end others.
        patience = min(patience, shortestPatience)
        return false
    }

    /// Runs `body` on a new instance, waits for all work, holds the rules against what happened, and destroys it.
    func onNewInstance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        rules: [ConformanceCheck] = [.completes, .completesOnce, .outcome, .requests, .services],
        _ body: (CheckedTransport) throws(CheckStop) -> Void
    ) throws(CheckStop) {
        let instance = try instance(placement, shape)
        try body(instance)
        try finish(instance, rules: rules)
    }

    /// Destroys `instance` when its work is done, and holds the rules against all it did.
    func finish(_ instance: CheckedTransport, rules: [ConformanceCheck]) throws(CheckStop) {
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
