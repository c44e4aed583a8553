import Platforms

/// Builds a catalog, one file after the other.
struct PluginAssembly: Sendable {
    /// What was found under a name and loaded.
    private struct Loaded: Sendable {
        let identity: FileIdentity
        let sha256: String
    }

    private(set) var catalog = PluginCatalog()
    /// By platform.
    private(set) var blueprints: [String: TransportBlueprint] = [:]
    /// By name.
    private(set) var filters: [String: FilterBlueprint] = [:]
    /// Who took an id, by path.
    private var ids: [String: String] = [:]
    /// By the path that a folder has it under.
    private var loaded: [String: Loaded] = [:]

    /// Adds what `search` finds. What was loaded before stays, and so does what it serves; refusals are those of this
    /// search.
    mutating func load(_ search: PluginSearch) {
        let (found, refusals) = PluginFolder.candidates(in: search.folders)
        catalog.refusals = refusals
        for candidate in found {
            do throws(PluginRefusal) {
                let pin = search.pins[candidate.name]
                if let known = loaded[candidate.path] {
                    if let reason = Self.change(of: candidate, since: known, pin: pin) {
                        throw PluginRefusal(path: candidate.path, reason: reason)
                    }
                    continue
                }
                let file = try PluginFile(candidate, pin: pin)
                try add(file)
                loaded[candidate.path] = Loaded(identity: file.identity, sha256: file.sha256)
            } catch {
                catalog.refusals.append(error)
            }
        }
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

    private mutating func add(_ file: PluginFile) throws(PluginRefusal) {
        do throws(PluginRefusal.Reason) {
            let library = try PluginLibrary.open(file)
            let descriptor = try library.descriptor()
            try claimNames(of: descriptor, for: file.path)
            for functions in descriptor.transports {
                blueprints[functions.platform] = TransportBlueprint(
                    pluginID: descriptor.id,
                    library: library,
                    functions: functions
                )
            }
            for functions in descriptor.filters {
                filters[functions.name] = FilterBlueprint(
                    pluginID: descriptor.id,
                    library: library,
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

    /// Takes the plugin's names, all or none of them.
    private mutating func claimNames(of descriptor: PluginDescriptor, for path: String) throws(PluginRefusal.Reason) {
        if let owner = ids[descriptor.id] { throw .idTaken(descriptor.id, by: owner) }
        var platforms: Set<String> = []
        for functions in descriptor.transports {
            let platform = functions.platform
            if let taken = blueprints[platform] { throw .nameTaken("platform \(platform)", by: taken.library.path) }
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
            if let taken = filters[filter.name] { throw .nameTaken("filter \(filter.name)", by: taken.library.path) }
            guard names.insert(filter.name).inserted else { throw .nameTaken("filter \(filter.name)", by: path) }
        }
        ids[descriptor.id] = path
    }
}

/// What instances of a transport or a filter are made from.
struct Blueprint<Functions: Sendable>: Sendable {
    let pluginID: String
    let library: PluginLibrary
    let functions: Functions
}

typealias TransportBlueprint = Blueprint<TransportFunctions>
typealias FilterBlueprint = Blueprint<FilterFunctions>
