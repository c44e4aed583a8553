import CommandTestSupport
import NIOSSL

extension TestCertificate {
    /// What a server needs to present it.
    var server: NIOSSLContext {
        get throws {
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMFile(certificateFile).map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(file: keyFile, format: .pem))
                )
            )
        }
    }
}
