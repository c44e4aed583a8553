import CommandTestSupport
import Foundation
import Testing

/// A key and a self-signed certificate for localhost, made by the openssl command and shared by the tests.
struct TestCertificate {
    let keyFile: String
    let certificateFile: String

    static let shared = Result { try TestCertificate() }

    private init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lanes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        keyFile = folder.appendingPathComponent("key.pem").path
        certificateFile = folder.appendingPathComponent("cert.pem").path
        let openssl = try CommandRun(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", keyFile, "-out", certificateFile,
            ]
        )
        try #require(openssl.status == 0, "\(openssl.output)")
    }
}
