import Foundation
import HTTPLanes
import WebIngress
import YAMLReading

/// The sealed ingress alone, from the variables that metatext-apns takes (seed 001, "Environment").
extension Configuration {
    /// Where applications behind a web server of Ruby's listen when nobody says where.
    private static let rackPort = 9292
    /// Whom Rack believes about who a client is: proxies of the platform that runs us.
    private static let rackProxies = [
        "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
    ]

    /// Whoever sets one of these means this; the others could be anybody's.
    private static let distinctiveNames = ["APNS_KEY_ID", "APNS_AUTH_KEY", "APPLE_TEAM_ID"]

    /// A configuration for that; nil where none of ``distinctiveNames`` is set.
    ///
    /// `executableFolder` is where plugins are looked for, `folder` where the state goes unless `STATE_DIRECTORY` says. Throws a
    /// mistake for each variable that is missing or wrong, and quotes none that may be secret.
    package static func sealedIngressAlone(
        environment: [String: String],
        executableFolder: String,
        folder: String
    ) throws(Diagnostics) -> Configuration? {
        guard distinctiveNames.contains(where: { environment[$0] != nil }) else { return nil }
        var reader = EnvironmentReader(environment)
        var block: [String: String] = [
            "key_id": reader.require("APNS_KEY_ID", "the id of Apple's key"),
            "key": reader.require("APNS_AUTH_KEY", "the text of Apple's .p8 file").replacing("\\n", with: "\n"),
            "team_id": reader.require("APPLE_TEAM_ID", "the id of the developer team"),
            "topic": reader.require("TOPIC", "the app's bundle id"),
        ]
        block["environment"] = reader["CARILLON_APNS_ORIGIN"]
        // systemd names all of a service's folders here; ours is the first.
        let state =
            reader["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init) ?? folder + "/carillon-state"

        var ingress = SealedIngress()
        ingress.web.host = "0.0.0.0"
        ingress.web.port = reader.integer("PORT", in: 0...65_535) ?? rackPort
        ingress.trustedProxies = TrustedProxies(rackProxies.compactMap(AddressBlock.init))

        var configuration = Configuration(
            keyFile: state + "/carillon.key",
            storePath: state + "/carillon.sqlite"
        )
        configuration.isOfEnvironment = true
        configuration.sealedIngress = ingress
        // Nobody registers: the relay socket is for this machine alone, at a port that nobody is told.
        configuration.relay.port = 0
        configuration.http.caFile = reader["CARILLON_CA_FILE"]
        configuration.http.connectionsPerOrigin = reader.integer("CONNECTION_POOL_SIZE", in: 1...1_000)
        configuration.plugins.folders = pluginFolders(executableFolder)
        let json = try? JSONEncoder().encode(block)
        configuration.apps["default"] = App(
            platforms: ["ios": PlatformBlock(json: json.map { String(decoding: $0, as: UTF8.self) } ?? "{}", line: 0)]
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

    /// Runs `body`; where this configuration is the environment's, what it throws is told under the variable that
    /// caused it.
    package func inItsWords<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error where isOfEnvironment && !(error is Diagnostics) {
            throw Diagnostics([Self.environmentMistake("\(error)")])
        }
    }

    /// The mistake behind something that cannot start, in the words of the environment.
    package static func environmentMistake(_ reason: String) -> Diagnostic {
        let names = [
            "key_id": "APNS_KEY_ID", "key": "APNS_AUTH_KEY", "team_id": "APPLE_TEAM_ID", "topic": "TOPIC",
            "environment": "CARILLON_APNS_ORIGIN", "http.ca_file": "CARILLON_CA_FILE", "store.path": "STATE_DIRECTORY",
        ]
        // A plugin's words stand behind the host's: "the ios transport refuses its configuration: key: expected …".
        let parts = reason.split(separator: ": ", maxSplits: 2).map(String.init)
        guard let place = parts.dropLast().firstIndex(where: { names[$0] != nil }), let name = names[parts[place]]
        else {
            return Diagnostic(file: "APNs", message: reason)
        }
        return Diagnostic(file: name, message: parts[(place + 1)...].joined(separator: ": "))
    }

    /// Beside the executable as it was built, or where it was installed.
    package static func pluginFolders(_ folder: String) -> [String] {
        let prefix = URL(fileURLWithPath: folder).deletingLastPathComponent().path
        return ["\(folder)/plugins", folder, "\(prefix)/lib/carillon/plugins"].filter {
            FileManager.default.fileExists(atPath: $0)
        }
    }
}
