import Dispatch
import Platforms
import PluginIsolation

/// Builds a catalog, one file after the other.
struct PluginAssembly: Sendable {
    /// What was found under a name and loaded.
    private struct Loaded: Sendable {
        let identity: FileIdentity
        let sha256: String
    }

    private let breadcrumbs: Breadcrumbs?
    private(set) var catalog = PluginCatalog()
    /// By platform.
    private(set) var blueprints: [String: TransportBlueprint] = [:]
    /// By name.
    private(set) var filters: [String: FilterBlueprint] = [:]
    /// Who took an id, by path.
    private var ids: [String: String] = [:]
    /// By the path that a folder has it under.
    private var loaded: [String: Loaded] = [:]

    /// Plugins in this process leave notes in `breadcrumbs`.
    init(breadcrumbs: Breadcrumbs? = nil) { self.breadcrumbs = breadcrumbs }

    /// Adds what `search` finds, in processes of their own as `processes` says; nil: in this one. What was loaded
    /// before stays, and so does what it serves; refusals are those of this search.
    mutating func load(_ search: PluginSearch, in processes: PluginProcesses? = nil) {
        let (found, refusals) = PluginFolder.candidates(in: search.folders)
        catalog.refusals = refusals
        let looked = found.map { look(at: $0, pin: search.pins[$0.name]) }
        let together = processes.map { processes in
            Self.loadTogether(looked.compactMap { try? $0.get() }, in: processes)
        }
        for result in looked {
            do throws(PluginRefusal) {
                guard let trusted = try result.get() else { continue }
                try add(trusted, together: together ?? [:], in: processes)
                let file = trusted.file
                loaded[trusted.candidate.path] = Loaded(identity: file.identity, sha256: file.sha256)
            } catch {
                catalog.refusals.append(error)
            }
        }
    }

    /// Reads the file of a candidate; nil: it is loaded already.
    private func look(at candidate: PluginCandidate, pin: String?) -> Result<TrustedFile?, PluginRefusal> {
        Result { () throws(PluginRefusal) in
            if let known = loaded[candidate.path] {
                guard let reason = Self.change(of: candidate, since: known, pin: pin) else { return nil }
                throw PluginRefusal(path: candidate.path, reason: reason)
            }
            return TrustedFile(candidate: candidate, pin: pin, file: try PluginFile(candidate, pin: pin))
        }
    }

    /// Loads those of `files` that share a process into a new one, all at once: once it has loaded the last one, it can
    /// load no more. Those that are to run in this process are tried in another, as what crashes while it is loaded
    /// would take this one along: nil says that they can be loaded. By path.
    private static func loadTogether(
        _ files: [TrustedFile?],
        in processes: PluginProcesses
    ) -> [String: Result<IsolatedPlugin?, PluginRefusal.Reason>] {
        let files = files.compactMap(\.self).filter { !$0.candidate.isPython }
        let isolated = { (isolation: Isolation) in
            files.filter { processes.isolation(of: $0.candidate.name) == isolation }
        }
        let (shared, none) = (isolated(.shared), isolated(.none))
        var results: [String: Result<IsolatedPlugin?, PluginRefusal.Reason>] = [:]
        for (file, result) in zip(shared, processes.load(shared)) { results[file.candidate.path] = result.map { $0 } }
        for (file, result) in zip(none, processes.probe(none)) { results[file.candidate.path] = result.map { nil } }
        return results
    }

    /// Why a file is not what was loaded under its name, or nil.
    private static func change(
        of candidate: PluginCandidate,
        since known: Loaded,
        pin: String?
    ) -> PluginRefusal.Reason? {
        guard FileIdentity(ofFileAt: candidate.path) == known.identity else { return .replacedWhileLoaded }
        return pin.map { $0.lowercased() == known.sha256 } ?? true ? nil : .wrongPin
    }

