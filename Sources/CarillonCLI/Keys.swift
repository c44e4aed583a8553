import ArgumentParser
import CarillonRouter
import Cipher
import Nostr
import RouterConfiguration

/// `carillon keys`
struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make or show the key that says who this router is, and invite clients to it.",
        subcommands: [New.self, Show.self, Bunker.self]
    )

    /// `carillon keys new`
    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key and write it to a file that only you can read.",
            discussion: "An existing file stays as it is.\n\n  carillon keys new /etc/carillon/carillon.key"
        )

        @Argument(help: "The file to write.")
        var file = "carillon.key"

        func run() throws {
            try Terminal.takeOver(folderOf: file)
            let key = try Terminal.printingMistakes { try IdentityFile(path: file).create(random: SecureRandom.bytes) }
            Keys.show(key)
        }
    }

    /// `carillon keys show`
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the public key of a key file: phones encrypt their registrations to it.",
            discussion: "  carillon keys show /etc/carillon/carillon.key"
        )

        @Argument(help: "The file to read.")
        var file = "carillon.key"

        func run() throws {
            Keys.show(try Terminal.printingMistakes { try IdentityFile(path: file).read() })
        }
    }

    /// `carillon keys bunker`
    struct Bunker: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a bunker:// URL with which one client opens a NIP-46 session.",
            discussion: """
                Adds a fresh secret to the file that registration.secret_file names; a router that runs takes it at once. \
                The first client that uses it is the only one that ever can. To withdraw a secret that nobody used, delete \
                its line.

                Clients that begin with a nostrconnect:// URL of their own are not supported.

                  carillon keys bunker --config carillon.yaml
                """
        )

        @OptionGroup var config: ConfigurationOption

        func run() throws {
            let configuration = try config.read()
            if let secrets = configuration.registration.secretFile { try Terminal.takeOver(folderOf: secrets) }
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
