import Cipher
import Console
import Delivery
import Foundation
import Glibc
import HTTPClient
import Logging
import Nostr
import Pipeline
import PluginHost
import Push
import Registry
import RouterConfiguration
import Rules
import Storage

/// Checks a configuration and the files that it names, without any change or request.
package struct ConfigurationCheck {
    private let path: String

    /// `path` is the configuration file.
    package init(path: String) {
        self.path = path
    }

    /// Returns all errors; empty if the configuration is valid.
    package func mistakes() async -> [Diagnostic] {
        let configuration: Configuration
        do {
            configuration = try Configuration(file: path)
        } catch {
            return error.all
        }
        let plugins: PluginHost
        do {
            plugins = try configuration.plugins.load(log: Self.quiet)
        } catch {
            return error.all
        }
        let platforms = KnownPlatforms(plugins)
        // A missing plugin comes before the errors that follow from it.
        return blocks(configuration, plugins, platforms) + rules(configuration, platforms)
            + ingress(configuration, platforms) + identity(configuration)
            + store(configuration) + secrets(configuration)
            + context(configuration) + api(configuration) + stranded(configuration)
            + pacing(configuration, plugins)
    }

    /// Returns problems that are not errors: secrets that other users can access, a missing outbox, and suspicious
    /// settings of rules and filter plugins. Empty if there are none.
    package func warnings() -> [Diagnostic] {
        guard let configuration = try? Configuration(file: path) else { return [] }
        let plugins = try? configuration.plugins.load(log: Self.quiet)
        let exposed = ExposedFiles(configuration, plugins?.platformCatalog ?? PlatformCatalog([:])).found.map {
            Diagnostic(
                file: path,
                line: $0.line,
                column: 1,
                message: "\($0.key): \($0.path) \($0.exposure); run: \($0.remedy)"
            )
        }
        let lost = configuration.lostOutboxWarning.map { [mistake("store.path", configuration.store.place, $0)] } ?? []
        let found = exposed + lost
        guard let plugins else { return found }
        guard let rules = try? RulesFiles(configuration, KnownPlatforms(plugins)).read() else { return found }
        guard !configuration.filters.isEmpty else { return found + rules.warnings }
        let filters = Filters(configuration: configuration, plugins: plugins, settings: silent)
        return found + rules.warnings + FilterWarnings(configuration, rules, filters.all).found
    }

    private func ingress(_ configuration: Configuration, _ platforms: KnownPlatforms) -> [Diagnostic] {
        do {
            _ = try configuration.sealedIngress?.platform(in: configuration, platforms.catalog)
            return []
        } catch {
            return error.all
        }
    }

    /// Finds unknown platforms under `defaults`, which are probably misspelled keys.
    private func pacing(_ configuration: Configuration, _ plugins: PluginHost) -> [Diagnostic] {
        let known = Set(plugins.platforms).union(configuration.apps.values.flatMap(\.platforms.keys))
        return configuration.defaults.places.sorted { $0.key < $1.key }.filter { !known.contains($0.key) }.map {
            let hint = NearestName.hint($0.key, among: known.sorted())
            return mistake("defaults.\($0.key)", $0.value, "no loaded plugin serves this platform\(hint)")
        }
    }

    private func rules(_ configuration: Configuration, _ platforms: KnownPlatforms) -> [Diagnostic] {
        do {
            _ = try RulesFiles(configuration, platforms).read()
            return []
        } catch {
            return error.all.filter { !platforms.refusals.contains($0) }
        }
    }

    /// A missing key is an error only if there is a store, because the first run makes the key.
    private func identity(_ configuration: Configuration) -> [Diagnostic] {
        let file = IdentityFile(path: configuration.identity.keyFile)
        guard file.exists else {
            if FileManager.default.fileExists(atPath: configuration.store.path) {
                let message =
                    "the key is missing, but \(configuration.store.path) was made with one: restore the key file"
                return [mistake("identity.key_file", configuration.identity.place, message)]
            }
            return folder(of: configuration.identity.keyFile, "identity.key_file", configuration.identity.place)
        }
        do {
            let key = try file.read().publicKey
            // Problems of the registry itself are reported below.
            guard let registry = try? RegistrySummary(path: configuration.store.path), !registry.isOpened(by: key)
            else {
                return []
            }
            let message =
                "the key is not the one that \(configuration.store.path) was made with: restore that key file, or move the store "
                + "away, which \(RegistryStore.kind.costOfLoss)"
            return [mistake("identity.key_file", configuration.identity.place, message)]
        } catch {
            return error.all
        }
    }

    private func store(_ configuration: Configuration) -> [Diagnostic] {
        let place = configuration.store.place
        if let unusable = UnusableStore(configuration) {
            let message = unusable.description.replacing("store.path: ", with: "", maxReplacements: 1)
            return [mistake("store.path", place, message)]
        }
        // Problems of the outbox itself are reported below.
        let lost = (try? configuration.lostRegistry()).map { [mistake("store.path", place, "\($0)")] } ?? []
        let files = [(configuration.store.path, RegistryStore.kind), (configuration.store.outboxPath, Outbox.kind)]
        return folder(of: configuration.store.path, "store.path", place) + lost
            + files.compactMap { file, kind in
                if let fault = SQLiteFile.fault(of: file) { return mistake("store.path", place, "\(file) \(fault)") }
                do {
                    try StoreInspection(StoreFile(path: file, kind: kind)).refuseUnusable()
                    return nil
                } catch {
                    return mistake("store.path", place, "\(error)")
                }
            }
    }

    /// A missing file is not an error: `carillon keys bunker` creates it.
    private func secrets(_ configuration: Configuration) -> [Diagnostic] {
        guard let file = configuration.registration.secretFile else { return [] }
        let (name, place) = ("registration.secret_file", configuration.registration.secretFilePlace)
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file) else {
            return folder(of: file, name, place)
        }
        if attributes[.type] as? FileAttributeType != .typeRegular {
            return [mistake(name, place, "expected a file with secrets; \(file) is not a regular file")]
        }
        if !FileManager.default.isReadableFile(atPath: file) { return [mistake(name, place, "cannot read \(file)")] }
        guard let exposure = FileExposure(ofFile: file) else { return [] }
        let remedy = exposure.remedy(for: file)
        return [mistake(name, place, "the secrets are open to other users; run: \(remedy)")]
    }

    /// Runs only as root: for other users, the checks above report these files as unreadable.
    private func stranded(_ configuration: Configuration) -> [Diagnostic] {
        guard geteuid() == 0 else { return [] }
        return StrandedFiles(configuration).found.map { mistake($0.key, ($0.line, $0.column), $0.description) }
    }

    private func context(_ configuration: Configuration) -> [Diagnostic] {
        configuration.context.path.map { folder(of: $0, "context.path", configuration.context.place) } ?? []
    }

    /// A missing file is not an error: the first run creates it.
    private func api(_ configuration: Configuration) -> [Diagnostic] {
        guard let api = configuration.api else { return [] }
        let file = APITokenFile(path: api.tokenFile)
        guard file.exists else { return folder(of: api.tokenFile, "api.token_file", api.place) }
        do {
            _ = try file.read() as APIToken
            return []
        } catch {
            return error.all
        }
    }

    /// Returns the problems that prevent the creation of a file at `file`.
    private func folder(of file: String, _ name: String, _ place: (line: Int, column: Int)) -> [Diagnostic] {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        var isFolder = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            return [mistake(name, place, "the folder \(folder) does not exist")]
        }
        return FileManager.default.isWritableFile(atPath: folder)
            ? [] : [mistake(name, place, "cannot write to the folder \(folder)")]
    }

    private func mistake(_ name: String, _ place: (line: Int, column: Int), _ message: String) -> Diagnostic {
        Diagnostic(file: path, line: place.line, column: place.column, message: "\(name): \(message)")
    }

    private static let quiet = Logger(label: "carillon.check") { _ in SwiftLogNoOpLogHandler() }

    private var silent: InstanceSettings { InstanceSettings(sender: RecordingHTTP(), log: Self.quiet) }

    /// Validates each plugin's block and each filter plugin's settings.
    private func blocks(
        _ configuration: Configuration,
        _ host: PluginHost,
        _ platforms: KnownPlatforms
    ) -> [Diagnostic] {
        let transports = Transports(configuration: configuration, plugins: host, settings: silent)
        let filters = Filters(configuration: configuration, plugins: host, settings: silent)
        return platforms.refusals
            + filters.failures.map {
                Diagnostic(file: path, line: $0.line, column: 1, message: "filter_plugins.\($0.name): \($0.reason)")
            }
            + transports.failures.map {
                Diagnostic(file: path, line: $0.line, column: 1, message: "apps.\($0.app).\($0.platform): \($0.reason)")
            }
    }
}