    private mutating func add(
        _ trusted: TrustedFile,
        together: [String: Result<IsolatedPlugin?, PluginRefusal.Reason>],
        in processes: PluginProcesses?
    ) throws(PluginRefusal) {
        let file = trusted.file
        do throws(PluginRefusal.Reason) {
            let descriptor: PluginDescriptor
            let setup: DispatchQueue
            if let plugin = try Self.isolated(trusted, together: together, in: processes) {
                descriptor = try PluginDescriptor(plugin)
                setup = DispatchQueue(label: "carillon.plugin.setup")
            } else {
                let library = try PluginLibrary.open(file)
                descriptor = Self.noting(try library.descriptor(), of: trusted.candidate.name, in: breadcrumbs)
                setup = library.setup
            }
            try claimNames(of: descriptor, for: file.path)
            for functions in descriptor.transports {
                blueprints[functions.platform] = TransportBlueprint(
                    pluginID: descriptor.id,
                    path: file.path,
                    setup: setup,
                    functions: functions
                )
            }
            for functions in descriptor.filters {
                filters[functions.name] = FilterBlueprint(
                    pluginID: descriptor.id,
                    path: file.path,
                    setup: setup,
                    functions: functions
                )
            }
            catalog.plugins.append(
                LoadedPlugin(
                    id: descriptor.id,
                    version: descriptor.version,
                    abiMinor: descriptor.abiMinor,
                    sha256: file.sha256,
                    path: file.path,
                    platforms: descriptor.transports.map(\.platform),
                    descriptions: descriptor.descriptions,
                    filters: descriptor.filters.map { LoadedFilter($0) }
                )
            )
        } catch {
            throw PluginRefusal(path: file.path, reason: error)
        }
    }

    private static func noting(
        _ descriptor: PluginDescriptor,
        of plugin: String,
        in breadcrumbs: Breadcrumbs?
    ) -> PluginDescriptor {
        guard let breadcrumbs else { return descriptor }
        let name = StaticName(plugin)
        return PluginDescriptor(
            descriptor,
            transports: descriptor.transports.map { $0.noting(in: breadcrumbs, as: name) },
            filters: descriptor.filters.map { $0.noting(in: breadcrumbs, as: name) }
        )
    }

    /// The plugin of a file in a process of its own; nil: it is to run in this process, and can be loaded.
    private static func isolated(
        _ trusted: TrustedFile,
        together: [String: Result<IsolatedPlugin?, PluginRefusal.Reason>],
        in processes: PluginProcesses?
    ) throws(PluginRefusal.Reason) -> IsolatedPlugin? {
        let isPython = trusted.candidate.isPython
        guard let processes else {
            if isPython { throw .needsOwnProcess }
            return nil
        }
        if isPython, processes.isolation(of: trusted.candidate.name) != .process { throw .needsOwnProcess }
        if let result = together[trusted.candidate.path] { return try result.get() }
        return try processes.load([trusted]).first?.get()
    }

    /// Takes the plugin's names, all or none of them.
    private mutating func claimNames(of descriptor: PluginDescriptor, for path: String) throws(PluginRefusal.Reason) {
        if let owner = ids[descriptor.id] { throw .idTaken(descriptor.id, by: owner) }
        var platforms: Set<String> = []
        for functions in descriptor.transports {
            let platform = functions.platform
            if let taken = blueprints[platform] { throw .nameTaken("platform \(platform)", by: taken.path) }
            guard platforms.insert(platform).inserted else { throw .nameTaken("platform \(platform)", by: path) }
        }
        var blocks: Set<String> = []
        for block in descriptor.descriptions.values.compactMap(\.block) {
            let taken = catalog.plugins.first { $0.descriptions.values.contains { $0.block == block } }
            if let taken { throw .nameTaken("rule block \(block)", by: taken.path) }
            guard blocks.insert(block).inserted else { throw .nameTaken("rule block \(block)", by: path) }
        }
        var names: Set<String> = []
        for filter in descriptor.filters {
            if let taken = filters[filter.name] { throw .nameTaken("filter \(filter.name)", by: taken.path) }
            guard names.insert(filter.name).inserted else { throw .nameTaken("filter \(filter.name)", by: path) }
        }
        ids[descriptor.id] = path
    }
}

/// What instances of a transport or a filter are made from.
struct Blueprint<Functions: Sendable>: Sendable {
    let pluginID: String
    /// Of the library.
    let path: String
    /// Runs what the header marks `[setup]`.
    let setup: DispatchQueue
    let functions: Functions
}

typealias TransportBlueprint = Blueprint<TransportFunctions>
typealias FilterBlueprint = Blueprint<FilterFunctions>
