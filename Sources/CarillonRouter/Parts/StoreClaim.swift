import Cipher
import Foundation
import Logging
import Nostr
import Operations
import RouterConfiguration
import YAMLReading

/// The lock on the store, and the key whose registrations are in it.
struct StoreClaim: Sendable {
    let identity: KeyPair
    private let lock: StoreLock

    /// Another router may have the store now.
    func release() { lock.release() }

    /// Throws an `UnusableStore` for one that was moved away, a `RouterError` where root may not serve, a
    /// `StoreLockError` when another router has the store, a `StoreFault` when the registry is lost, and `Diagnostics`
    /// for a key that is missing or unusable.
    init(_ configuration: Configuration, logger: Logger) throws {
        if geteuid() == 0, let owner = FolderOwner(ofFolderOf: configuration.storePath) {
            throw RouterError.foreignFolder(of: configuration.storePath, owner)
        }
        lock = try configuration.inItsWords { try StoreLock(store: configuration.storePath) }
        if let unusable = UnusableStore(configuration) { throw unusable }
        if let fault = try LostRegistry.fault(configuration) { throw fault }
        if let warning = LostOutbox.warning(configuration) {
            logger.error("A database is missing; an empty one takes its place", metadata: ["loss": "\(warning)"])
        }
        identity = try Self.identity(configuration)
    }

    /// Our key, made on the first run. Where there are registrations a missing key is a mistake: phones encrypted to
    /// it, and a new one would be of no use.
    private static func identity(_ configuration: Configuration) throws(Diagnostics) -> KeyPair {
        let file = IdentityFile(path: configuration.keyFile)
        if file.exists {
            NewSecretFile.removeRemains(of: configuration.keyFile)
            return try file.read()
        }
        guard !FileManager.default.fileExists(atPath: configuration.storePath) else {
            throw Diagnostics([
                Diagnostic(
                    file: configuration.keyFile,
                    message:
                        "our key is missing, but \(configuration.storePath) was made with one: restore the key file"
                )
            ])
        }
        return try file.create(random: SecureRandom.bytes)
    }
}
