import Cipher
import Foundation
import PluginKit
import PluginTestSupport
import Testing

@testable import FCMTransport

struct FCMConfigurationTests {
    private func read(_ block: [String: Any]) throws -> FCMConfiguration {
        try FCMConfiguration(JSONObject(block))
    }

    private func mistake(_ block: [String: Any]) throws -> String? {
        do {
            _ = try read(block)
            return nil
        } catch let error as PluginError {
            return error.description
        }
    }

    private func accountText() throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: TransportFixture.account), as: UTF8.self)
    }

    @Test func readsAFileThatGoogleHandsOut() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try accountText().write(to: file, atomically: true, encoding: .utf8)
        let configuration = try read(["service_account": file.path])
        #expect(configuration.projectID == "my-project-1234")
        #expect(configuration.baseURL == "https://fcm.googleapis.com")
        #expect(configuration.account.email == "push@my-project-1234.iam.gserviceaccount.com")
        #expect(configuration.account.keyID == "0123456789abcdef")
        #expect(configuration.account.tokenURL == TransportFixture.tokenURL)
        #expect(
            configuration.account.key.publicKey.pemRepresentation
                == TransportFixture.key.publicKey.pemRepresentation
        )
    }

    @Test func readsTheContentAsTextAndAsMapping() throws {
        #expect(try read(["service_account_json": accountText()]).projectID == "my-project-1234")
        #expect(try read(["service_account_json": TransportFixture.account]).projectID == "my-project-1234")
    }

    @Test func theBlockOverridesProjectAndOrigin() throws {
        let configuration = try read([
            "service_account_json": TransportFixture.account, "project_id": "1234567890",
            "base_url": "https://localhost:8443",
        ])
        #expect(configuration.projectID == "1234567890")
        #expect(configuration.baseURL == "https://localhost:8443")
    }

    @Test(
        arguments: [
            (
                "service_account_json", nil,
                "service_account: expected the path of the service account's JSON file, or its content under "
                    + "service_account_json; found neither"
            ),
            (
                "service_account", "/nowhere",
                "service_account_json: expected either service_account or this, found both"
            ),
            (
                "service_account_json", 7,
                "service_account_json: expected the content of the service account's JSON file, found a number"
            ),
            (
                "service_account_json", "{",
                "service_account_json: expected the service account's JSON: expected a string at byte 1"
            ),
            (
                "project_id", "a/b",
                "project_id: expected the Firebase project's id, such as my-project-1234, or its number"
            ),
            (
                "project_id", "",
                "project_id: expected the Firebase project's id, such as my-project-1234, or its number"
            ),
            ("base_url", "http://localhost", "base_url: expected https://host:port"),
            ("base_url", "https://localhost/v1", "base_url: expected https://host:port"),
            ("base_url", true, "base_url: expected https://host:port, found true or false"),
            (
                "server_key", "AAAA",
                "server_key: unknown key, expected only service_account, service_account_json, project_id, base_url, "
                    + "direct_boot_ok"
            ),
            (
                "direct_boot_ok", "yes",
                "direct_boot_ok: expected true if the app accepts messages before the device is first unlocked, else false; "
                    + "found text"
            ),
        ] as [(String, (any Sendable)?, String)]
    )
    func errorNamesTheKeyAndTheExpectedValue(_ name: String, _ value: (any Sendable)?, _ sentence: String) throws {
        var block: [String: Any] = ["service_account_json": TransportFixture.account]
        block[name] = value
        #expect(try mistake(block) == sentence)
    }

    @Test(
        arguments: [
            ("type", "authorized_user", "type: expected service_account, found another kind of file"),
            ("client_email", nil, "client_email: expected the account's address, found nothing"),
            ("client_email", "a b", "client_email: expected the account's address"),
            ("private_key_id", "", "private_key_id: expected the key's id"),
            ("token_uri", "http://oauth2.example.com/token", "token_uri: expected an https URL"),
            ("token_uri", ["x"], "token_uri: expected an https URL, found a list"),
            ("private_key", nil, "private_key: expected a PEM text, found nothing"),
            (
                "private_key", "secret",
                "private_key: expected a PEM text with an RSA key: no readable key in the PEM text; expected a PRIVATE KEY "
                    + "(PKCS#8) or RSA PRIVATE KEY block, without a passphrase"
            ),
            (
                "private_key", P256PrivateKey().pemRepresentation,
                "private_key: expected a PEM text with an RSA key: the PEM text has a key of another type; expected an "
                    + "RSA key"
            ),
        ] as [(String, (any Sendable)?, String)]
    )
    func errorsInTheFileAreNamed(_ name: String, _ value: (any Sendable)?, _ sentence: String) throws {
        var account = TransportFixture.account
        account[name] = value
        #expect(try mistake(["service_account_json": account]) == "service_account_json: " + sentence)
    }

    @Test func aFileWithoutProjectNeedsOneInTheBlock() throws {
        var account = TransportFixture.account
        account["project_id"] = nil
        account["token_uri"] = nil
        #expect(
            try mistake(["service_account_json": account])
                == "project_id: expected the Firebase project's id, such as my-project-1234, or its number; found it neither "
                + "here nor in the service account"
        )
        let configuration = try read(["service_account_json": account, "project_id": "example.com:old-project"])
        #expect(configuration.projectID == "example.com:old-project")
        #expect(configuration.account.tokenURL == "https://oauth2.googleapis.com/token")
    }

    @Test func missingFileIsNamedWithoutQuotingContent() throws {
        #expect(
            try mistake(["service_account": "/nowhere/account.json"])
                == "service_account: expected a file that can be read, /nowhere/account.json: No such file or directory"
        )
    }
}
