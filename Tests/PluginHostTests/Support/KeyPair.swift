import CommandTestSupport
import Foundation
import Testing

/// A key with a certificate that signed itself, made by the openssl command.
struct KeyPair {
    let certificate: String
    let key: String

    init(in workshop: Workshop) throws {
        let (keyFile, certificateFile) = (workshop.path("key.pem"), workshop.path("certificate.pem"))
        let result = try CommandRun(
            "openssl",
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
                + ["-subj", "/CN=client", "-keyout", keyFile, "-out", certificateFile]
        )
        try #require(result.status == 0, "\(result.output)")
        key = try String(contentsOfFile: keyFile, encoding: .utf8)
        certificate = try String(contentsOfFile: certificateFile, encoding: .utf8)
    }
}
