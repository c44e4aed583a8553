import CarillonABI
import HTTPLanes

extension HostDoor {
    private static var certificatesLimit: Int { 256 << 10 }
    private static var keyLimit: Int { 64 << 10 }

    /// `present` of the service `carillon.client-certificate/1`.
    func present(
        _ certificates: carillon_str,
        _ key: carillon_str,
        on connection: carillon_str,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let word = ConnectionWords.word(connection) else {
            return refuse("connection: expected a word of 1 to 128 printable bytes", error)
        }
        guard let certificates = PluginText.string(certificates, limit: Self.certificatesLimit) else {
            return refuse(ClientCertificate.Mistake.certificates.rawValue, error)
        }
        guard let key = PluginText.string(key, limit: Self.keyLimit) else {
            return refuse(ClientCertificate.Mistake.key.rawValue, error)
        }
        do throws(ClientCertificate.Mistake) {
            let certificate = try ClientCertificate(certificates: certificates, key: key)
            guard present(certificate, on: word) else {
                return refuse("connection: more than \(ConnectionWords.certificatesLimit) have a certificate", error)
            }
            return .CARILLON_OK
        } catch let mistake {
            return refuse(mistake.rawValue, error)
        }
    }

    private func refuse(_ text: String, _ error: UnsafeMutablePointer<carillon_error>?) -> carillon_status {
        ErrorRoom.write(text, to: error)
        return .CARILLON_INVALID
    }
}
