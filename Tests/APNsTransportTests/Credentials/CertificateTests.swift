import CarillonABI
import Cipher
import CommandTestSupport
import Core
import Foundation
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import APNsTransport

/// Certificates instead of provider tokens.
struct CertificateTests {
    private func mistake(_ certificate: String, _ more: [String: any Sendable] = [:]) -> String? {
        #expect(throws: PluginError.self) { try TransportFixture(certificate: certificate, more) }?.description
    }

    @Test(
        arguments: [
            ("universal.pem", nil, nil), ("universal.crt", "universal.key", nil),
            ("universal.crt", "universal-encrypted.key", "secret\n"), ("universal.p12", nil, "secret"),
            ("universal-legacy.p12", nil, "secret\n"), ("universal-open.p12", nil, nil),
        ] as [(String, String?, String?)]
    )
    func connectionsPresentTheCertificate(_ file: String, _ key: String?, _ passphrase: String?) throws {
        try CertificateFiles.withFile(passphrase ?? "") { path in
            var more: [String: any Sendable] = [:]
            more["certificate_key_file"] = key.map(CertificateFiles.path)
            if passphrase != nil { more["certificate_password_file"] = path }
            let fixture = try TransportFixture(certificate: file, more)
            let presented = try #require(fixture.host.presented.first)
            #expect(fixture.host.presented.count == 1)
            #expect(presented.certificates.hasPrefix(try CertificateFiles.text("universal.crt")))
            #expect(try presented.key == CertificateFiles.text("universal.key"))
            #expect(try fixture.deliver(.wake("dm")) == .CARILLON_OK)
            let request = try #require(fixture.host.requests.first)
            #expect(request.headers["authorization"] == nil)
            #expect(request.headers["apns-topic"] == "com.example.app")
            #expect(request.connection == presented.connection)
            #expect(!presented.connection.isEmpty)
            #expect(fixture.host.log == [])
        }
    }

    @Test func differentCertificatesUseDifferentConnections() throws {
        let first = try TransportFixture(certificate: "universal.pem")
        let second = try TransportFixture(
            certificate: "single.crt",
            ["certificate_key_file": CertificateFiles.path("single.key")]
        )
        #expect(first.host.presented.first?.connection != second.host.presented.first?.connection)
    }

