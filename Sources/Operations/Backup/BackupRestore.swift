import Cipher
import Delivery
import Foundation
import Glibc
import Nostr
import RouterConfiguration

extension BackupReport {
    /// Reads a whole backup and describes its contents. Checks digests, databases, versions and the key. Copies the
    /// databases to a temporary directory in `folder`. `identity` is the age identity for an encrypted backup. `keyFile`
    /// is used if the backup has no key.
    ///
    /// Throws a ``BackupError`` for the first problem, a `StoreError` for a database that this version cannot read, and
    /// `Diagnostics` for an unusable key.
    package init(
        verifying path: String,
        identity ageIdentity: String? = nil,
        keyFile: String? = nil,
        in folder: String,
        progress: StoreSnapshot.Progress = { _, _ in }
    ) throws {
        let work = try WorkFolder(prefix: folder + "/carillon-verify-")
        defer { withExtendedLifetime(work) {} }
        let unpacked = try UnpackedBackup(path, identity: ageIdentity, into: work.path, progress: progress)
        let identity = try (unpacked.path(of: .key) ?? keyFile).map { try IdentityFile(path: $0).read() }
        let contents = try BackupContents(
            registry: unpacked.path(of: .registry) ?? "",
            outbox: unpacked.path(of: .outbox),
            identity: identity
        )
        if let damage = contents.damage { throw BackupError("the backup cannot be used: \(damage)") }
        guard contents.owner == unpacked.manifest.identity else {
            throw BackupError("the backup is damaged: its registry and its manifest name different routers")
        }
        if let identity, let owner = contents.owner, identity.publicKey.hex != owner {
            throw BackupError("the key does not match: the backup is of another router")
        }
        self.init(
            unpacked.manifest,
            contents,
            backup: path,
            isEncrypted: unpacked.isEncrypted,
            keyFits: identity.map { _ in true }
        )
    }
}

