import Foundation
import HTTPClient
import Push
import Storage
import WebIngress

/// The sealed ingress only, configured by the variables of metatext-apns (contrib/docs/web-push-ingress.md).
extension Configuration.SealedIngress {
    /// The default port of applications behind a Ruby web server.
    private static let rackPort = 9292
    /// The proxies that Rack trusts: those of the platform that runs us.
    private static let rackProxies = [
        "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
    ]

    /// Returns a configuration from these variables; nil if none of them names a platform.
    ///
    /// `platforms` are those of the plugins in ``Configuration/Plugins/folders(nextTo:)``. `executableFolder` is searched for plugins;
    /// `folder` is the state folder unless `STATE_DIRECTORY` is set. Throws an error for each missing or invalid
    /// variable, and never quotes one that may be secret.
    package static func alone(
        environment: [String: String],
        platforms: PlatformCatalog,
        executableFolder: String,
        folder: String
    ) throws(Diagnostics) -> Configuration? {
        let meant = platforms.platforms.first { platform in
            platforms[platform]?.ingress != nil
                && platforms.variables(of: platform).contains { $0.isDistinctive && environment[$0.name] != nil }
        }
        guard let platform = meant else { return nil }
        var reader = EnvironmentReader(environment)
        var block: [String: String] = [:]
        for variable in platforms.variables(of: platform) {
            let text = variable.isRequired ? reader.require(variable.name, variable.doc) : reader[variable.name]
            block[variable.key] = variable.hasEscapedNewlines ? text?.replacing("\\n", with: "\n") : text
        }
        // systemd lists all of a service's folders here; ours is the first.
        let state =
            reader["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init) ?? folder + "/carillon-state"

        var ingress = Self()
        ingress.platform = platform
        ingress.web.host = "0.0.0.0"
        ingress.web.port = reader.integer("PORT", in: 0...65_535) ?? rackPort
        ingress.trustedProxies = TrustedProxies(rackProxies.compactMap(AddressBlock.init))

        var configuration = Configuration(
            keyFile: state + "/carillon.key",
            storePath: state + "/carillon.sqlite"
        )
        var names = Configuration.Environment()
        for variable in platforms.variables(of: platform) { names.names[variable.key] = variable.name }
        configuration.environment = names
        configuration.sealedIngress = ingress
        // There are no registrations: the relay socket only listens on this machine, at an unpublished port.
        configuration.relay.port = 0
        configuration.http.caFile = reader["CARILLON_CA_FILE"]
        configuration.http.connectionsPerOrigin = reader.integer("CONNECTION_POOL_SIZE", in: 1...1_000)
        configuration.plugins.folders = Configuration.Plugins.folders(nextTo: executableFolder)
        let json = try? JSONEncoder().encode(block)
        configuration.apps["default"] = Configuration.App(
            platforms: [
                platform: Configuration.PlatformBlock(
                    json: json.map { String(decoding: $0, as: UTF8.self) } ?? "{}",
                    line: 0
                )
            ]
        )
        guard reader.mistakes.isEmpty else { throw Diagnostics(reader.mistakes) }
        return configuration
    }
}

extension Configuration.Store {
    /// Creates the folder of key and store for this user only, unless it exists.
    package func makeFolder() throws(Diagnostics) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw Diagnostics([
                Diagnostic(
                    file: "STATE_DIRECTORY",
                    message:
                        "cannot create the folder \(folder) for key and databases; choose another one"
                )
            ])
        }
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw Diagnostics([
                Diagnostic(
                    file: "STATE_DIRECTORY",
                    message:
                        "cannot write to the folder \(folder) for key and databases; choose one that this user owns"
                )
            ])
        }
    }
}

extension Configuration {
    /// The environment variables that a configuration comes from.
    package struct Environment: Sendable {
        /// The variables of the platform's block, by key.
        var names: [String: String] = [:]

        package init() {}

        /// Converts a startup error into one about an environment variable.
        package func mistake(_ reason: String) -> Diagnostic {
            let names = names.merging([
                "http.ca_file": "CARILLON_CA_FILE", "store.path": "STATE_DIRECTORY",
            ]) { $1 }
            // A plugin's message follows the host's: "the ios transport refuses its configuration: key: expected …".
            let parts = reason.split(separator: ": ", maxSplits: 2).map(String.init)
            guard let place = parts.dropLast().firstIndex(where: { names[$0] != nil }), let name = names[parts[place]]
            else {
                return Diagnostic(file: "environment", message: reason)
            }
            return Diagnostic(file: name, message: parts[(place + 1)...].joined(separator: ": "))
        }
    }
}

extension Configuration.Environment? {
    /// Runs `body`. If the configuration comes from the environment, its errors are reported for the variable that
    /// caused them.
    package func inItsWords<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error {
            guard let environment = self, !(error is Diagnostics) else { throw error }
            throw Diagnostics([environment.mistake("\(error)")])
        }
    }
}

extension Configuration.Plugins {
    /// The folders with the plugins that were built or installed together with this program. Default of
    /// `plugins.folders`.
    package static var installedFolders: [String] {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return []
        }
        return folders(nextTo: URL(filePath: program).deletingLastPathComponent().path)
    }

    /// Returns the folder next to the executable in a build, or that of the installation.
    static func folders(nextTo folder: String) -> [String] {
        let prefix = URL(fileURLWithPath: folder).deletingLastPathComponent().path
        let files = FileManager.default
        // A folder of programs may contain other libraries, as /usr/bin does.
        let beside = (try? files.contentsOfDirectory(atPath: folder)) ?? []
        let own = beside.contains { $0.hasPrefix("libCarillon") && $0.hasSuffix(".so") } ? [folder] : []
        return (["\(folder)/plugins"] + own + ["\(prefix)/lib/carillon/plugins"]).filter {
            files.fileExists(atPath: $0)
        }
    }
}

extension PlatformCatalog {
    fileprivate func variables(of platform: String) -> [PlatformConfiguration.Variable] {
        self[platform]?.configuration.environment ?? []
    }
}

/// Reads environment variables; collects each error with the variable's name. An empty variable counts as missing.
struct EnvironmentReader {
    private let environment: [String: String]
    private(set) var mistakes: [Diagnostic] = []

    init(_ environment: [String: String]) {
        self.environment = environment
    }

    subscript(name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the variable's text; if it is missing, reports its purpose.
    mutating func require(_ name: String, _ purpose: String) -> String {
        if let text = self[name] { return text }
        mistakes.append(Diagnostic(file: name, message: "this environment variable is missing: \(purpose)"))
        return ""
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let text = self[name] else { return nil }
        if let number = Int(text), range.contains(number) { return number }
        mistakes.append(
            Diagnostic(file: name, message: "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
        )
        return nil
    }
}
