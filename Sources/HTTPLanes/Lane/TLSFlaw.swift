import Glibc
import NIOCore
import NIOSSL

/// What an error in a channel says of TLS.
struct TLSFlaw {
    /// Nil: the error is not TLS's.
    let reason: HTTPFailure.Reason?

    init(_ error: any Error, in context: ChannelHandlerContext) {
        switch error {
        case let error as NIOSSLExtraError:
            reason = error == .failedToValidateHostname ? .tlsName : .tls
        // BoringSSL names no more than this; the certificate is there to be looked at.
        case NIOSSLError.handshakeFailed(let cause) where "\(cause)".contains("CERTIFICATE_VERIFY_FAILED"):
            let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            reason = handler?.peerCertificate?.isValid(at: time(nil)) == false ? .tlsExpired : .tlsUntrusted
        default:
            reason = error is NIOSSLError || error is BoringSSLError ? .tls : nil
        }
    }
}

extension NIOSSLCertificate {
    fileprivate func isValid(at time: time_t) -> Bool { notValidBefore <= time && time <= notValidAfter }
}
