import CarillonABI
import Core
import Dispatch
import PluginHost

/// The functions that transports and filters share: they create and destroy an instance.
protocol EntryFunctions: Sendable {
    /// The platform, or the filter's name.
    var name: String { get }
    var create: TransportFunctions.Create { get }
    var destroy: TransportFunctions.Destroy { get }
}

extension TransportFunctions: EntryFunctions {
    var name: String { entry.platform }
}

extension FilterFunctions: EntryFunctions {
    var name: String { entry.name }
}

/// One transport or filter under check, and the findings about it.
class Bench<Functions: EntryFunctions> {
    typealias Instance = CheckedInstance<Functions>

    let functions: Functions
    /// A working configuration, once one is known.
    var configuration: String?
    /// All its error messages.
    private(set) var refusals: [(what: String, refusal: RefusedCall)] = []
    /// The plan's configuration for it. Default: its own sample.
    var given: String?
    private let library: CheckedLibrary
    private let progress: ConformanceProgress

    init(_ functions: Functions, of library: CheckedLibrary, _ plan: ConformancePlan, _ progress: ConformanceProgress) {
        self.functions = functions
        self.library = library
        self.progress = progress
        given = plan.configurations[functions.name]
    }

    /// Skips if the plugin gets frames instead of structs: the router itself builds those.
    func requireStructs() throws(CheckStop) {
        if case .python = library { throw .skipped("plugins in Python get no structs") }
    }

    /// Reports the current action, in case the plugin crashes in it.
    func at(_ what: String) { progress.report(.at(what: what)) }

    func note(_ refusal: RefusedCall, of what: String) { refusals.append((what, refusal)) }

    /// `configuration` as the router passes it: with the content of the files that it names, which filters cannot have.
    func withFiles(_ configuration: String) throws(CheckStop) -> String { configuration }

    /// Creates an instance with any configuration, and destroys it.
    func tryToCreate(_ configuration: [UInt8], capacity: Int = 512) -> RefusedCall {
        let (refusal, instance) = create(configuration, capacity: capacity)
        instance?.destroy()
        return refusal
    }

    /// Calls `create` as the router does, with a new host that has `kept`, and an error buffer of `capacity` bytes.
    func create(
        _ configuration: [UInt8],
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        capacity: Int = 512,
        keeping kept: [StateEntry] = []
    ) -> (refusal: RefusedCall, instance: Instance?) {
        let host = CheckHost(placement, shape, keeping: kept)
        let arena = Arena(placement)
        var pointer: UnsafeMutableRawPointer?
        let refusal = library.setup.sync {
            withExtendedLifetime(arena) {
                RefusedCall(capacity: capacity) {
                    functions.create(host.openForPlugin(), arena.text(configuration), &pointer, $0)
                }
            }
        }
        guard !refusal.isRefused else {
            host.services.endTimers()
            return (refusal, nil)
        }
        return (refusal, Instance(pointer, on: host, functions, of: library))
    }

    /// An instance with the working configuration.
    func instance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current
    ) throws(CheckStop) -> Instance {
        guard let configuration else { throw .skipped("no configuration is known that it accepts") }
        let (refusal, instance) = create(Array(configuration.utf8), placement, shape)
        guard let instance else {
            throw .failed("it refuses a configuration that it accepted before: \(refusal.said)")
        }
        return instance
    }
}

/// One transport under check, and the findings about it.
final class TransportBench: Bench<TransportFunctions> {
    enum DeliveryResult {
        case refused(carillon_status)
        case ended(Ending)
        /// Accepted, but not completed in time.
        case open
    }

    /// A parcel that it delivers, once one is known.
    var sample: Parcel?
    /// The broken rules: each is reported once.
    var broken: Set<ConformanceCheck> = []
    /// Its description's sample, if that works.
    var describedSample: Parcel?
    /// The plan's registration for it.
    let givenRegistration: ConformancePlan.Registration?
    private var timeout: Duration
    private let shortestTimeout: Duration
    private var regularInstance: CheckedTransport?

