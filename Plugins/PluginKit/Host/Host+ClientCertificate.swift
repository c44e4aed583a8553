internal import CarillonABI

extension Host {
    private static let clientCertificates: StaticString = "carillon.client-certificate/1"

    /// Makes new connections of the word `connection` (see ``HTTPRequest/connection``) authenticate themselves by TLS.
    ///
    /// To be called from the transport's initialiser, or before the first request with that word.
    ///
    /// - Parameters:
    ///   - certificates: PEM, the own one first.
    ///   - key: Its private key, PEM, not encrypted.
    ///   - connection: 1 to 128 printable bytes.
    /// - Throws: What is wrong with either, never with a part of the key; and when the router has no such service.
    public func present(certificates: String, key: String, onConnection connection: String) throws(PluginError) {
        guard let present = presentFunction else {
            throw PluginError("the router offers no \(Self.clientCertificates): a router of ABI 1.2 or newer is needed")
        }
        var (certificates, key, connection) = (certificates, key, connection)
        let (status, said) = ErrorRoom.lend { error in
            certificates.withUTF8 { certificates in
                key.withUTF8 { key in
                    connection.withUTF8 { connection in
                        present(
                            pointer,
                            carillon_str(UnsafeRawBufferPointer(connection)),
                            carillon_str(UnsafeRawBufferPointer(certificates)),
                            carillon_str(UnsafeRawBufferPointer(key)),
                            error
                        )
                    }
                }
            }
        }
        guard status == .CARILLON_OK else {
            throw PluginError(said.isEmpty ? "the router does not take the client certificate" : said)
        }
    }

    private typealias Present =
        @convention(c) (
            UnsafePointer<carillon_host>?, carillon_str, carillon_str, carillon_str,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status

    private var presentFunction: Present? {
        guard let query = carillon_host.adopt(pointer).query,
            let service = query(pointer, carillon_str(Self.clientCertificates))
        else { return nil }
        return carillon_client_certificates.adopt(
            service.assumingMemoryBound(to: carillon_client_certificates.self)
        ).present
    }
}
