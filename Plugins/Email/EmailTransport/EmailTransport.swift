import Core
public import PluginKit

/// Sends e-mail to users through the operator's mail server (RFC 5321).
///
/// A wake-up becomes a sentence from the configuration. Sealed notifications are unsupported: no mail program could
/// decrypt them.
public final class EmailTransport: PluginTransport {
    public static let platform: StaticString = "email"
    public static let description: StaticString? = EmailDescription.json

    private let host: Host
    private let server: MailServer
    private let sender: MessageSender
    private let domains: Set<String>
    private let mails: MailSender
    private let now: @Sendable () -> Timestamp

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        let configuration = try EmailConfiguration(configuration)
        self.host = host
        server = configuration.server
        sender = configuration.sender
        domains = configuration.domains
        mails = MailSender(configuration, host: host, now: now)
        self.now = now
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        _ = try recipient(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        let address: EmailAddress
        do throws(PluginError) {
            address = try recipient(registration)
        } catch {
            return .invalid
        }
        switch notification.mode {
        case .sealed, nil: return .unsupported
        case .wake, .nudge, .alert: break
        }
        do throws(ReadableMessageError) {
            return mails.send(try OutgoingMail(notification, to: address, from: sender, now: now()), ticket)
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    public func cancel(_ number: UInt64) {
        mails.cancel(number)
    }

    /// Runs `check`, which logs in to the mail server.
    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        switch words {
        case ["check"]: MailLogin.check(server, host: host, answer: completion)
        case ["help"]: completion(.helpOnCheck)
        default: return .unsupported
        }
        return .accepted
    }

    private func recipient(_ registration: borrowing Registration) throws(PluginError) -> EmailAddress {
        guard let address = EmailAddress(registration.token.string) else {
            throw PluginError(
                "token: expected an e-mail address such as name@example.com, at most \(EmailAddress.limit) bytes"
            )
        }
        guard domains.isEmpty || domains.contains(address.domain.lowercased()) else {
            throw PluginError("token: expected an address at \(domains.sorted().joined(separator: ", "))")
        }
        return address
    }
}
