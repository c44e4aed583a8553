import Cipher
import Foundation
import Nostr
import RouterConfiguration
import YAMLReading

extension Router {
    /// Our key, made on the first run. Where there are registrations already a key is missing, and a new one would be no
    /// use: phones encrypted to the old one.
    static func identity(_ configuration: Configuration) throws(Mistakes) -> KeyPair {
        let file = IdentityFile(path: configuration.keyFile)
        if file.exists {
            NewSecretFile.removeRemains(of: configuration.keyFile)
            return try file.read()
        }
        guard !FileManager.default.fileExists(atPath: configuration.storePath) else {
            throw Mistakes([
                Mistake(
                    file: configuration.keyFile,
                    message:
                        "our key is missing, but \(configuration.storePath) was made with one: restore the key file"
                )
            ])
        }
        return try file.create(random: SecureRandom.bytes)
    }
}
