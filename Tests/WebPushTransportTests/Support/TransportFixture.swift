import CarillonABI
import Cipher
import Foundation
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import WebPushTransport

/// A transport on a recording host, and a browser with known keys.
struct TransportFixture: TransportBench {
    static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABsecret"
    static let subject = "mailto:ops@example.com"

    let host = FakeHost()
    let clock = ManualClock()
    let operatorKey = P256PrivateKey()
    let browserKey = P256PrivateKey()
    let secret = [UInt8](repeating: 7, count: 16)
    let transport: WebPushTransport

    /// `more` is appended to the configuration block after a comma. `former` contains keys that were used before.
    init(_ more: String = "", former: [P256PrivateKey] = []) throws {
        let clock = clock
        let pem = operatorKey.pemRepresentation.replacing("\n", with: "\\n")
        var block = #""vapid_key":"\#(pem)","subject":"\#(Self.subject)""#
        var files: [String] = []
        defer {
            for file in files { try? FileManager.default.removeItem(atPath: file) }
        }
        for key in former {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("former-\(UUID()).pem")
            try key.pemRepresentation.write(to: file, atomically: true, encoding: .utf8)
            files.append(file.path)
        }
        if !files.isEmpty {
            block += #","old_vapid_key_files":["\#(files.joined(separator: #"",""#))"]"#
        }
        transport = try WebPushTransport(
            configuration: JSONObject(parsing: "{\(block)\(more.isEmpty ? "" : ",")\(more)}"),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    /// The public key with which an app subscribes.
    static func publicKey(_ key: P256PrivateKey) -> String { Base64URL.encode(key.publicKey.x963Representation) }

    /// A subscription with the browser's keys, and with the name of the key that its app subscribed with.
    func subscription(_ endpoint: String = endpoint, vapid: String? = nil) -> SampleRegistration {
        SampleRegistration(
            token: endpoint,
            fields: [
                ("p256dh", Base64URL.encode(browserKey.publicKey.x963Representation)),
                ("auth", Base64URL.encode(secret)),
            ] + (vapid.map { [("vapid", $0)] } ?? [])
        )
    }

    var device: SampleRegistration { subscription() }

    /// The public key that a request is signed with.
    func signer(of request: RecordedRequest?) throws -> String? {
        try request?.headers["authorization"].map { try ReadAuthorization($0).publicKey }
    }

    /// Decrypts the body of a request, as the browser does.
    func decrypt(_ request: RecordedRequest) throws -> String {
        let plaintext = try WebPushEncryption.decrypt(
            request.body,
            privateKey: browserKey,
            authenticationSecret: secret
        )
        return String(decoding: plaintext, as: UTF8.self)
    }
}
