import Foundation

/// A key and a self-signed certificate for localhost, made by the openssl command and shared by the tests of a process.
package struct TestCertificate: Sendable {
    private struct NotMade: Error { let output: String }

    package let keyFile: String
    package let certificateFile: String

    package static let shared = Result { try TestCertificate() }

    private init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        keyFile = folder.appending(path: "key.pem").path
        certificateFile = folder.appending(path: "cert.pem").path
        let openssl = try CommandRun(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", keyFile, "-out", certificateFile,
            ]
        )
        guard openssl.status == 0 else { throw NotMade(output: openssl.output) }
    }
}
