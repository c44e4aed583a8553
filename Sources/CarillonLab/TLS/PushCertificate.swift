/// What an operator sends to APNs with who has a certificate and no key.
public struct PushCertificate: Sendable, Hashable {
    /// One certificate, without that of its issuer: no lab takes it but the one that issued it. Its topics and
    /// environments stand in Apple's extensions.
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
