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

extension ConfigurationReader {
    func access(_ value: YAMLValue?, invitationsNeed secretFile: String?) -> Configuration.Access {
        var access = Configuration.Access()
        guard let value, let mapping = value.mapping(keys: ["mode", "allow", "block", "block_relays"]) else {
            return access
        }
        if let mode = mapping["mode"] {
            access.mode = mode.choice(AccessMode.allCases.map(\.rawValue)).flatMap { AccessMode(rawValue: $0) } ?? .open
            if access.mode == .inviteOnly, secretFile == nil {
                mode.mistake("expected registration.secret_file too: without it anyone can register")
            }
        }
        func rules(_ key: String, isBlock: Bool, _ subject: (String) -> AccessSubject?, _ expected: String) {
            for value in mapping[key]?.oneOrMore() ?? [] {
                guard let text = value.string() else { continue }
                guard let subject = subject(text) else {
                    value.mistake("expected \(expected)")
                    continue
                }
                access.rules.append(AccessRule(subject, isBlock: isBlock, madeAt: .epoch, isConfigured: true))
            }
        }
        rules("allow", isBlock: false, AccessWords.user, AccessWords.users)
        rules("block", isBlock: true, AccessWords.user, AccessWords.users)
        rules("block_relays", isBlock: true, AccessWords.relay, AccessWords.relays)
        return access
    }

    func log(_ value: YAMLValue?) -> Configuration.Log {
        var log = Configuration.Log()
        guard let mapping = value?.mapping(keys: ["format", "level"]) else { return log }
        log.format =
            mapping["format"]?.choice(LogFormat.allCases.map(\.rawValue)).flatMap { LogFormat(rawValue: $0) } ?? .auto
        log.level = mapping["level"]?.choice(Logger.Level.allCases.map(\.rawValue)).flatMap {
            Logger.Level(rawValue: $0)
        }
        return log
    }
}

extension ConfigurationSchema {
    static var access: SchemaParts.Member {
        (
            "access",
            SchemaParts.mapping(
                "The accounts that may use this router. The commands users and relays add entries.",
                [
                    (
                        "mode",
                        SchemaParts.choice(
                            "The accounts that may register: all, invited ones, or only those in allow. Default: open.",
                            AccessMode.allCases.map(\.rawValue)
                        )
                    ),
                    (
                        "allow",
                        SchemaParts.oneOrMore(
                            "Keys and networks that may register, and exceptions from larger blocked networks."
                        )
                    ),
                    (
                        "block",
                        SchemaParts.oneOrMore("Keys that may not use this router, and networks that may not connect.")
                    ),
                    (
                        "block_relays",
                        SchemaParts.oneOrMore(
                            "Relays of users that the router never connects to: URLs, hosts, *.example.com."
                        )
                    ),
                ]
            )
        )
    }

    static var log: SchemaParts.Member {
        (
            "log",
            SchemaParts.mapping(
                "The settings of the log.",
                [
                    (
                        "format",
                        SchemaParts.choice(
                            "auto: journald if standard error is the journal, otherwise text. Default: auto.",
                            LogFormat.allCases.map(\.rawValue)
                        )
                    ),
                    (
                        "level",
                        SchemaParts.choice(
                            "The minimum level; the command line overrides it.",
                            Logger.Level.allCases.map(\.rawValue)
                        )
                    ),
                ]
            )
        )
    }
}
