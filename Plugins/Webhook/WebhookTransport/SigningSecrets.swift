import PluginKit
import StandardWebhooks
import Units

/// The secrets that sign a user's notifications.
struct SigningSecrets: Sendable, Hashable {
    private let secrets: WebhookSecrets

    var isEmpty: Bool { secrets.isEmpty }

    /// Throws for a text that is no secret; `name` is where the secrets stand, for the error.
    init(_ secrets: [String], _ name: StaticString) throws(PluginError) {
        do throws(WebhookSecrets.Mistake) {
            self.secrets = try WebhookSecrets(secrets)
        } catch {
            throw PluginError("\(name): \(error.description)")
        }
    }

    /// The secrets of a registration, with blanks between them; none without the field.
    init(_ registration: borrowing Registration) throws(PluginError) {
        let secrets = registration.field("secret")?.string.split(separator: " ") ?? []
        try self.init(secrets.map(String.init), "secret")
    }

    /// The value of `webhook-signature`: a signature of each secret.
    func signatures(id: String, sentAt: Timestamp, body: [UInt8]) -> String {
        secrets.signatures(id: id, sentAt: sentAt, body: body)
    }
}
