import Glibc
import NIOSSL

/// A file with root certificates in PEM.
package enum RootCertificates {
    /// What is wrong with the file, in words for its owner; nil when it holds certificates.
    package static func flaw(ofFile name: String) -> String? {
        // What counts is what we may do now, which in commands of root's is more than their user may.
        guard faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) == 0 else { return "cannot read \(name)" }
        let certificates = (try? NIOSSLCertificate.fromPEMFile(name)) ?? []
        return certificates.isEmpty ? "expected certificates in PEM, which \(name) does not hold" : nil
    }
}
