import Cipher
import PluginKit
import Synchronization

/// Who sends: by provider tokens that one key signs, or by a certificate that connections present.
final class Credentials: Sendable {
    private let certificate: Proof?
    private let token: Mutex<ProviderToken?>

    /// Has connections present the certificate, where it goes by one. Throws when the host cannot.
    init(_ authentication: Authentication, bundleID: String, host: Host) throws(PluginError) {
        switch authentication {
        case .token(let teamID, let keyID, let key):
            certificate = nil
            token = Mutex(ProviderToken(teamID: teamID, keyID: keyID, bundleID: bundleID, key: key))
        case .certificate(let identity):
            let word = ConnectionWord.certificate(fingerprint: identity.certificate.fingerprint, bundleID: bundleID)
            certificate = Proof(authorization: nil, connection: word, generation: 0)
            token = Mutex(nil)
            do throws(PluginError) {
                try host.present(
                    certificates: identity.certificatesPEM,
                    key: identity.keyPEM,
                    onConnection: word
                )
            } catch {
                throw PluginError("certificate_file: \(error.description)")
            }
        }
    }

    /// What to send with at `now`, in milliseconds since 1970. Nil only when signing fails.
    func proof(now: Int64) -> Proof? {
        if let certificate { return certificate }
        return token.withLock { try? $0?.proof(now: now) }
    }

    /// Apple called the provider token of `proof` expired. Nil where there is none.
    func refuse(_ proof: Proof, now: Int64) -> ProviderToken.Recovery? {
        token.withLock { $0?.refuse(generation: proof.generation, now: now) }
    }

    /// From now on others than the connections of `proof` are used.
    func leaveConnections(of proof: Proof) {
        token.withLock { $0?.leaveConnections(named: proof.connection) }
    }
}
