import Glibc
import NIOSSL

/// A file with root certificates in PEM.
package enum RootCertificates {
    /// What is wrong with the file, in words for its owner; nil when it holds certificates.
    package static func flaw(ofFile name: String) -> String? {
        guard access(name, R_OK) == 0 else { return "cannot read \(name)" }
        let certificates = (try? NIOSSLCertificate.fromPEMFile(name)) ?? []
        return certificates.isEmpty ? "expected certificates in PEM, which \(name) does not hold" : nil
    }
}
