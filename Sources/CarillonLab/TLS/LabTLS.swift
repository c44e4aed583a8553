import Foundation
import NIOSSL

/// The certificate the lab's servers show, what clients should trust, and what push certificates are signed with.
struct LabTLS {
    let authorityFile: String
    let authority: CertificateAuthority
    private let chain: [NIOSSLCertificateSource]
    private let key: NIOSSLPrivateKeySource

    /// From the files given, or from an authority made now whose certificate goes to `ca.pem`.
    init(_ configuration: LabConfiguration, folder: LabFolder) throws {
        let now = Self.now
        authority = try CertificateAuthority(now: now)
        if let files = configuration.certificate {
            authorityFile = files.authority
            chain = try NIOSSLCertificate.fromPEMFile(files.chain).map { .certificate($0) }
            key = .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem))
        } else {
            let server = try authority.issueServer(named: configuration.names, now: now)
            authorityFile = try folder.write(authority.certificatePEM, to: "ca.pem")
            chain = try NIOSSLCertificate.fromPEMBytes(Array(server.certificatePEM.utf8)).map { .certificate($0) }
            key = .privateKey(try NIOSSLPrivateKey(bytes: Array(server.keyPEM.utf8), format: .pem))
        }
    }

    /// Clients look at the machine's clock, whatever time the lab believes it is. In seconds since 1970.
    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// `protocols` are ALPN names.
    func context(protocols: [String], asksForCertificates: Bool = false) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: key)
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        if asksForCertificates {
            configuration.certificateVerification = .optionalVerification
            configuration.trustRoots = .certificates([])
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
