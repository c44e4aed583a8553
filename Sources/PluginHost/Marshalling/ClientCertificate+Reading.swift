import CarillonABI
import HTTPLanes

extension ClientCertificate {
    private static var certificatesLimit: Int { 256 << 10 }
    private static var keyLimit: Int { 64 << 10 }

    /// What a plugin presents, and where the word of its connections is.
    package static func reading(
        _ certificates: carillon_str,
        _ key: carillon_str,
        on connection: carillon_str
    ) throws(CertificateError) -> (certificate: ClientCertificate, word: UnsafeBufferPointer<UInt8>) {
        guard let word = ConnectionWords.word(connection) else { throw .word }
        guard let certificates = PluginText.string(certificates, limit: certificatesLimit) else {
            throw .certificate(.certificates)
        }
        guard let key = PluginText.string(key, limit: keyLimit) else { throw .certificate(.key) }
        do throws(Mistake) {
            return (try ClientCertificate(certificates: certificates, key: key), word)
        } catch {
            throw .certificate(error)
        }
    }
}

/// What is wrong with a client certificate that a plugin presents; the text holds nothing of it.
package enum CertificateError: Error {
    case word
    case tooMany
    case certificate(ClientCertificate.Mistake)

    package var text: String {
        switch self {
        case .word: "connection: expected a word of 1 to 128 printable bytes"
        case .tooMany: "connection: at most \(ConnectionWords.certificatesLimit) words may have a certificate"
        case .certificate(let mistake): mistake.rawValue
        }
    }
}