extension Configuration {
    /// The error for a missing registry next to a filled outbox: an empty registry would silently discard the outbox.
    /// Nil if there is a registry, or no sign that there ever was one.
    ///
    /// Throws another `StoreError` if this cannot be determined.
    package func lostRegistry() throws -> StoreError? {
        let kind = RegistryStore.kind
        guard try !StoreFile(path: store.path, kind: kind).exists(), try Outbox.isFilled(at: store.outboxPath) else {
            return nil
        }
        return StoreError(.missingBeside(store.outboxPath), in: kind, at: store.path)
    }

    /// The warning about a missing outbox next to a registry with devices: the router continues with an empty outbox.
    /// Nil if no file is missing, or if this cannot be determined.
    package var lostOutboxWarning: String? {
        let kind = Outbox.kind
        guard (try? StoreFile(path: store.outboxPath, kind: kind).exists()) == false,
            let registry = try? RegistrySummary(path: store.path), registry.hasDevices
        else { return nil }
        return
            "\(kind.name) \(store.outboxPath) is missing next to a registry with devices: the router starts with an empty one, which "
            + "\(kind.costOfLoss). If it was moved, put it back before the start"
    }
}

/// Filter settings that are valid but probably unintended: unknown signals, and lookups that never get a response.
package struct FilterWarnings {
    package private(set) var found: [Diagnostic] = []

    /// `filters` are the configured filter plugins that started; the needs of the others are unknown.
    package init(_ configuration: Configuration, _ rules: RuleBook, _ filters: [EventFilter]) {
        let file = configuration.file ?? "filters"
        let known = Signal.wellKnown.map(\.rawValue) + rules.namedSignals.map(\.rawValue).sorted()
        let asking = Set(filters.filter { $0.need == .distance }.map(\.name))
        for filter in configuration.filters {
            if asking.contains(filter.name), let blocker = Self.blocker(to: configuration) {
                let message =
                    "filter_plugins.\(filter.name): it asks relays whether accounts that the recipient follows follow the author, "
                    + blocker
                found.append(Diagnostic(file: file, line: filter.line, column: 1, message: message))
            }
            for signal in filter.signals where !known.contains(signal.name) {
                let hint = NearestName.hint(signal.name, among: known)
                let message =
                    "\(signal.path): no signal is called '\(signal.name.prefix(64))'"
                    + (hint.isEmpty ? "; there are: \(known.joined(separator: ", "))" : hint)
                found.append(Diagnostic(file: file, line: signal.line, column: signal.column, message: message))
            }
        }
    }

    /// Returns why relays can never report the follows of the recipient's contacts; nil if they can.
    private static func blocker(to configuration: Configuration) -> String? {
        let relays = configuration.relays
        if relays.always.isEmpty, relays.nip46.isEmpty, relays.publish.isEmpty { return "but relays.always is empty" }
        if configuration.context.wait == .zero {
            return "but with context.wait_milliseconds at 0 it does not wait for their responses"
        }
        return nil
    }
}
