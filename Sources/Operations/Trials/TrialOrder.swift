import Console
import Core
import Foundation
import Nostr
import Push
import RouterConfiguration
import Rules

/// The options of a rules trial, as entered.
package struct TrialOrder: Sendable {
    /// The source of rules, plugins and blocks. Default: the built-in rules, and blocks with throw-away keys.
    package var configuration: Configuration?
    /// Rules files that replace those of the configuration.
    package var rulesFiles: [String] = []
    /// Rules as text, which replace all rules files. They must not name files.
    package var rulesText: String?
    /// Whether the configuration's blocks are omitted, and with them all secrets.
    package var isWithoutBlocks = false
    /// Absolute paths of plugin directories that replace those of the configuration.
    package var pluginFolders: [String] = []
    /// Default: the platforms of the configuration's app, else all platforms that plugins provide.
    package var platforms: [String] = []
    package var app = "default"
    /// The mode that the device requested.
    package var mode = Mode.alert.name
    /// The device's language; `nil` if it requested none.
    package var language: String?
    /// The device's token or endpoint. Default: a sample.
    package var token: String?
    /// Additional fields of its registration.
    package var fields: [String: String] = [:]
    /// The recipient in hex or npub. Default: the fixture's recipient, or the only one that the event names.
    package var recipient: String?
    /// Default: the fixture's name, or a placeholder.
    package var authorName: String?
    /// Whether the recipient follows the author.
    package var isAuthorFollowed = false

    package init() {}

    func readMode() throws(TrialError) -> Mode {
        guard let mode = Mode(name: mode) else {
            let names = Mode.allCases.map(\.name).joined(separator: ", ")
            throw TrialError(description: "--mode: '\(self.mode)' is none of \(names)")
        }
        return mode
    }

    func readLanguage() throws(TrialError) -> LanguageTag? {
        guard let language else { return nil }
        guard let tag = LanguageTag(language) else {
            throw TrialError(description: "--language: expected a language, as in de, pt-BR or zh-Hant")
        }
        return tag
    }

    func readRecipient() throws(TrialError) -> PublicKey? {
        guard let recipient else { return nil }
        guard let key = PublicKey(hex: recipient) ?? NIP19.publicKey(npub: recipient) else {
            throw TrialError(description: "--recipient: expected 64 lowercase hex digits or npub1…")
        }
        return key
    }
}

/// Why a trial is not possible, in a sentence for the operator.
package struct TrialError: Error, CustomStringConvertible {
    package let description: String
    /// The same with code and values; `nil` if only the message exists.
    var says: Statement?

    init(description: String, says: Statement? = nil) {
        self.description = description
        self.says = says
    }
}

/// The event of a rules trial: the operator's own, or a fixture.
package struct TrialSubject: Sendable {
    /// The file's or the fixture's name.
    package let name: String
    let event: Event
    let count: UInt32
    let recipient: PublicKey?
    let authorName: String?
    let referenced: ReferencedEvent?

    package init(_ fixture: Fixture) {
        name = fixture.name
        event = fixture.event
        count = fixture.count
        recipient = fixture.recipient
        authorName = fixture.authorName
        referenced = fixture.referenced
    }

    /// Uses an event without additional data.
    init(_ event: Event, for recipient: PublicKey) {
        name = event.id.hex
        self.event = event
        count = 1
        self.recipient = recipient
        authorName = nil
        referenced = nil
    }

    /// Parses an event from JSON. Its id, sig, pubkey, created_at, tags and content may be missing.
    ///
    /// Throws ``TrialError`` for an invalid event.
    package init(event json: [UInt8], name: String) throws {
        self.name = name
        event = try Self.event(json)
        count = 1
        let named = event.mentionedKeys
        recipient = named.count == 1 ? named.first : nil
        authorName = nil
        referenced = nil
    }

    private static func event(_ json: [UInt8]) throws -> Event {
        guard var object = (try? JSONSerialization.jsonObject(with: Data(json))) as? [String: Any] else {
            throw TrialError(description: "--event: expected one JSON object")
        }
        let defaults: [String: Any] = [
            "id": String(repeating: "0", count: 64), "sig": String(repeating: "0", count: 128),
            "pubkey": String(repeating: "0", count: 64), "created_at": 0, "tags": [[String]](), "content": "",
        ]
        object.merge(defaults) { given, _ in given }
        let complete = try JSONSerialization.data(withJSONObject: object)
        do {
            return try Event(json: Array(complete))
        } catch {
            throw TrialError(description: "--event: \(error)")
        }
    }
}

extension TrialOrder {
    /// Parses a request to try rules: its options and the event. Secrets in the configuration are not used. Throws an
    /// ``APIError``.
    static func read(_ call: APICall) throws -> (TrialOrder, TrialSubject) {
        let object = try RequestObject(
            call,
            members: [
                "rules", "fixture", "event", "recipient", "platforms", "mode", "language", "author", "followed",
            ]
        )
        var order = TrialOrder()
        order.isWithoutBlocks = true
        order.rulesText = try object.text("rules")
        order.recipient = try object.text("recipient")
        order.platforms = try object.texts("platforms") ?? []
        order.mode = try object.text("mode") ?? order.mode
        order.language = try object.text("language")
        order.authorName = try object.text("author")
        order.isAuthorFollowed = try object.flag("followed") ?? false
        switch (try object.text("fixture"), object.has("event")) {
        case (let name?, false):
            guard let fixture = try Fixture.all().first(where: { $0.name == name }) else {
                throw APIError(
                    400,
                    Sentence(
                        "unknown-fixture",
                        ["fixture": String(name.prefix(40))],
                        "fixture: there is no such fixture; carillon rules fixtures lists them"
                    )
                )
            }
            return (order, TrialSubject(fixture))
        case (nil, true):
            let event = try object.json("event")
            do {
                return (order, try TrialSubject(event: event, name: "event"))
            } catch let failure as TrialError {
                throw APIError(failure)
            }
        default: throw APIError(400, "expected either fixture or event")
        }
    }
}

extension APIError {
    /// Replaces the names of command options by those of API members.
    init(_ failure: TrialError) {
        let words = failure.description.replacing("--", with: "")
        if let says = failure.says {
            self.init(400, Sentence(says.code, says.values, words))
        } else {
            self.init(400, words)
        }
    }
}