    /// The manual clock is in February 2026, and the certificates are valid for that year.
    @Test func certificateOutsideItsValidityIsRefusedWithADate() throws {
        let text = #"{"topic":"com.example.app","certificate_file":"\#(CertificateFiles.path("universal.pem"))"}"#
        let block = try JSONObject(parsing: text)
        let read = { (seconds: Int64) in try APNsConfiguration(block, now: Timestamp(seconds: seconds)).warnings }
        let (start, end, day) = (1_767_225_600 as Int64, 1_798_761_600 as Int64, 86_400 as Int64)
        #expect(try read(start) == [])
        #expect(try read(end - 30 * day) == [])
        #expect(
            try read(end - 30 * day + 1)
                == ["certificate_file: the certificate expires on 2027-01-01: renew it before"]
        )
        #expect(try read(end - 1).count == 1)
        let expired = #expect(throws: PluginError.self) { try read(end) }
        #expect(
            expired?.description
                == "certificate_file: expected a valid certificate, this one expired on 2027-01-01"
        )
        let early = #expect(throws: PluginError.self) { try read(start - 1) }
        #expect(early?.description.contains("this one is only valid from 2026-01-01") == true)
    }

    @Test func expiringCertificateIsWarnedAboutOnceWhenLoaded() throws {
        let block = #"{"topic":"com.example.app","certificate_file":"\#(CertificateFiles.path("universal.pem"))"}"#
        let host = FakeHost()
        _ = try APNsTransport(
            configuration: JSONObject(parsing: block),
            host: Host(host.pointer),
            now: { 1_798_000_000_000 }
        )
        #expect(host.log == ["certificate_file: the certificate expires on 2027-01-01: renew it before"])
    }

    /// A router may run for months without a restart.
    @Test func expiringCertificateIsLoggedDailyAndStopsSendingOnExpiry() throws {
        let fixture = try TransportFixture(certificate: "universal.pem")
        let untilExpiry = Timestamp(seconds: 1_798_761_600) - ManualClock.start
        fixture.clock.advance(by: untilExpiry - .days(7) - .milliseconds(1))
        #expect(try fixture.deliver(.wake("dm")) == .CARILLON_OK)
        #expect(fixture.host.log == [])
        fixture.clock.advance(by: .milliseconds(1))
        for ticket in 2...3 as ClosedRange<UInt64> {
            #expect(try fixture.deliver(.wake("dm"), ticket: ticket) == .CARILLON_OK)
        }
        let warning = "the client certificate for APNs expires on 2027-01-01: renew it before"
        #expect(fixture.host.log == [warning])
        fixture.clock.advance(by: .days(1))
        #expect(try fixture.deliver(.wake("dm"), ticket: 4) == .CARILLON_OK)
        #expect(fixture.host.log == [warning, warning])
        #expect(fixture.host.outcomes == [])
        fixture.clock.advance(by: .days(6))
        #expect(try fixture.deliver(.wake("dm"), ticket: 5) == .CARILLON_OK)
        #expect(fixture.host.requests.count == 4)
        #expect(fixture.host.log.last?.contains("expired on 2027-01-01") == true)
        #expect(
            fixture.host.outcomes
                == [RecordedOutcome(ticket: 5, kind: .CARILLON_MISCONFIGURED, reason: "certificate-expired")]
        )
    }

    @Test func errorsInCertificateFilesAreNamed() throws {
        let path = CertificateFiles.path
        #expect(
            mistake("other.crt", ["certificate_key_file": path("other.key")])
                == "certificate_file: expected a push certificate from Apple, this one contains no topic"
        )
        #expect(
            mistake("universal.pem", ["topic": "com.example.other"])
                == "topic: expected one of the certificate's, com.example.app, com.example.app.voip, "
                + "com.example.app.complication"
        )
        #expect(
            mistake("universal.p12", ["certificate_key_file": path("universal.key")])
                == "certificate_key_file: not allowed with a .p12 file, which contains the key"
        )
        #expect(
            mistake("universal.p12")
                == "certificate_password_file: expected a file with the passphrase of certificate_file"
        )
        #expect(mistake("universal.crt")?.hasPrefix("certificate_file: no readable private key") == true)
        #expect(
            mistake("universal.crt", ["certificate_key_file": path("universal-encrypted.key")])?
                .hasPrefix("certificate_key_file: no readable private key") == true
        )
        #expect(
            mistake("universal.crt", ["certificate_key_file": path("other.key")])?
                .hasPrefix("certificate_file: the private key does not match any certificate") == true
        )
        #expect(mistake("universal.key")?.hasPrefix("certificate_file: no readable certificate") == true)
        #expect(mistake("nowhere")?.hasPrefix("certificate_file: expected a file that can be read") == true)
        for name in ["team_id", "key_id", "key_file", "key"] {
            #expect(
                mistake("universal.pem", [name: "TEAMID1234"])
                    == "\(name): not allowed with certificate_file: it is for provider tokens"
            )
        }
    }

    @Test func hostWithoutClientCertificatesIsRefused() throws {
        let host = FakeHost(hasServices: false)
        let error = #expect(throws: PluginError.self) { try TransportFixture(certificate: "universal.pem", host: host) }
        #expect(
            error?.description.hasPrefix("certificate_file: the router does not have carillon.client-certificate")
                == true
        )
    }

    private static let own = String(repeating: "c3", count: 32)

    /// A certificate covers the push types of its topics, except those that require provider tokens.
    @Test(
        arguments: [
            ("voip", true), ("complication", true), ("location", false), ("liveactivity", false), ("widgets", false),
            ("fileprovider", false), ("mdm", true),
        ]
    )
    func onlyTopicsOfTheCertificateAreSent(_ type: String, _ isCovered: Bool) throws {
        let fixture = try TransportFixture(certificate: "universal.pem")
        let fields = DeviceTokens.fields.map { ($0.description, Self.own) } + [("mdm_push_magic", "magic")]
        let sample = SampleNotification.alert(
            title: "t",
            body: "b",
            native: type == "liveactivity" ? #"{"content-state":{}}"# : #"{"push-type":"\#(type)"}"#
        )
        let device = SampleRegistration(token: TransportFixture.deviceToken, fields: fields)
        for _ in 0..<2 { #expect(try fixture.deliver(sample, to: device) == .CARILLON_OK) }
        #expect(fixture.host.requests.last?.headers["apns-push-type"] == (isCovered ? type : "alert"))
        #expect(fixture.host.log.count == (isCovered ? 0 : 1))
    }

    /// A rejected certificate concerns all devices. With a certificate, `ExpiredProviderToken` does too.
    @Test(arguments: ["BadCertificate", "BadCertificateEnvironment", "MissingProviderToken", "ExpiredProviderToken"])
    func refusedCertificatePausesAllPushes(_ reason: String) throws {
        let fixture = try TransportFixture(certificate: "universal.pem")
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(403, reason)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_MISCONFIGURED])
    }
}

/// The certificates of Cipher's tests, made with the openssl command; see the README there. They are valid in 2026,
/// like the manual clock.
enum CertificateFiles {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "../CipherTests/Vectors/X509").standardizedFileURL

    static func path(_ name: String) -> String { folder.appending(path: name).path }

    static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    /// Calls `use` with the path of a temporary file that contains `text`.
    static func withFile<Result>(_ text: String, _ use: (String) throws -> Result) throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try text.write(to: file, atomically: true, encoding: .utf8)
        return try use(file.path)
    }
}

/// Python's `cryptography`, if installed: an independent check of signatures.
enum PythonCryptography {
    static let isThere = (try? run("import cryptography", [])) == ""

    private static let script = """
        import sys
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        key = serialization.load_pem_public_key(sys.argv[1].encode())
        raw = bytes.fromhex(sys.argv[3])
        der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        try:
            key.verify(der, sys.argv[2].encode(), ec.ECDSA(hashes.SHA256()))
            print("good", end="")
        except InvalidSignature:
            print("bad", end="")
        """

    static func verifyES256(publicKey: String, message: String, signature: [UInt8]) throws -> String {
        try run(script, [publicKey, message, Hex.encode(signature)])
    }

    private static func run(_ script: String, _ arguments: [String]) throws -> String {
        try CommandRun("python3", ["-c", script] + arguments).output
    }
}
