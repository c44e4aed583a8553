import CarillonABI
import HTTPLanes

extension HostDoor {
    /// `present` of the service `carillon.client-certificate/1`.
    func present(
        _ certificates: carillon_str,
        _ key: carillon_str,
        on connection: carillon_str,
        _ room: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        do throws(CertificateFlaw) {
            let (certificate, word) = try ClientCertificate.reading(certificates, key, on: connection)
            guard present(certificate, on: word) else { throw .tooMany }
            return .CARILLON_OK
        } catch {
            ErrorRoom.write(error.text, to: room)
            return .CARILLON_INVALID
        }
    }
}
