import HTTPLanes

/// What is wrong with a client certificate that a plugin presents; the text holds nothing of it.
enum CertificateFlaw: Error {
    case word
    case tooMany
    case certificate(ClientCertificate.Mistake)

    var text: String {
        switch self {
        case .word: "connection: expected a word of 1 to 128 printable bytes"
        case .tooMany: "connection: at most \(ConnectionWords.certificatesLimit) words may have a certificate"
        case .certificate(let mistake): mistake.rawValue
        }
    }
}
