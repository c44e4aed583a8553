import CarillonABI
import Dispatch
import PluginProtocol
import Push

/// Builds a catalog, one file after the other.
struct PluginAssembly: Sendable {
    /// The file that was loaded for a name.
    private struct Loaded: Sendable {
        let identity: FileIdentity
        let sha256: String
    }

    private(set) var catalog = PluginCatalog()
    /// By platform.
    private(set) var blueprints: [String: TransportBlueprint] = [:]
    /// By name.
    private(set) var filters: [String: FilterBlueprint] = [:]
    /// The path of the plugin that uses an id.
    private var ids: [String: String] = [:]
    /// By the path in the plugin folder.
    private var loaded: [String: Loaded] = [:]

    /// Loads the plugins that `search` finds into `processes`. Plugins loaded before stay loaded. The refusals are
    /// those of this search only.
    mutating func load(_ search: PluginSearch, in processes: PluginProcesses) {
        let (found, refusals) = PluginFolder.candidates(in: search.folders)
        catalog.refusals = refusals
        let looked = found.map { look(at: $0, pin: search.pins[$0.name]) }
        let together = Self.loadTogether(looked.compactMap { try? $0.get() }, in: processes)
        for result in looked {
            do throws(PluginLoadError) {
                guard let trusted = try result.get() else { continue }
                try add(trusted, together[trusted.candidate.path] ?? processes.load(trusted))
                let file = trusted.file
                loaded[trusted.candidate.path] = Loaded(identity: file.identity, sha256: file.sha256)
            } catch {
                catalog.refusals.append(error)
            }
        }
    }

    /// Reads a candidate's file; nil: it is already loaded.
    private func look(at candidate: PluginCandidate, pin: String?) -> Result<TrustedFile?, PluginLoadError> {
        Result { () throws(PluginLoadError) in
            if let known = loaded[candidate.path] {
                guard let reason = Self.change(of: candidate, since: known, pin: pin) else { return nil }
                throw PluginLoadError(path: candidate.path, reason: reason)
            }
            return TrustedFile(candidate: candidate, pin: pin, file: try PluginFile(candidate, pin: pin))
        }
    }

    /// Loads those of `files` that come with Carillon into one new process. All load in one call, because the process
    /// cannot load more after its last library. By path.
    private static func loadTogether(
        _ files: [TrustedFile?],
        in processes: PluginProcesses
    ) -> [String: Result<IsolatedPlugin, PluginLoadError.Reason>] {
        let shared = files.compactMap(\.self).filter { PluginProcesses.isShared($0.candidate.name) }
        let results = zip(shared, processes.load(shared)).map { ($0.candidate.path, $1) }
        return Dictionary(results) { first, _ in first }
    }

    /// Why a file differs from the one loaded under its name, or nil.
    private static func change(
        of candidate: PluginCandidate,
        since known: Loaded,
        pin: String?
    ) -> PluginLoadError.Reason? {
        guard FileIdentity(ofFileAt: candidate.path) == known.identity else { return .replacedWhileLoaded }
        return pin.map { $0.lowercased() == known.sha256 } ?? true ? nil : .wrongPin
    }

    private mutating func add(
        _ trusted: TrustedFile,
        _ loaded: Result<IsolatedPlugin, PluginLoadError.Reason>
    ) throws(PluginLoadError) {
        let file = trusted.file
        do throws(PluginLoadError.Reason) {
            let plugin = try loaded.get()
            let descriptor = try PluginDescriptor(plugin.descriptor)
            try claimNames(of: descriptor, for: file.path)
            let setup = DispatchQueue(label: "carillon.plugin.setup")
            for (index, entry) in descriptor.transports.enumerated() {
                blueprints[entry.platform] = TransportBlueprint(
                    pluginID: descriptor.id,
                    path: file.path,
                    setup: setup,
                    plugin: plugin,
                    index: index,
                    entry: entry
                )
            }
            for (index, entry) in descriptor.filters.enumerated() {
                filters[entry.name] = FilterBlueprint(
                    pluginID: descriptor.id,
                    path: file.path,
                    setup: setup,
                    plugin: plugin,
                    index: index,
                    entry: entry
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
            throw PluginLoadError(path: file.path, reason: error)
        }
    }

    /// Claims all of the plugin's names, or none if one is taken.
    private mutating func claimNames(of descriptor: PluginDescriptor, for path: String) throws(PluginLoadError.Reason) {
        if let owner = ids[descriptor.id] { throw .idTaken(descriptor.id, by: owner) }
        var platforms: Set<String> = []
        for entry in descriptor.transports {
            let platform = entry.platform
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

/// The library, function table and queue from which instances of a transport or a filter are created.
struct Blueprint<Entry: Sendable>: Sendable {
    let pluginID: String
    /// The library's path.
    let path: String
    /// Runs the functions that the header marks `[setup]`.
    let setup: DispatchQueue
    let plugin: IsolatedPlugin
    /// The index among the plugin's transports or filters.
    let index: Int
    let entry: Entry
}

typealias TransportBlueprint = Blueprint<TransportEntry>
typealias FilterBlueprint = Blueprint<FilterEntry>

extension Blueprint<TransportEntry> {
    /// Returns the plugin's error for a rule's block, as JSON with literals only; nil: no errors. The error may start
    /// with a JSON pointer and `: `. Any thread.
    func mistake(in block: String) -> String? {
        let reply = plugin.check(transport: index, block)
        return reply.status == .CARILLON_OK ? nil : PluginText.words(reply)
    }
}
