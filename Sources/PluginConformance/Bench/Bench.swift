import CarillonABI
import Dispatch
import PluginHost
import PluginServices

/// The functions that transports and filters have in common: they make and end an instance.
protocol EntryFunctions: Sendable {
    /// The platform, or the filter's name.
    var name: String { get }
    var create: TransportFunctions.Create { get }
    var destroy: TransportFunctions.Destroy { get }
}

extension TransportFunctions: EntryFunctions {
    var name: String { platform }
}

extension FilterFunctions: EntryFunctions {}

/// One transport or filter under check, and what is known about it so far.
class Bench<Functions: EntryFunctions> {
    typealias Instance = CheckedInstance<Functions>

    let functions: Functions
    /// What it can be created with, once that is known.
    var configuration: String?
    /// Everything it refused in words.
    private(set) var refusals: [(what: String, refusal: Refusal)] = []
    /// The plan's configuration for it; where there is none, its own sample.
    var given: String?
    private let library: CheckedLibrary
    private let progress: ConformanceProgress

    init(
        _ functions: Functions,
        of library: CheckedLibrary,
        _ plan: ConformancePlan,
        _ progress: ConformanceProgress
    ) {
        self.functions = functions
        self.library = library
        self.progress = progress
        given = plan.configurations[functions.name]
    }

    /// Skips where the plugin is given no structs, but frames, which the router makes of its own.
    func requireStructs() throws(CheckStop) {
        if case .python = library { throw .skipped("in Python it is given no structs") }
    }

    /// Reports what happens now, in case it is the last thing that happens.
    func at(_ what: String) { progress.report(.at(what: what)) }

    func note(_ refusal: Refusal, of what: String) { refusals.append((what, refusal)) }

    /// `configuration` as the router hands it over: with the files that it names, which filters cannot.
    func withFiles(_ configuration: String) throws(CheckStop) -> String { configuration }

    /// Asks for an instance with any configuration, and destroys it.
    func tryToCreate(_ configuration: [UInt8], capacity: Int = 512) -> Refusal {
        let (refusal, instance) = create(configuration, capacity: capacity)
        instance?.destroy()
        return refusal
    }

    /// Asks `create` as the router does, with a host of its own that has `kept`, and room for `capacity` bytes of an
    /// error.
    func create(
        _ configuration: [UInt8],
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        capacity: Int = 512,
        keeping kept: [StateEntry] = []
    ) -> (refusal: Refusal, instance: Instance?) {
        let host = CheckHost(placement, shape, keeping: kept)
        let arena = Arena(placement)
        var pointer: UnsafeMutableRawPointer?
        let refusal = library.setup.sync {
            withExtendedLifetime(arena) {
                Refusal(capacity: capacity) {
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

    /// Skips a check of the oldest host when the plugin refuses to run there because it needs a service, and says
    /// which.
    func skipWithoutServices() throws(CheckStop) {
        guard let configuration else { throw .skipped("no configuration is known that it takes") }
        let (refusal, instance) = create(Array(configuration.utf8), .plain, .first)
        instance?.destroy()
        guard refusal.isRefused, refusal.said.contains("carillon.") else { return }
        throw .skipped("it needs a service that the oldest host does not have, and says so: \(refusal.said)")
    }

    /// An instance with the configuration that works.
    func instance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current
    ) throws(CheckStop) -> Instance {
        guard let configuration else { throw .skipped("no configuration is known that it takes") }
        let (refusal, instance) = create(Array(configuration.utf8), placement, shape)
        guard let instance else {
            throw .failed("it refuses the configuration that it took before, saying: \(refusal.said)")
        }
        return instance
    }
}
