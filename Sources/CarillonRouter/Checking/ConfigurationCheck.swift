import Foundation
import HTTPLanes
import Logging
import PluginHost
import Registry
import YAMLReading

/// Everything wrong with a configuration and what it names, found without sending or changing anything.
package struct ConfigurationCheck {
    private let path: String

    /// `path` is the configuration file.
    package init(path: String) {
        self.path = path
    }

    /// All mistakes, none when all is well.
    package func mistakes() async -> [Mistake] {
        let configuration: Configuration
        do {
            configuration = try Configuration(file: path)
        } catch {
            return error.all
        }
        return rules(configuration) + identity(configuration) + store(configuration) + plugins(configuration)
    }

    private func rules(_ configuration: Configuration) -> [Mistake] {
        do {
            _ = try configuration.loadRules()
            return []
        } catch {
            return error.all
        }
    }

    /// A missing key is no mistake: the first run makes it.
    private func identity(_ configuration: Configuration) -> [Mistake] {
        let file = IdentityFile(path: configuration.keyFile)
        guard file.exists else { return [] }
        do {
            _ = try file.read()
            return []
        } catch {
            return error.all
        }
    }

    private func store(_ configuration: Configuration) -> [Mistake] {
        let folder = URL(fileURLWithPath: configuration.storePath).deletingLastPathComponent().path
        guard FileManager.default.isWritableFile(atPath: folder) else {
            return [Mistake(file: path, message: "store.path: cannot write to \(folder)")]
        }
        return []
    }

    /// Loads the plugins and lets each read its block.
    private func plugins(_ configuration: Configuration) -> [Mistake] {
        let quiet = Logger(label: "carillon.check") { _ in SwiftLogNoOpLogHandler() }
        let host = PluginHost(
            loading: PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins),
            log: quiet
        )
        let refusals = host.catalog.refusals.map { Mistake(file: $0.path, message: "\($0.reason)") }
        let transports = Transports(
            configuration: configuration,
            plugins: host,
            settings: InstanceSettings(sender: RecordingHTTP(), log: quiet)
        )
        return refusals
            + transports.failures.map {
                Mistake(file: path, line: $0.line, column: 1, message: "apps.\($0.app).\($0.platform): \($0.reason)")
            }
    }
}
