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
            package var url: String
            /// The path of a file with one secret per line.
            package var secretFile: String
            package var events: Set<OperationalEventKind>
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

        package static let maxWebhooks = 10
        package static let failingDaysRange = 1...60
        package static let disableDaysRange = 0...365
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

extension ConfigurationReader {
    func operationalEvents(_ value: YAMLValue) -> Configuration.OperationalEvents? {
        guard let mapping = value.mapping(keys: ["webhooks", "push", "failing_days", "disable_days"]) else {
            return nil
        }
        var settings = Configuration.OperationalEvents()
        let webhooks = mapping["webhooks"]?.list() ?? []
        if webhooks.count > Configuration.OperationalEvents.maxWebhooks {
            mapping["webhooks"]?.mistake("expected up to \(Configuration.OperationalEvents.maxWebhooks) endpoints")
        }
        settings.webhooks = webhooks.compactMap(webhook)
        if let push = mapping["push"]?.mapping(keys: ["accounts", "events"]) {
            settings.accounts = (push.require("accounts", "the accounts whose devices get pushes")?.oneOrMore() ?? [])
                .compactMap {
                    value in
                    guard let text = value.string() else { return nil }
                    let key = PublicKey(hex: text) ?? NIP19.publicKey(npub: text)
                    if key == nil { value.mistake("expected 64 lowercase hex digits or npub1…") }
                    return key
                }
            if let events = push["events"] { settings.accountEvents = kinds(events) }
        }
        if let days = mapping["failing_days"]?.integer(of: .days, in: Configuration.OperationalEvents.failingDaysRange)
        {
            settings.failingDays = days
        }
        if let days = mapping["disable_days"]?.integer(of: .days, in: Configuration.OperationalEvents.disableDaysRange)
        {
            settings.disableDays = days
        }
        return settings
    }

    private func webhook(_ value: YAMLValue) -> Configuration.OperationalEvents.Webhook? {
        guard let mapping = value.mapping(keys: ["url", "secret_file", "events"]),
            let place = mapping.require("url", "the endpoint, such as https://ops.example.com/carillon"),
            let url = place.string(),
            let file = mapping.require("secret_file", "a file with the signing secret, whsec_…"),
            let path = file.string().map(self.path)
        else { return nil }
        if !["https://", "http://"].contains(where: { url.hasPrefix($0) && url.count > $0.count })
            || !url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        {
            place.mistake("expected a URL, such as https://ops.example.com/carillon")
        }
        do throws(WebhookSecrets.FormatError) {
            if !isWithoutCredentials { _ = try WebhookSecrets(file: path) }
        } catch {
            file.mistake(error.description)
        }
        let events = mapping["events"].map(kinds) ?? Set(OperationalEventKind.allCases)
        return Configuration.OperationalEvents.Webhook(url: url, secretFile: path, events: events)
    }

    private func kinds(_ value: YAMLValue) -> Set<OperationalEventKind> {
        let names = OperationalEventKind.allCases.map(\.rawValue)
        return Set(value.oneOrMore().compactMap { $0.choice(names).flatMap(OperationalEventKind.init) })
    }
}

/// The schema of the block `operational_events`.
enum OperationalEventsSchema {
    static var schema: JSONValue {
        let kinds: JSONValue = ["type": "string", "enum": .texts(OperationalEventKind.allCases.map(\.rawValue))]
        func events(_ description: String) -> JSONValue {
            ["description": .string(description), "anyOf": [kinds, ["type": "array", "items": kinds]]]
        }
        return SchemaParts.mapping(
            "The recipients of operational events: a paused queue, an expiring credential, and so on.",
            [
                (
                    "webhooks",
                    [
                        "description": "Endpoints that get messages signed by Standard Webhooks.",
                        "type": "array",
                        "items": SchemaParts.mapping(
                            required: ["url", "secret_file"],
                            [
                                ("url", SchemaParts.text("The endpoint, https://….", pattern: "^https?://")),
                                (
                                    "secret_file",
                                    SchemaParts.text("A file with the signing secrets, whsec_…; one per line.")
                                ),
                                ("events", events("The events for this endpoint. Default: all.")),
                            ]
                        ),
                    ]
                ),
                (
                    "push",
                    SchemaParts.mapping(
                        "Accounts whose devices get pushes.",
                        required: ["accounts"],
                        [
                            ("accounts", SchemaParts.oneOrMore("Keys, as npub1… or 64 hex digits.")),
                            (
                                "events",
                                events("The events for these accounts. Default: all except those about single devices.")
                            ),
                        ]
                    )
                ),
                (
                    "failing_days",
                    SchemaParts.time(
                        "The days of failures after which a device counts as failing. Default: 5.",
                        Configuration.OperationalEvents.failingDaysRange
                    )
                ),
                (
                    "disable_days",
                    SchemaParts.time(
                        "The days of failures after which it is disabled until its app registers it again; 0: never. Default: 30.",
                        Configuration.OperationalEvents.disableDaysRange
                    )
                ),
            ]
        )
    }
}
