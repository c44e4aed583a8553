import Cipher
import Nostr
import Relays
import Storage

/// An invitation for one client to open a NIP-46 session: a URL, with a secret if one is required.
package struct BunkerInvitation {
    package let url: BunkerURL

    /// Makes a secret and adds it to `registration.secret_file`; a running router accepts it immediately. If no such
    /// file is configured, sessions need no secret, and no file is written.
    ///
    /// Throws if there is no key yet, if the configuration has no URL for clients, and if the file cannot be used.
    package init(configuration: Configuration, random: RandomBytes) throws(Diagnostics) {
        let identity = try IdentityFile(path: configuration.identity.keyFile).read()
        let sessions = RemoteSigningConfiguration(configuration)
        guard !sessions.relays.isEmpty else {
            throw Diagnostics([
                Diagnostic(
                    file: "relay.url",
                    message:
                        "the URL for clients is missing; expected one such as wss://notify.example.com"
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
