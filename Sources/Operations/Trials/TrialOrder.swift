import Console
import Nostr
import Notifications
import RouterConfiguration

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