    override init(
        _ functions: TransportFunctions,
        of library: CheckedLibrary,
        _ plan: ConformancePlan,
        _ progress: ConformanceProgress
    ) {
        givenRegistration = plan.registrations[functions.name]
        timeout = plan.timeout
        shortestTimeout = max(plan.timeout / 20, .milliseconds(20))
        super.init(functions, of: library, plan, progress)
    }

    override func withFiles(_ configuration: String) throws(CheckStop) -> String {
        do throws(ConfigurationFileError) {
            return try ConfigurationFiles(functions.entry.description).adding(to: configuration)
        } catch {
            throw .failed("the router refuses the configuration given: \(error)")
        }
    }

    /// The instance for all regular deliveries.
    func regular() throws(CheckStop) -> CheckedTransport {
        if let regularInstance { return regularInstance }
        let instance = try instance()
        regularInstance = instance
        return instance
    }

    func knownSample() throws(CheckStop) -> Parcel {
        guard configuration != nil else { throw .skipped("no configuration is known that it accepts") }
        guard let sample else { throw .skipped("no registration is known that it can deliver to") }
        return sample
    }

    /// Delivers `parcel`, sends `answer`, and waits for the end.
    func fate(of parcel: Parcel, on instance: CheckedTransport, answered answer: Answer = Answer(200)) -> DeliveryResult
    {
        instance.host.set(.answer(answer))
        let (ticket, status) = instance.deliver(parcel)
        guard status == .CARILLON_OK else { return .refused(status) }
        guard wait(for: instance, until: { $0.deliveries[ticket]?.answers.isEmpty == false && $0.openRequests == 0 })
        else { return instance.host.log.deliveries[ticket]?.answers.first.map(DeliveryResult.ended) ?? .open }
        return instance.host.log.deliveries[ticket]?.answers.first.map(DeliveryResult.ended) ?? .open
    }

    /// The outcome of the sample with `answer`. Skips if it does not end, which another check reports.
    func kind(answered answer: Answer) throws(CheckStop) -> (kind: carillon_outcome_kind, retryAfter: UInt32)? {
        switch fate(of: try knownSample(), on: try regular(), answered: answer) {
        case .refused(let status):
            throw .failed("deliver returned \(status.rawValue) for what it accepted before")
        case .open: throw .unended
        case .ended(let ending): return ending.kind.map { ($0, ending.retryAfter) }
        }
    }

    func wait(for instance: CheckedTransport, until condition: (CheckLog) -> Bool) -> Bool {
        if instance.host.wait(timeout, until: condition) { return true }
        // A plugin that does not complete one delivery in time probably does not complete others.
        timeout = min(timeout, shortestTimeout)
        return false
    }

    /// Runs `body` on a new instance, waits for all work, checks the rules and destroys it.
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

    /// Destroys `instance` when its work is done, and checks its whole log against the rules.
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
            throw .failed("it called the host after destroy: end all work before destroy returns")
        }
    }
}

/// One filter under check, and the findings about it.
final class FilterBench: Bench<FilterFunctions> {
    /// Its decisions about regular events.
    var decisions: [(what: String, decision: FilterDecision)] = []
    /// Whether a verdict broke the rules: that is reported once.
    var isFlawed = false

    /// Runs `body` on a new instance, and destroys it.
    func onNewInstance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        _ body: (CheckedFilter) throws(CheckStop) -> Void
    ) throws(CheckStop) {
        let filter = try instance(placement, shape)
        try body(filter)
        filter.destroy()
        let log = filter.host.log
        if log.callsAfterDestroy > 0 {
            throw .failed("it called the host after destroy: end all work before destroy returns")
        }
        if log.lateSets > 0 { throw .failed("it called set after decide returned: call it only inside decide") }
    }
}
