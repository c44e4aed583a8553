/// What an operator sends to APNs with who has a certificate and no key.
public struct PushCertificate: Sendable, Hashable {
    public var certificatePEM: String
    /// PKCS#8.
    public var keyPEM: String
    /// Both, as PKCS#12.
    public var pkcs12: [UInt8]
    /// Of `pkcs12`.
    public var password: String
}

extension PushCertificate: CustomStringConvertible {
    /// Without the key.
    public var description: String { "PushCertificate" }
}
