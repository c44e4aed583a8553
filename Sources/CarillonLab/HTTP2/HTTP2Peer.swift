import NIOConcurrencyHelpers

/// The other end of a connection.
final class HTTP2Peer: Sendable {
    /// Its number, counting from 1.
    let connection: Int
    private let shown = NIOLockedValueBox<ProviderCertificate?>(nil)

    init(connection: Int) {
        self.connection = connection
    }

    /// The certificate it showed while TLS came up.
    var certificate: ProviderCertificate? { shown.withLockedValue { $0 } }

    func show(_ certificate: ProviderCertificate?) {
        shown.withLockedValue { $0 = certificate }
    }
}
