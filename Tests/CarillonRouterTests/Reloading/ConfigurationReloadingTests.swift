import Core
import Foundation
import Push
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct ConfigurationReloadingTests {
    private static let start = """
        identity: { key_file: carillon.key }
        store: { path: carillon.sqlite }
        relay: { listen: "127.0.0.1:0" }
        api: { token_file: api.token }
        apps: { default: { ntfy: {} } }

        """

    private static func read(_ text: String) throws -> Configuration {
        try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil }).read(text)
    }

    @Test(arguments: [
        ("rules: rules.yaml\n", [] as [String]),
        ("defaults: { mode: nudge }\n", []),
        ("shutdown_seconds: 30\n", []),
        ("relays: { always: [wss://relay.example.com] }\n", ["relays"]),
        ("hints: ignore\n", ["hints"]),
        ("registration: { require_session: true }\n", ["registration"]),
        ("dead_letters: { days: 0 }\n", ["dead_letters"]),
        ("context: { wait_milliseconds: 1 }\n", ["context"]),
        ("plugins: { folders: [p], sha256: { x.so: \(String(repeating: "0", count: 64)) } }\n", []),
        ("http: { proxy: \"http://proxy.example:3128\" }\n", ["http"]),
    ])
    func keysRequiringARestartAreNamed(_ further: String, _ keys: [String]) throws {
        let (old, new) = (try Self.read(Self.start), try Self.read(Self.start + further))
        #expect(old.keysRequiringRestart(in: new) == keys)
        #expect(old.keysRequiringRestart(in: old).isEmpty)
    }

    @Test(arguments: [
        ("carillon.key", "other.key", "identity"), ("carillon.sqlite", "other.sqlite", "store"),
        ("127.0.0.1:0", "127.0.0.1:7447", "relay"), ("{ token_file", "{ open_metrics: true, token_file", "api"),
        ("{ token_file", "{ public_url: \"https://push.example.com\", token_file", "api"),
        ("{ token_file", "{ trusted_proxies: 10.0.0.0/8, token_file", "api"),
    ])
    func changedValuesRequiringARestartAreNamed(_ value: String, _ other: String, _ key: String) throws {
        let new = try Self.read(Self.start.replacing(value, with: other))
        #expect(try Self.read(Self.start).keysRequiringRestart(in: new) == [key])
    }

    @Test func pluginsAddedLaterRequireNoRestart() throws {
        func takesRestart(_ new: String) throws -> Bool {
            let old = "plugins: { folders: [a, b], sha256: { x.so: \(String(repeating: "0", count: 64)) } }\n"
            return try Self.read(Self.start + old).keysRequiringRestart(in: Self.read(Self.start + new)) == ["plugins"]
        }
        let (zeros, ones) = (String(repeating: "0", count: 64), String(repeating: "1", count: 64))
        #expect(try !takesRestart("plugins: { folders: [a, b, c], sha256: { x.so: \(zeros), y.so: \(ones) } }\n"))
        #expect(try takesRestart("plugins: { folders: [b, a], sha256: { x.so: \(zeros) } }\n"))
        #expect(try takesRestart("plugins: { folders: [a, b], sha256: { x.so: \(ones) } }\n"))
        #expect(try takesRestart("plugins: { folders: [a, b] }\n"))
    }

    @Test func otherRootsInTheSameFileRequireARestart() throws {
        let path = NSTemporaryDirectory() + "carillon-roots-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        func http(_ content: String) throws -> Configuration {
            try Data(content.utf8).write(to: URL(fileURLWithPath: path))
            var configuration = try Self.read(Self.start)
            configuration.http.caFile = path
            configuration.http.caFileFingerprint = FileFingerprint(of: path)
            return configuration
        }
        let old = try http("one root")
        #expect(try old.keysRequiringRestart(in: http("one root")) == [])
        #expect(try old.keysRequiringRestart(in: http("another root")) == ["http"])
    }

    @Test func reloadAppliesOnlyReloadableKeys() throws {
        let old = try Self.read(Self.start)
        let new = try Self.read(
            "rules: rules.yaml\ndefaults: { mode: nudge }\nshutdown_seconds: 30\nhints: ignore\n"
                + Self.start.replacing("ntfy", with: "gotify").replacing("carillon.sqlite", with: "other.sqlite")
                .replacing("api.token", with: "other.token")
        )
        let result = old.reloaded(from: new)
        #expect(result.rulesFiles == ["/etc/carillon/rules.yaml"] && result.defaults.mode == .nudge)
        #expect(result.shutdownTime == .seconds(30) && result.apps["default"]?.platforms.keys.sorted() == ["gotify"])
        #expect(result.api?.tokenFile == "/etc/carillon/other.token")
        #expect(result.store.path == old.store.path && result.hints == old.hints)
    }
}
