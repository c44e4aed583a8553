import Cipher
import Foundation
import JSON
import Nostr
import Rules
import Storage

/// The kinds of events about the router itself that its operator can subscribe to.
package enum OperationalEventKind: String, Sendable, CaseIterable, Codable {
    /// A push service reported that a device is gone; its registration was removed.
    case deviceGone = "device.gone"
    /// Pushes to a device have failed for several days.
    case deviceFailing = "device.failing"
    /// A device was disabled after more failures.
    case deviceDisabled = "device.disabled"
    /// A queue is paused, because the push service asked for a delay or refuses the credentials.
    case queuePaused = "queue.paused"
    case queueResumed = "queue.resumed"
    /// A credential of a push service expires soon, or has expired.
    case credentialExpiring = "credential-expiring"
    /// A plugin process ended unexpectedly.
    case pluginCrashed = "plugin.crashed"
    /// A relay requires authentication.
    case relayAuthRequired = "relay.auth_required"

    /// The kinds about the router, not about one device: the default for accounts.
    package static let ofRouter = Set(allCases).subtracting([.deviceGone, .deviceFailing, .deviceDisabled])
}

extension Configuration {
    /// The recipients of operational events.
    package struct OperationalEvents: Sendable, Equatable {
        /// An endpoint that gets signed messages (Standard Webhooks).
        package struct Webhook: Sendable, Equatable {
            package var url = ""
            /// The path of a file with one secret per line.
            package var secretFile = ""
            package var events = Set(OperationalEventKind.allCases)
        }

        package var webhooks: [Webhook] = []
        /// The accounts whose devices get pushes.
        package var accounts: [PublicKey] = []
        /// The events for those accounts.
        package var accountEvents = OperationalEventKind.ofRouter
        /// The days of failures after which a device counts as failing.
        package var failingDays = 5
        /// The days of failures after which a device is disabled; 0: never.
        package var disableDays = 30

        package init() {}

        private static let maxWebhooks = 10
    }
}

extension WebhookSecrets {
    /// Reads a file with one secret per line. Throws a sentence that describes the error.
    package init(file path: String) throws(FormatError) {
        guard let data = FileManager.default.contents(atPath: path), data.count <= 4_096 else {
            throw FormatError(description: "\(path): expected a readable file with one secret per line")
        }
        let lines = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
        do throws(FormatError) {
            try self.init(lines.filter { !$0.isEmpty })
        } catch {
            throw FormatError(description: "\(path): \(error.description)")
        }
        if isEmpty {
            throw FormatError(description: "\(path): expected a secret, such as whsec_$(openssl rand -base64 32)")
        }
    }
}

// MARK: The keys of the file

extension Configuration.OperationalEvents {
    static var block: Block<Self> {
        Block("The recipients of operational events: a paused queue, an expiring credential, and so on.") {
            Key(
                "webhooks",
                schema: { ["type": "array", "items": Webhook.block.schema(Webhook(), $1)] },
                read: { value, settings, reader in
                    let webhooks = value.list() ?? []
                    if webhooks.count > maxWebhooks { value.mistake("expected up to \(maxWebhooks) endpoints") }
                    settings.webhooks = webhooks.compactMap {
                        var webhook = Webhook()
                        return Webhook.block.read($0, into: &webhook, reader) ? webhook : nil
                    }
                    return true
                }
            )
            .about("Endpoints that get messages signed by Standard Webhooks.")
            Key.block(
                "push",
                Block("Accounts whose devices get pushes.") {
                    Key.list("accounts", \.accounts) { value, _ in
                        guard let text = value.string() else { return nil }
                        let key = PublicKey(hex: text) ?? NIP19.publicKey(npub: text)
                        if key == nil { value.mistake("expected 64 lowercase hex digits or npub1…") }
                        return key
                    }.required("the accounts whose devices get pushes").about("Keys, as npub1… or 64 hex digits.")
                    events(\.accountEvents)
                        .about("The events for these accounts. Default: all except those about single devices.")
                }
            )
            Key.integer("failing_days", \.failingDays, of: .days, 1...60)
                .about("The days of failures after which a device counts as failing. Default: {default}.")
            Key.integer("disable_days", \.disableDays, of: .days, 0...365)
                .about(
                    "The days of failures after which it is disabled until its app registers it again; 0: never. Default: {default}."
                )
        }
    }

    fileprivate static func events<Value>(
        _ path: WritableKeyPath<Value, Set<OperationalEventKind>>
    ) -> Key<Value> {
        let kinds: JSONValue = ["type": "string", "enum": .texts(OperationalEventKind.allCases.map(\.rawValue))]
        let schema: JSONValue = ["anyOf": [kinds, ["type": "array", "items": kinds]]]
        return Key("events", path, schema) { value, _ in Set(value.oneOrMore().compactMap { $0.choice() }) }
    }
}

extension Configuration.OperationalEvents.Webhook {
    fileprivate static var block: Block<Self> {
        Block {
            Key.text(
                "url",
                \.url,
                pattern: "^https?://",
                expected: "a URL, such as https://ops.example.com/carillon"
            ) { url in
                ["https://", "http://"].contains { url.hasPrefix($0) && url.count > $0.count }
                    && url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            }
            .required("the endpoint, such as https://ops.example.com/carillon")
            .about("The endpoint, https://….")
            Key("secret_file", \.secretFile, SchemaParts.text()) { value, reader in
                guard let path = value.string().map(reader.path) else { return nil }
                do throws(WebhookSecrets.FormatError) {
                    if !reader.isWithoutCredentials { _ = try WebhookSecrets(file: path) }
                } catch {
                    value.mistake(error.description)
                }
                return path
            }
            .required("a file with the signing secret, whsec_…")
            .about("A file with the signing secrets, whsec_…; one per line.")
            Configuration.OperationalEvents.events(\.events).about("The events for this endpoint. Default: all.")
        }
    }
}
