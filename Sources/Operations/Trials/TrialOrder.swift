import Console
import Core
import Foundation
import Nostr
import Push
import RouterConfiguration
import Rules

/// How to try rules, as a person typed it.
package struct TrialOrder: Sendable {
    /// Whose rules, plugins and blocks to use; nil: the built-in rules, and blocks with throw-away keys.
    package var configuration: Configuration?
    /// Rules files to try in place of the configuration's.
    package var rulesFiles: [String] = []
    /// The text of rules to try in place of all of these; they may name no files.
    package var rulesText: String?
    /// Whether the configuration's blocks are left out, and with them everything that is secret.
    package var isWithoutBlocks = false
    /// Where plugins are, in place of the configuration's folders; absolute paths.
    package var pluginFolders: [String] = []
    /// None: those of the configuration's app, or else all that plugins serve.
    package var platforms: [String] = []
    package var app = "default"
    /// What the device asked for.
    package var mode = Mode.alert.name
    /// The device's language; nil: it named none.
    package var language: String?
    /// The device's token or endpoint; nil: one that is made up.
    package var token: String?
    /// Further fields of its registration.
    package var fields: [String: String] = [:]
    /// The recipient, in hex or npub; nil: the fixture's recipient, or the only one that the event names.
    package var recipient: String?
    /// Nil: what a fixture says, or what stands in for a name.
    package var authorName: String?
    /// Whether the recipient follows the author.
    package var isAuthorFollowed = false

    package init() {}

    func readMode() throws(TrialFailure) -> Mode {
        guard let mode = Mode(name: mode) else {
            let names = Mode.allCases.map(\.name).joined(separator: ", ")
            throw TrialFailure(description: "--mode: '\(self.mode)' is none of \(names)")
        }
        return mode
    }

    func readLanguage() throws(TrialFailure) -> LanguageTag? {
        guard let language else { return nil }
        guard let tag = LanguageTag(language) else {
            throw TrialFailure(description: "--language: expected a language, as in de, pt-BR or zh-Hant")
        }
        return tag
    }

    func readRecipient() throws(TrialFailure) -> PublicKey? {
        guard let recipient else { return nil }
        guard let key = PublicKey(hex: recipient) ?? NIP19.publicKey(npub: recipient) else {
            throw TrialFailure(description: "--recipient: expected 64 lowercase hex digits or npub1…")
        }
        return key
    }
}

/// Why something cannot be tried, as a sentence for the person who asked.
package struct TrialFailure: Error, CustomStringConvertible {
    package let description: String
    /// The same for programs; nil: only the words say it.
    var says: Statement?

    init(description: String, says: Statement? = nil) {
        self.description = description
        self.says = says
    }
}

/// What rules are tried on: an event of the person's own, or a fixture.
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

    /// An event that nothing more is known about.
    init(_ event: Event, for recipient: PublicKey) {
        name = event.id.hex
        self.event = event
        count = 1
        self.recipient = recipient
        authorName = nil
        referenced = nil
    }

    /// An event as JSON, whose id, sig, pubkey, created_at, tags and content may be missing.
    ///
    /// Throws ``TrialFailure`` for what is none.
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
            throw TrialFailure(description: "--event: expected one JSON object")
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
            throw TrialFailure(description: "--event: \(error)")
        }
    }
}

extension TrialOrder {
    /// A request to try rules: how, and on which event. Whatever is secret in the configuration is left out. Throws an
    /// ``APIProblem``.
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
                throw APIProblem(
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
            } catch let failure as TrialFailure {
                throw APIProblem(failure)
            }
        default: throw APIProblem(400, "expected either fixture or event")
        }
    }
}

extension APIProblem {
    /// Commands have options where the API has members.
    init(_ failure: TrialFailure) {
        let words = failure.description.replacing("--", with: "")
        if let says = failure.says {
            self.init(400, Sentence(says.code, says.values, words))
        } else {
            self.init(400, words)
        }
    }
}
