import Cipher
import Foundation
import PluginKit
import Testing

@testable import WebPushTransport

struct WebPushConfigurationTests {
    private static let pem = P256PrivateKey().pemRepresentation
    private static let key = #""vapid_key":"\#(pem.replacing("\n", with: "\\n"))""#
    private static let subject = #""subject":"mailto:ops@example.com""#

    private func mistake(_ block: String) throws -> String? {
        let block = try JSONObject(parsing: block)
        do throws(PluginError) {
            _ = try WebPushConfiguration(block)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        ("", "vapid_key_file: expected the path of a private key in PEM, or its text under vapid_key; found neither"),
        (#""vapid_key":7"#, "vapid_key: expected the text of a private key in PEM, found a number"),
        (#""vapid_key":"junk""#, "vapid_key: expected a PEM text with a private key on P-256"),
        (
            #""vapid_key":"x","vapid_key_file":"y""#,
            "vapid_key: expected either vapid_key_file or vapid_key, found both"
        ),
        (#""vapid_key_file":"/nowhere/vapid.pem""#, "vapid_key_file: expected a file that can be read"),
        (key, "subject: expected the operator's contact for push services"),
        (#"\#(key),"subject":"ops@example.com""#, "subject: expected the operator's contact for push services"),
        (#"\#(key),\#(subject),"navigate":"/home""#, "navigate: expected the URL that a tap opens"),
        (#"\#(key),\#(subject),"allowed_hosts":"x""#, "allowed_hosts: expected a list of hosts"),
        (#"\#(key),\#(subject),"allowed_hosts":[7]"#, "allowed_hosts: expected a list of hosts"),
        (#"\#(key),\#(subject),"allowed_hosts":["*"]"#, "allowed_hosts: expected a list of hosts"),
        (#"\#(key),\#(subject),"allowed_hosts":["https://x.example"]"#, "allowed_hosts: expected a list of hosts"),
        (#"\#(key),\#(subject),"topic":1"#, "topic: unknown key, expected only vapid_key_file, vapid_key, subject"),
    ])
    func errorsNameTheKeyAndTheExpectedValue(_ members: String, _ words: String) throws {
        let mistake = try #require(try mistake("{\(members)}"))
        #expect(mistake.hasPrefix(words))
        #expect(!mistake.contains("MIGHAg"))
    }

    @Test func missingKeyErrorShowsHowToCreateOne() throws {
        #expect(try mistake("{}")?.contains("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256") == true)
    }

    @Test(arguments: ["openssl-genpkey.pem", "openssl-ecparam.pem"]) func opensslKeysAreRead(_ name: String) throws {
        let file = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/\(name)")
        #expect(try mistake(#"{"vapid_key_file":"\#(file.path)",\#(Self.subject)}"#) == nil)
    }

    @Test func everyOptionalKeyIsRead() throws {
        let more = #""navigate":"https://app.example.com/#/","allowed_hosts":["*.push.apple.com","push.example.com"]"#
        let configuration = try WebPushConfiguration(JSONObject(parsing: "{\(Self.key),\(Self.subject),\(more)}"))
        #expect(configuration.navigate == "https://app.example.com/#/")
        #expect(configuration.allowedHosts?.count == 2)
    }
}
