import Cipher
import Core
import Foundation
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import APNsTransport

struct APNsConfigurationTests {
    private let key = P256PrivateKey()

    private var good: [String: Any] {
        [
            "topic": "com.example.app", "team_id": "TEAMID1234", "key_id": "ABCDEFGHIJ", "key": key.pemRepresentation,
            "environment": "sandbox",
        ]
    }

    private func read(_ block: [String: Any]) throws -> APNsConfiguration {
        try APNsConfiguration(JSONObject(block), now: ManualClock.start)
    }

    /// Returns the team, the key's id and the public half of the key.
    private func token(_ configuration: APNsConfiguration) throws -> (String, String, [UInt8]) {
        guard case .token(let teamID, let keyID, let key) = configuration.authentication else {
            throw PluginError("expected provider tokens")
        }
        return (teamID, keyID, key.publicKey.x963Representation)
    }

    @Test func readsABlock() throws {
        let configuration = try read(good)
        #expect(configuration.topic == "com.example.app")
        #expect(try token(configuration) == ("TEAMID1234", "ABCDEFGHIJ", key.publicKey.x963Representation))
        #expect(configuration.origins.main == .sandbox)
        #expect(!configuration.triesOtherEnvironment)
        #expect(configuration.broadcastKey == nil)
        #expect(configuration.warnings == [])
    }

    /// A server is given under `base_url`, and one of Apple's environments by name.
    private static func key(_ server: String?) -> String {
        server?.hasPrefix("https://") == true ? "base_url" : "environment"
    }

    @Test(
        arguments: [
            (nil, "https://api.push.apple.com"), ("production", "https://api.push.apple.com"),
            ("https://127.0.0.1:2197", "https://127.0.0.1:2197"), ("https://localhost", "https://localhost"),
        ] as [(String?, String)]
    )
    func environmentsAreRead(_ server: String?, _ origin: String) throws {
        var block = good
        block[Self.key(server)] = server
        let origins = try read(block).origins
        #expect(origins.all[origins.main] == origin)
    }

    @Test(
        arguments: [
            (nil, nil, nil, "https://api.push.apple.com", "https://api.sandbox.push.apple.com"),
            (nil, "production", "https://lab:1", "https://api.push.apple.com", "https://lab:1"),
            (nil, "sandbox", nil, "https://api.push.apple.com", "https://api.sandbox.push.apple.com"),
            (nil, "sandbox", "https://lab:1", "https://api.push.apple.com", "https://lab:1"),
            (nil, "https://lab:2", nil, "https://lab:2", "https://lab:2"),
            (nil, "https://lab:2", "https://lab:1", "https://lab:2", "https://lab:1"),
            (443, nil, nil, "https://api.push.apple.com", "https://api.sandbox.push.apple.com"),
            (2197, "sandbox", nil, "https://api.push.apple.com:2197", "https://api.sandbox.push.apple.com:2197"),
            (2197, nil, "https://lab:1", "https://api.push.apple.com:2197", "https://lab:1"),
        ] as [(Int?, String?, String?, String, String)]
    )
    func everyEnvironmentHasItsServer(
        _ port: Int?,
        _ server: String?,
        _ sandbox: String?,
        _ productionOrigin: String,
        _ sandboxOrigin: String
    ) throws {
        var block = good
        block["port"] = port
        block[Self.key(server)] = server
        block["sandbox"] = sandbox
        let origins = try read(block).origins
        #expect(origins.all.production == productionOrigin)
        #expect(origins.all.sandbox == sandboxOrigin)
        #expect(origins.differ == (productionOrigin != sandboxOrigin))
        guard port != nil else { return }
        // The port is for Apple's servers.
        block["base_url"] = "https://lab:2"
        #expect(throws: PluginError.self) { try read(block) }
    }

