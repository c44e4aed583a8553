import Core
import HTTPClient
import Logging
import Nostr
import Registry
import Relays
import Storage

extension Configuration {
    /// The accounts that may use this router.
    package struct Access: Sendable, Equatable {
        package var mode = AccessMode.open
        /// The rules of the file. Commands can add more.
        package var rules: [AccessRule] = []
    }

    /// The destination of the log.
    package struct Log: Sendable, Equatable {
        package var format = LogFormat.auto
        /// The log level. Default: the level of the command line.
        package var level: Logger.Level?
    }
}

/// Parses accounts and networks in the configuration and on the command line.
package enum AccessWords {
    package static let users =
        "a key (64 hex digits or npub1…), an address or a network, such as 10.1.2.0/24 or 2001:db8::/48"
    package static let relays = "a relay's URL, a host's name, or *. and the end of one, such as *.example.com"

    /// Returns a key or a network, or nil if `text` is neither.
    package static func user(_ text: String) -> AccessSubject? {
        if let key = PublicKey(hex: text) ?? NIP19.publicKey(npub: text) { return .key(key) }
        return AddressBlock(text).map { .network($0.text) }
    }

    package static func relay(_ text: String) -> AccessSubject? { RelayPattern(text).map { .relay($0.text) } }
}

// MARK: The keys of the file

extension Configuration.Access {
    /// Needs `registration`, whose secrets are required for invitations.
    static var block: Block<Configuration> {
        Block("The accounts that may use this router. The commands users and relays add entries.") {
            Key.choice("mode", \.access.mode)
                .about("The accounts that may register: all, invited ones, or only those in allow. Default: open.")
            rules("allow", isBlock: false, AccessWords.user, AccessWords.users)
                .about("Keys and networks that may register, and exceptions from larger blocked networks.")
            rules("block", isBlock: true, AccessWords.user, AccessWords.users)
                .about("Keys that may not use this router, and networks that may not connect.")
            rules("block_relays", isBlock: true, AccessWords.relay, AccessWords.relays)
                .about("Relays of users that the router never connects to: URLs, hosts, *.example.com.")
        } check: { mapping, configuration, _ in
            if configuration.access.mode == .inviteOnly, configuration.registration.secretFile == nil {
                mapping["mode"]?.mistake("expected registration.secret_file too: without it anyone can register")
            }
        }
    }

    private static func rules(
        _ name: String,
        isBlock: Bool,
        _ subject: @escaping (String) -> AccessSubject?,
        _ expected: String
    ) -> Key<Configuration> {
        Key(name, SchemaParts.oneOrMore) { value, configuration, _ in
            for value in value.oneOrMore() {
                guard let text = value.string() else { continue }
                guard let subject = subject(text) else {
                    value.mistake("expected \(expected)")
                    continue
                }
                configuration.access.rules.append(
                    AccessRule(subject, isBlock: isBlock, madeAt: .epoch, isConfigured: true)
                )
            }
            return true
        }
    }
}

extension Configuration.Log {
    static var block: Block<Self> {
        Block("The settings of the log.") {
            Key.choice("format", \.format)
                .about("auto: journald if standard error is the journal, otherwise text. Default: auto.")
            Key.choice("level", \.level).about("The minimum level; the command line overrides it.")
        }
    }
}
