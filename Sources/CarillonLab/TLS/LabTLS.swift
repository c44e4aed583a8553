import Foundation
import NIOSSL

/// The certificate the lab's servers show, and what clients should trust.
struct LabTLS {
    let authorityFile: String
    private let chain: [NIOSSLCertificateSource]
    private let key: NIOSSLPrivateKeySource

    /// From the files given, or from an authority made now whose certificate goes to `ca.pem`.
    init(_ configuration: LabConfiguration, folder: LabFolder) throws {
        if let files = configuration.certificate {
            authorityFile = files.authority
            chain = try NIOSSLCertificate.fromPEMFile(files.chain).map { .certificate($0) }
            key = .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem))
        } else {
            // Clients look at the machine's clock, whatever time the lab believes it is.
            let authority = try CertificateAuthority(now: Int64(Date().timeIntervalSince1970))
            authorityFile = try folder.write(authority.certificatePEM, to: "ca.pem")
            chain = try NIOSSLCertificate.fromPEMBytes(Array(authority.serverCertificatePEM.utf8)).map {
                .certificate($0)
            }
            key = .privateKey(try NIOSSLPrivateKey(bytes: Array(authority.serverKeyPEM.utf8), format: .pem))
        }
    }

    /// `protocols` are ALPN names.
    func context(protocols: [String]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: key)
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }
}
