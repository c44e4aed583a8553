/// A client certificate that a transport asked the host to present, copied.
package struct PresentedCertificate: Sendable, Hashable {
    /// The word of the connections that present it.
    package let connection: String
    /// PEM, the own one first.
    package let certificates: String
    /// PEM.
    package let key: String
}
