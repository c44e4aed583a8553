import Cipher
import Nostr
import Relays
import Storage

/// What lets one client open a NIP-46 session with the router: a URL, and a secret in it where one is asked for.
package struct BunkerInvitation {
    package let url: BunkerURL

    /// Makes a secret and adds it to `registration.secret_file`; a router that runs takes it at once. Where no such
    /// file is configured, sessions need no secret, and nothing is written.
    ///
    /// Throws when there is no key yet, when nothing says where clients reach the router, and when the file cannot be
    /// used.
    package init(configuration: Configuration, random: RandomBytes) throws(Diagnostics) {
        let identity = try IdentityFile(path: configuration.keyFile).read()
        let sessions = configuration.remoteSigning
        guard !sessions.relays.isEmpty else {
            throw Diagnostics([
                Diagnostic(
                    file: "relay.url",
                    message:
                        "nothing says where clients reach the router; expected a URL, as in wss://notify.example.com"
                )
            ])
        }
        var secret: String?
        if let file = sessions.secretFile {
            do throws(SecretFileError) {
                secret = try SecretFile(path: file).add(random: random)
            } catch {
                throw Diagnostics([Diagnostic(file: file, message: error.reason)])
            }
        }
        url = BunkerURL(signer: identity.publicKey, relays: sessions.relays, secret: secret)
    }
}
