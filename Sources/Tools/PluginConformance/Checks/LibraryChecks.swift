import CarillonABI
import Dispatch
import PluginHost
import PluginProtocol

/// Checks of a library, before those of its transports.
enum LibraryChecks {
    /// Loads the file as the router does, whatever other files the directory has.
    static func load(
        _ plan: ConformancePlan
    ) throws(CheckStop) -> (library: CheckedLibrary, descriptor: PluginDescriptor) {
        let path = plan.path
        let candidate = PluginCandidate(name: path.split(separator: "/").last.map(String.init) ?? path, path: path)
        do throws(PluginLoadError) {
            guard !candidate.isPython else {
                let plugin = try PythonPlugin(candidate, in: plan.python)
                return (.python(plugin), plugin.descriptor)
            }
            let file = try PluginFile(candidate, pin: nil)
            do throws(PluginLoadError.Reason) {
                let library = try PluginLibrary(file)
                return (.library(library), try PluginDescriptor(library.tables.descriptor))
            } catch {
                throw PluginLoadError(path: path, reason: error)
            }
        } catch {
            throw .failed("\(error.reason)")
        }
    }

    static func descriptor(of library: CheckedLibrary, _ first: PluginDescriptor) throws(CheckStop) -> String {
        // In Python the router itself builds the tables.
        guard case .library(let library) = library else { return "\(first.id) \(first.version), in Python" }
        let pointers = (0..<2).map { _ in library.setup.sync { library.entry() } }
        guard case let (pointer?, again?) = (pointers[0], pointers[1]) else {
            throw .failed("carillon_plugin_entry_v1 returned NULL when it was called again: it must be repeatable")
        }
        let second: PluginDescriptor
        do throws(PluginLoadError.Reason) {
            second = try PluginDescriptor(PluginLibrary.tables(again).descriptor)
        } catch {
            throw .failed("called again, \(error)")
        }
        guard isSame(first, second) else {
            throw .failed(
                "carillon_plugin_entry_v1 describes another plugin when it is called again: return static tables"
            )
        }
        if let flaw = sizeFlaw(of: pointer) { throw .failed(flaw) }
        return "\(first.id) \(first.version), built with ABI 1.\(first.abiMinor)"
    }

    private static func isSame(_ one: PluginDescriptor, _ other: PluginDescriptor) -> Bool {
        one.id == other.id && one.version == other.version && one.abiMinor == other.abiMinor
            && one.transports.map(\.platform) == other.transports.map(\.platform)
            && one.transports.map(\.document) == other.transports.map(\.document)
            && one.filters.map(\.name) == other.filters.map(\.name)
    }

    /// A plugin that sets `struct_size` to `sizeof` has at least the fields of the first release.
    private static func sizeFlaw(of pointer: UnsafePointer<carillon_plugin>) -> String? {
        let plugin = pointer.pointee
        if plugin.struct_size < MemoryLayout<carillon_plugin>.size { return small("carillon_plugin") }
        for index in 0..<plugin.transport_count {
            guard let transport = plugin.transports?[index] else { continue }
            if transport.pointee.struct_size < MemoryLayout<carillon_transport>.size {
                return small("carillon_transport")
            }
            if transport.pointee.flags & ~transportFlags != 0 {
                return "a transport has flags that do not exist: expected CARILLON_TRANSPORT_ENCRYPTS, _SHOWS, "
                    + "_MANY_PER_TOKEN or none"
            }
        }
        for index in 0..<plugin.filter_count {
            guard let filter = plugin.filters?[index] else { continue }
            if filter.pointee.struct_size < MemoryLayout<carillon_filter>.size { return small("carillon_filter") }
            if filter.pointee.flags & ~FilterEntry.flags != 0 {
                return "a filter has flags that do not exist: expected CARILLON_FILTER_RENDERED or _ASKS_..., or none"
            }
        }
        return nil
    }

    private static let transportFlags = UInt32(
        CARILLON_TRANSPORT_ENCRYPTS | CARILLON_TRANSPORT_SHOWS | CARILLON_TRANSPORT_MANY_PER_TOKEN
    )

    private static func small(_ name: String) -> String {
        "struct_size of \(name) is less than in any release: set it to sizeof(\(name))"
    }
}

/// Checks how transports and filters are created.
enum CreationChecks {
    static func createEmpty(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        let refusal = bench.tryToCreate(Array("{}".utf8))
        bench.note(refusal, of: "an empty configuration")
        guard !refusal.isRefused else { return "it refuses, saying: \(refusal.said)" }
        bench.configuration = "{}"
        return ""
    }

    static func createConfigured(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        guard let given = bench.given else {
            throw .skipped(
                bench.configuration == nil
                    ? "it needs a configuration and none was given: without one, most checks cannot run"
                    : "none was given; {} works"
            )
        }
        let configuration = try bench.withFiles(given)
        let refusal = bench.tryToCreate(Array(configuration.utf8))
        bench.note(refusal, of: "the configuration given")
        guard !refusal.isRefused else {
            bench.configuration = nil
            throw .failed("it refuses the given configuration: \(refusal.said)")
        }
        bench.configuration = configuration
        return ""
    }

    static func createHostile(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        let given = Array((bench.configuration ?? "{}").utf8)
        let halved = ("the configuration, cut in the middle", Array(given[..<(given.count / 2)]))
        for (what, configuration) in HostileInput.configurations + [halved] {
            bench.at(what)
            bench.note(bench.tryToCreate(configuration), of: what)
        }
        for capacity in [0, 1, 7] {
            bench.at("an error buffer of \(capacity) bytes")
            let refusal = bench.tryToCreate(Array("[1".utf8), capacity: capacity)
            bench.note(refusal, of: "a configuration, with an error buffer of \(capacity) bytes")
        }
        return ""
    }

    static func errorText(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        for (what, refusal) in bench.refusals where !refusal.flaw.isEmpty {
            throw .failed("of \(what): \(refusal.flaw)")
        }
        guard bench.refusals.contains(where: \.refusal.isRefused) else { throw .skipped("it never refused") }
        return ""
    }
}
