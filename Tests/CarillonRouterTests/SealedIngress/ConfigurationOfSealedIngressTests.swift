import Foundation
import PlatformTestSupport
import Push
import Storage
import Testing
import WebIngress

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct ConfigurationOfSealedIngressTests {
    private static let apps = "apps: { default: { ios: {} }, other: { ios: {} }, pixel: { android: {} } }"

    private func read(_ block: String) throws(Diagnostics) -> Configuration {
        try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read("\(block)\n\(Self.apps)\nidentity: { key_file: carillon.key }\nstore: { path: carillon.sqlite }")
    }

    @Test func sealedIngressDefaultsToNone() throws {
        #expect(try read("").sealedIngress == nil)
    }

    @Test func omittedKeyHasItsDefault() throws {
        let ingress = try #require(try read("sealed_ingress: {}").sealedIngress)
        #expect(ingress.web.host == "127.0.0.1" && ingress.web.port == 7449)
        #expect(ingress.app == "default" && ingress.web.locKey == "apns-default-message")
        #expect(ingress.devices == 1_000_000 && ingress.web.limits == WebIngressConfiguration.Limits())
        #expect(ingress.web.isTrustedProxy("127.0.0.1") && ingress.web.isTrustedProxy("::1"))
        #expect(!ingress.web.isTrustedProxy("192.0.2.1") && !ingress.web.isTrustedProxy("::2"))
    }

    private func platform(_ block: String, _ platforms: PlatformCatalog) throws -> String? {
        let configuration = try read(block)
        return try configuration.sealedIngress?.platform(in: configuration, platforms)
    }

    /// Only plugins know which platforms support it.
    @Test func platformIsTheOnlyOneThatOffersIt() throws {
        #expect(try platform("", .builtIn) == nil)
        #expect(try platform("sealed_ingress: {}", .builtIn) == "ios")
        #expect(try platform("sealed_ingress: { platform: ios }", .builtIn) == "ios")
        #expect(throws: Diagnostics.self) { try platform("sealed_ingress: { app: pixel }", .builtIn) }
        #expect(throws: Diagnostics.self) {
            try platform("sealed_ingress: { app: pixel, platform: android }", .builtIn)
        }
        #expect(throws: Diagnostics.self) { try platform("sealed_ingress: {}", PlatformCatalog()) }
    }

    @Test func everyKeyIsRead() throws {
        let configuration = try read(
            """
            sealed_ingress:
              listen: "[::1]:80"
              app: other
              loc_key: NEW
              trusted_proxies: [10.0.0.0/8, "2001:db8::1"]
              limits: { devices: 1, connections: 2, connections_per_client: 3, per_client_per_second: 4, client_burst: 5,
                        client_bytes_per_second: 2048, per_device_per_minute: 6, device_burst: 7, waiting: 8 }
            """
        )
        let ingress = try #require(configuration.sealedIngress)
        #expect(ingress.web.host == "::1" && ingress.web.port == 80)
        #expect(ingress.app == "other" && ingress.web.locKey == "NEW")
        #expect(ingress.web.isTrustedProxy("10.1.2.3") && ingress.web.isTrustedProxy("2001:db8::1"))
        #expect(!ingress.web.isTrustedProxy("192.0.2.1") && !ingress.web.isTrustedProxy("nonsense"))
        #expect(!ingress.web.isTrustedProxy("127.0.0.1"))
        let limits = ingress.web.limits
        #expect(ingress.devices == 1 && limits.connections == 2 && limits.connectionsPerAddress == 3)
        #expect(limits.perClientPerSecond == 4 && limits.clientBurst == 5 && limits.bytesPerClientPerSecond == 2048)
        #expect(limits.perDevicePerMinute == 6 && limits.deviceBurst == 7 && limits.waiting == 8)
    }

    @Test(arguments: [
        (
            "{ listen: 7449 }",
            "sealed_ingress.listen: expected an address and a port, as in 127.0.0.1:7449 or [::1]:7449"
        ),
        (
            "{ app: pixel, platform: ios }",
            "sealed_ingress.app: expected the name of an app with a block for ios; 'pixel' has none"
        ),
        ("{ app: none }", "sealed_ingress.app: expected the name of an app with a platform's block; 'none' has none"),
        (
            "{ loc_key: \"\" }",
            "sealed_ingress.loc_key: expected a key of the app's Localizable.strings, of at most 256 bytes"
        ),
        (
            "{ trusted_proxies: [10.0.0.1/8] }",
            "sealed_ingress.trusted_proxies[0]: expected a proxy's address or network, as in 10.1.2.0/24, with no bits set "
                + "after the prefix"
        ),
        ("{ limits: { waiting: 0 } }", "sealed_ingress.limits.waiting: expected a whole number from 1 to 1000000"),
        ("{ port: 1 }", "sealed_ingress: unknown key 'port'"),
    ])
    func errorsAreReported(block: String, message: String) {
        let error = #expect(throws: Diagnostics.self) { _ = try read("sealed_ingress: \(block)") }
        #expect(error?.all.count == 1 && error?.description.contains(message) == true, "\(String(describing: error))")
    }
}
