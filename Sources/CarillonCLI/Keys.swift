import ArgumentParser
import CarillonRouter
import Cipher
import Nostr

/// `carillon keys`
struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make or show the key that says who this router is.",
        subcommands: [New.self, Show.self]
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
            let key = try Terminal.printingMistakes { try IdentityFile(path: file).create(random: SecureRandom.bytes) }
            Keys.show(key)
        }
    }

    /// `carillon keys show`
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the public key of a key file: whom phones encrypt their registrations to.",
            discussion: "  carillon keys show /etc/carillon/carillon.key"
        )

        @Argument(help: "The file to read.")
        var file = "carillon.key"

        func run() throws {
            Keys.show(try Terminal.printingMistakes { try IdentityFile(path: file).read() })
        }
    }

    private static func show(_ key: KeyPair) {
        print("hex   \(key.publicKey.hex)")
        print("npub  \(NIP19.npub(key.publicKey))")
    }
}
