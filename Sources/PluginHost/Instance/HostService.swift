import CarillonABI

/// Services that plugins ask for by name.
enum HostService {
    /// Unchecked: the struct never changes once it is here.
    private struct Table: @unchecked Sendable {
        let clientCertificates: UnsafePointer<carillon_client_certificates>
    }

    private static let tables: Table = {
        let certificates = UnsafeMutablePointer<carillon_client_certificates>.allocate(capacity: 1)
        certificates.initialize(
            to: carillon_client_certificates(
                struct_size: UInt32(MemoryLayout<carillon_client_certificates>.size),
                reserved: 0,
                present: hostPresent
            )
        )
        return Table(clientCertificates: UnsafePointer(certificates))
    }()

    /// The struct of a service, valid for ever; nil for one that is not on offer.
    static func table(_ name: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer? {
        isClientCertificates(name) ? UnsafeRawPointer(tables.clientCertificates) : nil
    }

    static func isClientCertificates(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        name.elementsEqual("carillon.client-certificate/1".utf8)
    }
}
