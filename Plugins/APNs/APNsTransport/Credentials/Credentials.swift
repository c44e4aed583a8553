import Cipher
import PluginKit
import Synchronization

/// Who sends: by provider tokens that one key signs, or by a certificate that connections present.
final class Credentials: Sendable {
    private let certificate: Proof?
    private let token: Mutex<ProviderToken?>
    /// Until when the certificate is valid, in milliseconds since 1970; there is no end where there is none.
    private let expiresAt: Int64
    private let reports: SeldomLog<Bool>

    /// Both in milliseconds.
    private static let noticeBeforeExpiry: Int64 = 7 * 86_400_000
    private static let quietAfterNotice: Int64 = 86_400_000

    /// Has connections present the certificate, where it goes by one. Throws when the host cannot.
    init(_ authentication: Authentication, bundleID: String, host: Host) throws(PluginError) {
        reports = SeldomLog(host, quiet: Credentials.quietAfterNotice)
        switch authentication {
        case .token(let teamID, let keyID, let key):
            certificate = nil
            token = Mutex(ProviderToken(teamID: teamID, keyID: keyID, bundleID: bundleID, key: key))
            expiresAt = .max
        case .certificate(let identity):
            let word = ConnectionWord.certificate(fingerprint: identity.certificate.fingerprint, bundleID: bundleID)
            certificate = Proof(authorization: nil, connection: word, generation: 0)
            token = Mutex(nil)
            expiresAt = identity.certificate.notAfter * 1000
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

    /// What ends when, as JSON (see `command` in plugin.h). Provider tokens are renewed by themselves and do not count.
    var status: String {
        guard expiresAt < .max else { return #"{"expires":[]}"# }
        return #"{"expires":[{"what":"client-certificate","at":\#(expiresAt / 1000)}]}"#
    }

    /// What to send with at `now`, in milliseconds since 1970. Nil only when signing fails.
    func proof(now: Int64) -> Proof? {
        if let certificate { return certificate }
        return token.withLock { try? $0?.proof(now: now) }
    }

    /// Whether the certificate is over at `now`, in milliseconds since 1970. Says so, and some time before that it will be: a
    /// router runs for longer than anybody remembers what it said when it started.
    func hasExpired(now: Int64) -> Bool {
        guard now >= expiresAt - Credentials.noticeBeforeExpiry else { return false }
        let hasExpired = now >= expiresAt
        let date = CalendarDate.text(expiresAt / 1000)
        reports.log(
            hasExpired,
            hasExpired ? .error : .warning,
            now: now,
            hasExpired
                ? "the client certificate for APNs expired on \(date): nothing can be sent until there is a new one"
                : "the client certificate for APNs expires on \(date): renew it before"
        )
        return hasExpired
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
