import Foundation
import HTTPClient
import Push
import Storage
import WebIngress

/// The sealed ingress alone, from the variables that metatext-apns takes (contrib/docs/web-push-ingress.md).
extension Configuration {
    /// Where applications behind a web server of Ruby's listen when nobody says where.
    private static let rackPort = 9292
    /// Whom Rack believes about who a client is: proxies of the platform that runs us.
    private static let rackProxies = [
        "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
    ]

    /// A configuration from these variables; nil where none of them names a platform.
    ///
    /// `platforms` are those of the plugins in ``pluginFolders(_:)``. `executableFolder` is where plugins are looked
    /// for, `folder` where the state goes unless `STATE_DIRECTORY` says. Throws a mistake for each variable that is
    /// missing or wrong, and quotes none that may be secret.
    package static func sealedIngressAlone(
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
        // systemd names all of a service's folders here; ours is the first.
        let state =
            reader["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init) ?? folder + "/carillon-state"

        var ingress = SealedIngress()
        ingress.platform = platform
        ingress.web.host = "0.0.0.0"
        ingress.web.port = reader.integer("PORT", in: 0...65_535) ?? rackPort
        ingress.trustedProxies = TrustedProxies(rackProxies.compactMap(AddressBlock.init))

        var configuration = Configuration(
            keyFile: state + "/carillon.key",
            storePath: state + "/carillon.sqlite"
        )
        configuration.isOfEnvironment = true
        for variable in platforms.variables(of: platform) {
            configuration.environmentNames[variable.key] = variable.name
        }
        configuration.sealedIngress = ingress
        // Nobody registers: the relay socket is for this machine alone, at a port that is not published.
        configuration.relay.port = 0
        configuration.http.caFile = reader["CARILLON_CA_FILE"]
        configuration.http.connectionsPerOrigin = reader.integer("CONNECTION_POOL_SIZE", in: 1...1_000)
        configuration.plugins.folders = pluginFolders(executableFolder)
        let json = try? JSONEncoder().encode(block)
        configuration.apps["default"] = App(
            platforms: [
                platform: PlatformBlock(json: json.map { String(decoding: $0, as: UTF8.self) } ?? "{}", line: 0)
            ]
        )
        guard reader.mistakes.isEmpty else { throw Diagnostics(reader.mistakes) }
        return configuration
    }

    /// Makes the folder of key and store, for this user alone, unless it is there.
    package func makeStateFolder() throws(Diagnostics) {
        let folder = URL(fileURLWithPath: storePath).deletingLastPathComponent().path
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
                        "cannot make the folder \(folder), which is to hold key and databases; name one that can be made"
                )
            ])
        }
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw Diagnostics([
                Diagnostic(
                    file: "STATE_DIRECTORY",
                    message:
                        "cannot write to the folder \(folder), which is to hold key and databases; name one of this user's"
                )
            ])
        }
    }

    /// Runs `body`; where this configuration is the environment's, what it throws is reported under the variable that
    /// caused it.
    package func inItsWords<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error where isOfEnvironment && !(error is Diagnostics) {
            throw Diagnostics([environmentMistake("\(error)")])
        }
    }

    /// The mistake behind something that cannot start, in the words of the environment.
    package func environmentMistake(_ reason: String) -> Diagnostic {
        let names = environmentNames.merging([
            "http.ca_file": "CARILLON_CA_FILE", "store.path": "STATE_DIRECTORY",
        ]) { $1 }
        // A plugin's words stand behind the host's: "the ios transport refuses its configuration: key: expected …".
        let parts = reason.split(separator: ": ", maxSplits: 2).map(String.init)
        guard let place = parts.dropLast().firstIndex(where: { names[$0] != nil }), let name = names[parts[place]]
        else {
            return Diagnostic(file: "environment", message: reason)
        }
        return Diagnostic(file: name, message: parts[(place + 1)...].joined(separator: ": "))
    }

    /// The folders with the plugins that were built or installed together with this program. Default of
    /// `plugins.folders`.
    package static var pluginFoldersOfProgram: [String] {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return []
        }
        return pluginFolders(URL(filePath: program).deletingLastPathComponent().path)
    }

    /// Beside the executable as it was built, or where it was installed.
    package static func pluginFolders(_ folder: String) -> [String] {
        let prefix = URL(fileURLWithPath: folder).deletingLastPathComponent().path
        let files = FileManager.default
        // A folder of programs may hold libraries that are none of ours, as /usr/bin does.
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

/// Reads environment variables; notes every mistake under the variable's name. One that is empty counts as missing.
struct EnvironmentReader {
    private let environment: [String: String]
    private(set) var mistakes: [Diagnostic] = []

    init(_ environment: [String: String]) {
        self.environment = environment
    }

    subscript(name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The variable's text; notes what it is for when it is missing.
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
