import Foundation
import HTTPClient
import PlatformTestSupport
import Push
import Storage
import Testing
import WebIngress

@testable import CarillonRouter
@testable import RouterConfiguration

/// The environment of metatext-apns (contrib/docs/web-push-ingress.md).
@Suite struct ConfigurationOfEnvironmentTests {
    private static let seed = [
        "APNS_KEY_ID": "ABCDEFGHIJ",
        "APNS_AUTH_KEY": "-----BEGIN PRIVATE KEY-----\\nMIG\\n-----END PRIVATE KEY-----\\n",
        "APPLE_TEAM_ID": "TEAMID1234", "TOPIC": "com.example.app",
    ]

    private func configuration(_ environment: [String: String]) throws(Diagnostics) -> Configuration? {
        try Configuration.SealedIngress.alone(
            environment: environment,
            platforms: .builtIn,
            executableFolder: "/nonexistent",
            folder: "/srv"
        )
    }

    private func mistakes(_ environment: [String: String]) -> [String] {
        do {
            _ = try configuration(environment)
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test func configurationWithoutAKeyIsNil() throws {
        #expect(try configuration([:]) == nil)
        #expect(try configuration(["TOPIC": "com.example.app", "PORT": "x"]) == nil)
    }

    @Test func seedsVariablesAreEnough() throws {
        let configuration = try #require(try configuration(Self.seed))
        #expect(configuration.identity.keyFile == "/srv/carillon-state/carillon.key")
        #expect(configuration.store.path == "/srv/carillon-state/carillon.sqlite")
        let ingress = try #require(configuration.sealedIngress)
        #expect(ingress.web.host == "0.0.0.0" && ingress.web.port == 9_292 && ingress.app == "default")
        #expect(ingress.web.isTrustedProxy("10.1.2.3") && !ingress.web.isTrustedProxy("192.0.2.1"))
        let json = try #require(configuration.apps["default"]?.platforms["ios"]?.json)
        #expect(
            try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String] == [
                "key_id": "ABCDEFGHIJ", "team_id": "TEAMID1234", "topic": "com.example.app",
                "key": "-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n",
            ]
        )
        #expect(configuration.relay.host == "127.0.0.1" && configuration.relay.port == 0)
        #expect(configuration.relays.always.isEmpty && configuration.relays.publish.isEmpty)
        #expect(configuration.http.lanes.lanes.connectionsPerOrigin == 4)
    }

    @Test func optionalVariablesAreApplied() throws {
        let further = [
            "PORT": "80", "STATE_DIRECTORY": "/var/lib/carillon:/var/lib/other", "CONNECTION_POOL_SIZE": "2",
            "CARILLON_APNS_BASE_URL": "https://127.0.0.1:4433", "CARILLON_CA_FILE": "/etc/ca.pem",
            "APNS_AUTH_KEY": "first\nsecond\n",
        ]
        let configuration = try #require(try configuration(Self.seed.merging(further) { $1 }))
        #expect(configuration.sealedIngress?.web.port == 80)
        #expect(configuration.store.path == "/var/lib/carillon/carillon.sqlite")
        #expect(configuration.http.lanes.lanes.connectionsPerOrigin == 2)
        #expect(configuration.http.lanes.caFile == "/etc/ca.pem")
        let json = configuration.apps["default"]?.platforms["ios"]?.json ?? ""
        let block = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String]
        #expect(block?["base_url"] == "https://127.0.0.1:4433" && block?["key"] == "first\nsecond\n")
    }

    @Test func missingAndInvalidVariablesAreReportedTogether() {
        #expect(
            mistakes(["APNS_KEY_ID": "", "TOPIC": "", "PORT": "http", "CONNECTION_POOL_SIZE": "0"]) == [
                "APNS_KEY_ID: this environment variable is missing: the id of Apple's key",
                "APNS_AUTH_KEY: this environment variable is missing: the content of Apple's .p8 file",
                "APPLE_TEAM_ID: this environment variable is missing: the id of the developer team",
                "TOPIC: this environment variable is missing: the app's bundle id",
                "PORT: expected a whole number from 0 to 65535",
                "CONNECTION_POOL_SIZE: expected a whole number from 1 to 1000",
            ]
        )
    }

    @Test func anyKeyVariableSelectsThisMode() {
        for name in ["APNS_KEY_ID", "APNS_AUTH_KEY", "APPLE_TEAM_ID"] {
            let missing = mistakes([name: "x"]).map { $0.prefix { $0 != ":" } }
            #expect(missing.count == 3 && !missing.contains { $0 == name })
        }
    }

    @Test func pluginErrorsNameTheEnvironmentVariable() throws {
        let environment = try #require(try configuration(Self.seed)?.environment)
        let mistakes = [
            "the ios transport refuses its configuration: key: expected Apple's .p8 file", "team_id: expected: ten",
            "http.ca_file: no certificates",
            "store.path: another router runs", "no plugin for ios",
        ]
        #expect(
            mistakes.map { environment.mistake($0).description } == [
                "APNS_AUTH_KEY: expected Apple's .p8 file", "APPLE_TEAM_ID: expected: ten",
                "CARILLON_CA_FILE: no certificates", "STATE_DIRECTORY: another router runs",
                "environment: no plugin for ios",
            ]
        )
    }
}
