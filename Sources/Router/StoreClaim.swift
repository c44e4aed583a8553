import Cipher
import Foundation
import Logging
import Nostr
import Operations
import RouterConfiguration
import Storage

/// The lock on the store, and the key whose registrations are in it.
package struct StoreClaim: Sendable {
    package let identity: KeyPair
    private let lock: StoreLock

    /// Releases the lock, so that another router may open the store.
    package func release() { lock.release() }

    /// Locks the store and reads the key. Throws an `UnusableStore` if the store was moved away, a `RouterError` if
    /// root may not serve it, a `StoreLockError` if another router has it, a `StoreError` if the registry is lost, and
    /// `Diagnostics` if the key is missing or unusable.
    package init(_ configuration: Configuration, logger: Logger) throws {
        if geteuid() == 0, let owner = FolderOwner(ofFolderOf: configuration.store.path) {
            throw RouterError.foreignFolder(of: configuration.store.path, owner)
        }
        lock = try configuration.environment.inItsWords { try StoreLock(store: configuration.store.path) }
        if let unusable = UnusableStore(configuration) { throw unusable }
        if let fault = try configuration.lostRegistry() { throw fault }
        if let warning = configuration.lostOutboxWarning {
            logger.error("A database is missing; created an empty one", metadata: ["loss": "\(warning)"])
        }
        identity = try Self.identity(configuration)
    }

    /// The router's key, made on the first run. If registrations exist, a missing key is an error: phones encrypted to
    /// it, so a new one cannot replace it.
    private static func identity(_ configuration: Configuration) throws(Diagnostics) -> KeyPair {
        let file = IdentityFile(path: configuration.identity.keyFile)
        if file.exists {
            NewSecretFile.removeRemains(of: configuration.identity.keyFile)
            return try file.read()
        }
        guard !FileManager.default.fileExists(atPath: configuration.store.path) else {
            throw Diagnostics([
                Diagnostic(
                    file: configuration.identity.keyFile,
                    message:
                        "our key is missing, but \(configuration.store.path) was made with one: restore the key file"
                )
            ])
        }
        return try file.create(random: SecureRandom.bytes)
    }
}

/// Why the router cannot start.
package struct RouterError: Error, CustomStringConvertible {
    package let description: String
    private init(description: String) {
        self.description = description
    }

    /// `key` is the configuration's key of the address.
    static func cannotListen(_ key: String, host: String, port: Int, _ error: any Error) -> RouterError {
        RouterError(description: "\(key): cannot listen on \(host):\(port): \(error)")
    }

    static let notJoined = RouterError(
        description: "cluster: the configuration has a cluster, and this router was not joined to it"
    )

    static let storeOfMember = RouterError(
        description:
            "store.path: the store is a cluster member's, and the configuration has no block 'cluster': a single router "
            + "would send the other members' pushes again. carillon cluster export turns it into a separate store"
    )

    /// The error for root in another user's directory, where it would leave files that the service can no longer use.
    static func foreignFolder(of path: String, _ owner: FolderOwner) -> RouterError {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return RouterError(
            description:
                "store.path: root does not serve in another user's folder: \(folder) belongs to user \(owner.user). Run it as that "
                + "one, with User= in systemd's unit or with \(owner.command("carillon serve …")); or give root the folder "
                + "and all in it, with chown -R 0:0 \(ShellWord.quoted(folder))"
        )
    }
}
