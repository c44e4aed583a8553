import CommandTestSupport
import Foundation
import NIOSSL
import Testing

/// A key with a self-signed certificate from the openssl command: a server's, and its own authority.
package struct TestIdentity: Sendable {
    /// PEM.
    package let certificate: String
    private let key: String

    /// `names` as a certificate has them: `DNS:localhost,IP:127.0.0.1`.
    package init(_ names: String = "DNS:localhost") throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-identity-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (keyFile, certificateFile) = ("\(folder)/key.pem", "\(folder)/certificate.pem")
        let result = try CommandRun(
            "openssl",
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
                + ["-subj", "/CN=test", "-addext", "subjectAltName=\(names)"]
                + ["-keyout", keyFile, "-out", certificateFile]
        )
        try #require(result.status == 0, "\(result.output)")
        key = try String(contentsOfFile: keyFile, encoding: .utf8)
        certificate = try String(contentsOfFile: certificateFile, encoding: .utf8)
    }

    func serverContext() throws -> NIOSSLContext {
        try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem))],
                privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
            )
        )
    }
}
