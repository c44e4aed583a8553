import Foundation
import NIOSSL

/// A key and a self-signed certificate for localhost, made by the openssl command and shared by the tests.
struct TestCertificate {
    let certificateFile: String
    let server: NIOSSLContext

    static let shared = Result { try TestCertificate() }

    private init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("relays-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let keyFile = folder.appendingPathComponent("key.pem").path
        certificateFile = folder.appendingPathComponent("cert.pem").path
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        openssl.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", keyFile, "-out", certificateFile,
        ]
        openssl.standardError = FileHandle.nullDevice
        // Not waitUntilExit, whose run loop may miss the end of the child.
        let ended = DispatchSemaphore(value: 0)
        openssl.terminationHandler = { _ in ended.signal() }
        try openssl.run()
        ended.wait()
        guard openssl.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
        server = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMFile(certificateFile).map { .certificate($0) },
                privateKey: .privateKey(NIOSSLPrivateKey(file: keyFile, format: .pem))
            )
        )
    }
}
