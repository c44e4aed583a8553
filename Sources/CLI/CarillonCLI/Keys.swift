import ArgumentParser
import CarillonRouter
import Cipher
import Nostr
import Operations
import RouterConfiguration

/// `carillon keys`
struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, show or change the router's key, and invite clients.",
        subcommands: [New.self, Show.self, Rotate.self, Undo.self, Retire.self, Bunker.self]
    )

    /// `carillon keys new`
    struct New: ParsableCommand, OwnerCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a key and write it to a file that only you can read.",
            discussion: "An existing file stays as it is.\n\n  carillon keys new /etc/carillon/carillon.key"
        )

        @Argument(help: "The file to write.")
        var file = "carillon.key"

        var ownersFile: String? { file }

        func run() throws {
            let key = try Terminal.printingMistakes { try IdentityFile(path: file).create(random: SecureRandom.bytes) }
            Keys.show(key)
        }
    }

    /// `carillon keys show`
    struct Show: ParsableCommand, OwnerCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Show the public key of a key file, or all keys of a router: phones encrypt their registrations to them.",
            discussion: """
                With --config it shows the key of that router, its former key and when that retires, and how many \
                devices are registered to each.

                  carillon keys show /etc/carillon/carillon.key
                  carillon keys show --config /etc/carillon/carillon.yaml
                """
        )

        @Argument(help: "The key file to read. (default: carillon.key)")
        var file: String?

        @Option(name: [.customShort("c"), .customLong("config")], help: "The configuration file of a router.")
        var config: String?

        @Flag(help: "Print one JSON object. Needs --config.")
        var json = false

        func validate() throws {
            guard file == nil || config == nil else {
                throw ValidationError("expected a key file or --config, not both")
            }
            guard !json || config != nil else { throw ValidationError("--json needs --config") }
        }

        var ownersFile: String? {
            get throws { try config.map(Self.read)?.store.path }
        }

        func run() throws {
            guard let config else {
                Keys.show(try Terminal.printingMistakes { try IdentityFile(path: file ?? "carillon.key").read() })
                return
            }
            let configuration = try Self.read(config)
            Asking.show(try Terminal.sayingWhy { try KeyReport(of: configuration) }, asJSON: json)
        }

        private static func read(_ path: String) throws -> Configuration {
            try Terminal.printingMistakes { () throws in try Configuration(file: path, withoutCredentials: true) }
        }
    }

    /// `carillon keys rotate`
    struct Rotate: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give the router a new key, and keep the old one valid for a while.",
            discussion: """
                Until the old key retires, registrations to either key work, and both are advertised. The registry is \
                encrypted again. Stop the router first. If this is interrupted, run it again or run carillon keys \
                undo; a router may start in between. With --for it can change the date later.

                  systemctl stop carillon
                  carillon keys rotate --config /etc/carillon/carillon.yaml --for 60d
                  systemctl start carillon

                Exits with status 1 if the key was not changed.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(name: .customLong("for"), help: "How long the old key stays valid, such as 60d. (default: 30d)")
        var span: Span?

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            let configuration = try config.read()
            let report = try Terminal.sayingWhy {
                try KeyChange(configuration: configuration).rotate(retireAfter: span?.duration)
            }
            Asking.show(report, asJSON: json)
        }
    }

    /// `carillon keys undo`
    struct Undo: ParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Restore the old key, or cancel an interrupted change of the key.",
            discussion: """
                Works until the old key retires. While devices are registered to the new key, that key stays valid as \
                well. Stop the router first. If this is interrupted, run it again.

                  carillon keys undo --config /etc/carillon/carillon.yaml
                """
        )

        @OptionGroup var options: AnswerOptions

        func run() throws {
            let configuration = try options.config.read()
            options.show(try Terminal.sayingWhy { try KeyChange(configuration: configuration).undo() })
        }
    }

    /// `carillon keys retire`
    struct Retire: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Retire the router's former key.",
            discussion: """
                A router retires it at its first start after the date. This command does so after the date without a \
                start, or before it with --now. Devices that did not move to the new key stay, but get no sealed \
                pushes until their apps register again. Stop the router first.

                  carillon keys retire --config /etc/carillon/carillon.yaml --now
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Flag(help: "Retire the key before the date.")
        var now = false

        @Flag(help: "Remove the devices that did not move to the new key.")
        var removeDevices = false

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            let configuration = try config.read()
            Asking.show(
                try Terminal.sayingWhy {
                    try KeyChange(configuration: configuration).retire(early: now, removesDevices: removeDevices)
                },
                asJSON: json
            )
        }
    }

    /// `carillon keys bunker`
    struct Bunker: ParsableCommand, OwnerCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a bunker:// URL with which one client opens a NIP-46 session.",
            discussion: """
                Adds a new secret to the file in registration.secret_file; a running router accepts it immediately. \
                Only the first client that uses the secret can use it. To withdraw an unused secret, delete its line.

                Clients that start with their own nostrconnect:// URL are not supported.

                  carillon keys bunker --config carillon.yaml
                """
        )

        @OptionGroup var config: ConfigurationOption

        var ownersFile: String? {
            get throws { try config.read().registration.secretFile }
        }

        func run() throws {
            let configuration = try config.read()
            let invitation = try Terminal.printingMistakes {
                try BunkerInvitation(configuration: configuration, random: SecureRandom.bytes)
            }
            if invitation.url.secret == nil {
                Terminal.error(
                    "registration.secret_file is not set: clients need no secret, and anyone can open a session"
                )
            }
            print(invitation.url.reveal())
        }
    }

    private static func show(_ key: KeyPair) {
        print("hex   \(key.publicKey.hex)")
        print("npub  \(NIP19.npub(key.publicKey))")
    }
}
