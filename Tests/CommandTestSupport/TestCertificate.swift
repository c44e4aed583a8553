import Foundation

/// A key and a self-signed certificate, by default for localhost, made with the openssl command and shared by the tests
/// of a process.
package struct TestCertificate: Sendable {
    private struct NotMade: Error { let output: String }

    package let keyFile: String
    package let certificateFile: String

    package static let shared = Result { try TestCertificate() }
    package static let forAnotherName = Result { try TestCertificate(name: "elsewhere.example", address: "192.0.2.1") }
    package static let expired = Result { try TestCertificate(isExpired: true) }

    private init(name: String = "localhost", address: String = "127.0.0.1", isExpired: Bool = false) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        keyFile = folder.appending(path: "key.pem").path
        certificateFile = folder.appending(path: "cert.pem").path
        let request = [
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)",
            "-addext", "subjectAltName=DNS:\(name),IP:\(address)", "-keyout", keyFile,
        ]
        guard isExpired else {
            try Self.run(request + ["-x509", "-days", "2", "-out", certificateFile])
            return
        }
        let requestFile = folder.appending(path: "request.pem").path
        try Self.run(request + ["-out", requestFile])
        try Self.run([
            "x509", "-req", "-in", requestFile, "-signkey", keyFile, "-days", "-1", "-copy_extensions", "copy",
            "-out", certificateFile,
        ])
    }

    private static func run(_ arguments: [String]) throws {
        let openssl = try CommandRun("openssl", arguments)
        guard openssl.status == 0 else { throw NotMade(output: openssl.output) }
    }
}