/// Restores a backup as a store.
package struct BackupRestore {
    /// The result of a restore.
    package struct Report: OperatorAnswer {
        package let store: String
        package let key: String?
        package let files: String?
        package let npub: String?
        package let devices: Int
        package let waiting: Int
        package let dropped: Int
        package let madeAt: String
        /// The next steps, one sentence each.
        package let next: [String]

        package var text: String {
            var lines = ["Restored \(store): \(devices) devices, \(waiting) waiting deliveries."]
            if dropped > 0 { lines.append("\(dropped) waiting deliveries were dropped.") }
            if let files { lines.append("Other files of the backup are in \(files).") }
            lines.append("Next:")
            return (lines + next.map { "  - \($0)" }).joined(separator: "\n")
        }
    }

    private let path: String
    private let ageIdentity: String?
    private let store: String
    private let keyFile: String
    private let dropsWaiting: Bool
    private let reached: (StagedStore.Step) throws -> Void

    /// `identity` is the age identity for an encrypted backup. `keyFile` is the path for the router's key; nil: next to
    /// the store. `reached` is for tests.
    package init(
        path: String,
        identity: String? = nil,
        store: String,
        keyFile: String? = nil,
        dropsWaiting: Bool = false,
        reached: @escaping (StagedStore.Step) throws -> Void = { _ in }
    ) {
        self.path = path
        ageIdentity = identity
        self.store = store
        let folder = URL(fileURLWithPath: store).deletingLastPathComponent()
        self.keyFile = keyFile ?? folder.appending(path: "carillon.key").path
        self.dropsWaiting = dropsWaiting
        self.reached = reached
    }

    /// Restores all files or none. Returns nil if it only completed an earlier restore that was interrupted at its end.
    ///
    /// Throws a ``BackupError``, a `StoreLockError` while a router runs on the store, and a `StoreError`.
    package func run(progress: StoreSnapshot.Progress = { _, _ in }) throws -> Report? {
        let folder = URL(fileURLWithPath: store).deletingLastPathComponent().path
        var isFolder = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw BackupError("the folder \(folder) is missing: create it for the user that runs Carillon, mode 700")
        }
        let lock = try StoreLock(store: store)
        defer { withExtendedLifetime(lock) {} }
        let staged = StagedStore(store: store, reached: reached)
        if staged.state == .ready {
            try staged.finish()
            return nil
        }
        if let blocker = staged.blocker {
            throw BackupError(
                "\(blocker) already exists, and files are never overwritten: move it away, or choose another store"
            )
        }
        try staged.begin()
        let report: Report
        do {
            report = try fill(staged, progress)
        } catch {
            staged.abandon()
            throw error
        }
        try staged.declareReady()
        try staged.finish()
        return report
    }

    private func fill(_ staged: StagedStore, _ progress: StoreSnapshot.Progress) throws -> Report {
        let staging = StagedStore.folder(of: store)
        let unpacked = try UnpackedBackup(path, identity: ageIdentity, into: staging, progress: progress)
        let manifest = unpacked.manifest
        try unpacked.move { file in
            switch file.role {
            case .key: staging + "/key"
            case let role where role.suffix != nil: staged.place(of: role)
            default: staged.place(of: nil) + "/" + file.name
            }
        }
        let hasKey = manifest.files.contains { $0.role == .key }
        let identity = try hasKey ? IdentityFile(path: staging + "/key").read() : nil
        let outbox = staged.place(of: .outbox)
        let before = try BackupContents(registry: staged.place(of: .registry), outbox: outbox, identity: identity)
        if let damage = before.damage { throw BackupError("the backup cannot be used: \(damage)") }
        if let identity, let owner = before.owner, identity.publicKey.hex != owner {
            throw BackupError("the backup cannot be used: its key is another router's")
        }
        let dropped =
            dropsWaiting && FileManager.default.fileExists(atPath: outbox) ? try Outbox.dropWaiting(at: outbox) : 0
        if let identity { try place(identity, from: staging + "/key") }
        let others = manifest.files.contains { $0.role != .key && $0.role.suffix == nil }
        return Report(
            store: store,
            key: hasKey ? keyFile : nil,
            files: others ? staged.filesFolder : nil,
            npub: manifest.npub,
            devices: before.devices,
            waiting: dropsWaiting ? 0 : before.waiting,
            dropped: dropped,
            madeAt: manifest.madeAt,
            next: next(manifest, before, hasKey: hasKey, hasOthers: others)
        )
    }

    /// Writes the key before the other files, so that a store never exists without its key.
    private func place(_ identity: KeyPair, from file: String) throws {
        if FileManager.default.fileExists(atPath: keyFile) {
            guard try IdentityFile(path: keyFile).read().publicKey == identity.publicKey else {
                throw BackupError("\(keyFile) is another router's key, and files are never overwritten: see --key")
            }
        } else {
            guard let bytes = FileManager.default.contents(atPath: file) else {
                throw BackupError("cannot read \(file)")
            }
            try NewSecretFile.make(keyFile, Array(bytes))
        }
        unlink(file)
    }

    private func next(
        _ manifest: BackupManifest,
        _ contents: BackupContents,
        hasKey: Bool,
        hasOthers: Bool
    ) -> [String] {
        var steps: [String] = []
        if hasKey {
            steps.append("in the configuration, set store.path to \(store) and identity.key_file to \(keyFile)")
        } else {
            steps.append(
                "put the key of \(manifest.npub ?? "the router") at the path in identity.key_file; it is not in the backup"
            )
            steps.append("in the configuration, set store.path to \(store)")
        }
        if hasOthers { steps.append("look through \(store)-files and move the files that you need to their places") }
        if !manifest.isFinal {
            steps.append("make sure that the router of this backup never runs again: both would send every push")
        }
        if contents.waiting > 0, !dropsWaiting, !manifest.isFinal {
            steps.append(
                "\(contents.waiting) deliveries wait. Those that the other router sent after the backup was made are sent "
                    + "again, with the same id. To drop them, restore again with --drop-waiting"
            )
        }
        steps.append("run carillon check, then start the router")
        return steps
    }
}