    @Test func readsTheKeyOfBroadcasts() throws {
        var block = good
        for (text, isGood) in [("0123456789abcdef\n", true), ("0123456789abcde\n", false), ("", false)] {
            try CertificateFiles.withFile(text) { path in
                block["broadcast_key_file"] = path
                let answer = Result { try read(block) }
                #expect((try? answer.get().broadcastKey != nil) == (isGood ? true : nil))
                guard case .failure(let error) = answer else { return }
                #expect(
                    "\(error)" == "broadcast_key_file: expected a file with a key of 16 to 1024 bytes in it"
                )
            }
        }
    }

    @Test func readsTheKeyFromAFile() throws {
        var block = good
        block["key"] = nil
        try CertificateFiles.withFile(key.pemRepresentation) { path in
            block["key_file"] = path
            let (_, _, found) = try token(read(block))
            #expect(found == key.publicKey.x963Representation)
        }
    }

    @Test(
        arguments: [
            ("topic", nil, "topic: expected the app's bundle id, such as com.example.app, found nothing"),
            ("topic", 7, "topic: expected the app's bundle id, such as com.example.app, found a number"),
            ("topic", "com example", "topic: expected the app's bundle id, such as com.example.app"),
            ("topic", "", "topic: expected the app's bundle id, such as com.example.app"),
            ("team_id", nil, "team_id: expected the team's id, 10 letters and digits, found nothing"),
            ("team_id", "SHORT", "team_id: expected the team's id, 10 letters and digits"),
            ("team_id", "TEAMID123\"", "team_id: expected the team's id, 10 letters and digits"),
            ("key_id", "ABCDEFGHIJK", "key_id: expected the key's id, 10 letters and digits"),
            ("key_id", true, "key_id: expected the key's id, 10 letters and digits, found true or false"),
            ("environment", "prod", "environment: expected production or sandbox; a server belongs under base_url"),
            ("environment", ["x"], "environment: expected production or sandbox, found a list"),
            ("base_url", "http://localhost", "base_url: expected https://host:port"),
            ("base_url", "https://lab/3/device", "base_url: expected https://host:port"),
            ("key", nil, "key_file: expected the path of Apple's .p8 file, or its text under key; found neither"),
            ("key_file", "/nowhere", "key: expected either key_file or key, found both"),
            (
                "enviroment", "sandbox",
                "enviroment: unknown key, expected only topic, team_id, key_id, key_file, key, certificate_file, "
                    + "certificate_key_file, certificate_password_file, environment, base_url, sandbox, port, "
                    + "try_other_environment, broadcast_key_file, broadcast_management"
            ),
            ("sandbox", "http://localhost", "sandbox: expected https://host:port"),
            ("sandbox", true, "sandbox: expected https://host:port, found true or false"),
            ("port", 80, "port: expected 443 or 2197"), ("port", "2197", "port: expected 443 or 2197"),
            ("try_other_environment", 1, "try_other_environment: expected true or false, found a number"),
            ("broadcast_management", "http://localhost", "broadcast_management: expected https://host:port"),
            (
                "certificate_key_file", "/nowhere",
                "certificate_key_file: expected certificate_file too, the path of a certificate, in PEM or as .p12"
            ),
            (
                "certificate_file", "/nowhere",
                "team_id: not allowed with certificate_file: it is for provider tokens"
            ),
        ] as [(String, (any Sendable)?, String)]
    )
    func errorNamesTheKeyAndTheExpectedValue(_ name: String, _ value: (any Sendable)?, _ sentence: String) throws {
        var block = good
        block[name] = value
        #expect(#expect(throws: PluginError.self) { try read(block) }?.description == sentence)
    }

    @Test func unreadableKeyIsReportedWithTheReason() throws {
        var block = good
        block["key"] = "secret garbage"
        let garbage = try #require(#expect(throws: PluginError.self) { try read(block) }).description
        #expect(garbage.hasPrefix("key: expected Apple's .p8 file") && !garbage.contains("garbage"))
        block["key"] = nil
        block["key_file"] = "/nowhere/AuthKey.p8"
        let missing = try #require(#expect(throws: PluginError.self) { try read(block) }).description
        #expect(missing.hasPrefix("key_file: expected a file that can be read, /nowhere/AuthKey.p8: No such"))
    }
}
