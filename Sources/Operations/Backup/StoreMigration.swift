import Cipher
import Foundation
import Glibc
import Nostr
import RouterConfiguration

/// Moves a store to another directory. At any moment a router can serve exactly one of the two.
package struct StoreMigration {
    package struct Report: OperatorAnswer {
        package let from: String
        package let to: String
        package let key: String
        /// The other copied files with secrets, by configuration key.
        package let secrets: [String: String]
        package let devices: Int
        package let waiting: Int
        /// Whether an earlier run already moved the store.
        package let wasDone: Bool

        package var text: String {
            var lines = [
                wasDone
                    ? "\(from) was already moved to \(to)."
                    : "Moved \(from) to \(to): \(devices) devices, \(waiting) waiting deliveries."
            ]
            lines += [
                "Next:",
                "  - in the configuration, set store.path to \(to) and identity.key_file to \(key)",
            ]
            for (name, path) in secrets.sorted(by: { $0.key < $1.key }) { lines.append("    and \(name) to \(path)") }
            lines += [
                "  - run carillon check, then start the router",
                "  - when it runs, delete the old files: \(from)*",
                "To go back before that, remove \(RetiredStore.marker(of: from)) and the new files.",
            ]
            return lines.joined(separator: "\n")
        }
    }

    /// Points at which tests interrupt a migration.
    package enum Step: Hashable, Sendable {
        case copied, retired
        case staged(StagedStore.Step)
    }

    private let configuration: Configuration
    private let folder: String
    private let reached: (Step) throws -> Void

    /// `folder` is the new directory. `reached` is for tests.
    package init(
        configuration: Configuration,
        folder: String,
        reached: @escaping (Step) throws -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.folder = URL(fileURLWithPath: folder).standardizedFileURL.path
        self.reached = reached
    }

    private var from: String { configuration.store.path }
    private var to: String { folder + "/" + URL(fileURLWithPath: from).lastPathComponent }
    private var newKey: String { newPlace(of: configuration.identity.keyFile) }

    private func newPlace(of path: String) -> String {
        folder + "/" + URL(fileURLWithPath: path).lastPathComponent
    }

    /// Files with secrets other than the key, by configuration key.
    private var secrets: [String: String] {
        var files: [String: String] = [:]
        files["api.token_file"] = configuration.api?.tokenFile
        files["registration.secret_file"] = configuration.registration.secretFile
        return files.filter { FileManager.default.fileExists(atPath: $0.value) }
    }

    /// Moves the store, or completes an interrupted migration.
    ///
    /// Throws a ``BackupError``, a `StoreLockError` while a router runs on either store, `Diagnostics` for an unusable
    /// key, and a `StoreError`.
    package func run(progress: @escaping StoreSnapshot.Progress = { _, _ in }) throws -> Report {
        try makeFolder()
        guard URL(fileURLWithPath: from).resolvingSymlinksInPath() != URL(fileURLWithPath: to).resolvingSymlinksInPath()
        else { throw BackupError("the store is already in \(folder)") }
        let lock = try StoreLock(store: from)
        defer { withExtendedLifetime(lock) {} }
        let newLock = try StoreLock(store: to)
        defer { withExtendedLifetime(newLock) {} }
        let staged = StagedStore(store: to) { [reached] in try reached(.staged($0)) }
        let retired = RetiredStore(store: from)
        if let destination = retired.destination, destination != to {
            throw BackupError(
                "\(from) was moved to \(destination). If that is wrong, remove \(RetiredStore.marker(of: from))"
            )
        }
        let isDone =
            retired.destination == to && staged.state == .absent && FileManager.default.fileExists(atPath: to)
        if staged.state == .ready {
            try staged.finish()
        } else if !isDone {
            if let blocker = staged.blocker {
                throw BackupError("\(blocker) already exists, and files are never overwritten: move it away")
            }
            try copy(to: staged, retired, progress)
            try staged.finish()
        }
        let contents = try BackupContents(registry: to, outbox: to + "-outbox", identity: nil)
        return Report(
            from: from,
            to: to,
            key: newKey,
            secrets: secrets.mapValues { newPlace(of: $0) },
            devices: contents.devices,
            waiting: contents.waiting,
            wasDone: isDone
        )
    }

    private func makeFolder() throws {
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw BackupError.failure("create", folder) }
    }

    private func copy(
        to staged: StagedStore,
        _ retired: RetiredStore,
        _ progress: @escaping StoreSnapshot.Progress
    ) throws {
        let identity = try IdentityFile(path: configuration.identity.keyFile).read()
        try staged.begin()
        let copies = try StoreSnapshot(
            store: from,
            context: configuration.context.file(nextTo: configuration.store),
            withCaches: true
        ).copy(
            to: StagedStore.folder(of: to),
            progress: progress
        )
        let contents = try BackupContents(
            registry: staged.place(of: .registry),
            outbox: copies.contains { $0.role == .outbox } ? staged.place(of: .outbox) : nil,
            identity: identity
        )
        if let damage = contents.damage {
            throw BackupError("\(damage). The store was not moved: run carillon store check")
        }
        if let owner = contents.owner, identity.publicKey.hex != owner {
            throw BackupError(
                "\(configuration.identity.keyFile) is not the key that \(from) was made with: nothing was moved"
            )
        }
        if let tokens = FileManager.default.contents(atPath: TokenFile(configuration).path) {
            try NewSecretFile.make(staged.place(of: .apiTokens), Array(tokens))
        }
        try copySecrets()
        try reached(.copied)
        // From here on no router starts on the old store, and none on the new store until it is complete.
        try retired.retire(to: to)
        try reached(.retired)
        try staged.declareReady()
    }

    /// Copies the key, the API's token and the registration secrets. Keeps an identical file that already exists.
    private func copySecrets() throws {
        for path in [configuration.identity.keyFile] + secrets.values.sorted() {
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw BackupError("cannot read \(path)")
            }
            let target = newPlace(of: path)
            if let there = FileManager.default.contents(atPath: target) {
                guard there == bytes else { throw BackupError("\(target) exists with other content: move it away") }
                continue
            }
            try NewSecretFile.make(target, Array(bytes), verb: "write")
        }
    }
}

/// The error for a store that no router may serve: it was moved, or its restore is incomplete.
package struct UnusableStore: Error, CustomStringConvertible {
    package let description: String

    /// Nil if a router may serve the store.
    package init?(_ configuration: Configuration) {
        let store = configuration.store.path
        let staging = StagedStore.folder(of: store)
        if let destination = RetiredStore(store: store).destination {
            description =
                "store.path: \(store) was moved to \(destination), and both would send every push. Use that one; or, if no router "
                + "runs on it, remove \(RetiredStore.marker(of: store))"
        } else if FileManager.default.fileExists(atPath: staging) {
            description =
                "store.path: the restore of \(store) was interrupted: run carillon backup restore or store migrate again, or "
                + "remove \(staging)"
        } else {
            return nil
        }
    }
}

/// Files that become a store together, even if the process is interrupted at any point.
///
/// They are made in the directory `<store>-restoring`. When all are on disk, a file named `ready` is made. A later run
/// then only moves the remaining files to their places, the registry last. Without `ready` it starts over. A router
/// does not start while the directory exists.
package struct StagedStore {
    enum State: Sendable, Equatable {
        case absent
        /// An earlier run was interrupted before all files were there.
        case unfinished
        /// All files are staged, or already in their places.
        case ready
    }

    /// Points at which tests interrupt.
    package enum Step: Hashable, Sendable {
        case made, ready
        case moved(String)
        case removed
    }

    private let store: String
    private let reached: (Step) throws -> Void

    /// `reached` is for tests.
    init(store: String, reached: @escaping (Step) throws -> Void = { _ in }) {
        self.store = store
        self.reached = reached
    }

    static func folder(of store: String) -> String { store + "-restoring" }

    private var folder: String { Self.folder(of: store) }
    private var marker: String { folder + "/ready" }

    var state: State {
        guard FileManager.default.fileExists(atPath: folder) else { return .absent }
        return FileManager.default.fileExists(atPath: marker) ? .ready : .unfinished
    }

    /// Returns the staging path of a file of the store, or for nil of the directory for other files.
    func place(of role: BackupRole?) -> String { folder + "/" + (role?.rawValue ?? "files") }

    /// The final directory of the other files.
    var filesFolder: String { store + "-files" }

    /// The first existing file at the paths of the store, which prevents a restore.
    var blocker: String? {
        let files = BackupRole.ofStore.compactMap { $0.suffix.map { store + $0 } }
        let all =
            files.flatMap { path in ["", "-wal", "-journal"].map { path + $0 } }
            + [filesFolder, RetiredStore.marker(of: store)]
        return all.first { path in
            var status = stat()
            return lstat(path, &status) == 0
        }
    }

    /// Makes the empty directory and removes the remains of an interrupted run.
    func begin() throws {
        precondition(state != .ready, "finish a complete restore first")
        try? FileManager.default.removeItem(atPath: folder)
        guard mkdir(folder, 0o700) == 0, mkdir(place(of: nil), 0o700) == 0 else {
            throw BackupError.failure("create", folder)
        }
        try reached(.made)
    }

    /// Removes the directory, so that a router may start.
    func abandon() { try? FileManager.default.removeItem(atPath: folder) }

    /// Marks the files as complete, after a flush to disk.
    func declareReady() throws {
        for role in BackupRole.ofStore {
            // Reading a copy may have created these files. They are unnecessary: the copy is complete.
            for end in ["-wal", "-shm"] { unlink(place(of: role) + end) }
            if FileManager.default.fileExists(atPath: place(of: role)) { try flush(place(of: role)) }
        }
        try flush(place(of: nil))
        try NewSecretFile.make(marker)
        try flush(folder)
        try reached(.ready)
    }

    /// Moves all files to their places.
    func finish() throws {
        guard state == .ready else { throw BackupError("\(folder) is not complete") }
        if (try? FileManager.default.contentsOfDirectory(atPath: place(of: nil)))?.isEmpty == true {
            rmdir(place(of: nil))
        }
        try move(place(of: nil), to: filesFolder)
        // The registry comes last: without it a router does not start with an outbox.
        for role in BackupRole.ofStore.reversed() {
            guard let suffix = role.suffix else { continue }
            try move(place(of: role), to: store + suffix)
        }
        try flush(URL(fileURLWithPath: store).deletingLastPathComponent().path)
        unlink(marker)
        guard rmdir(folder) == 0 else { throw BackupError.failure("remove", folder) }
        try reached(.removed)
    }

    /// Does nothing if the source does not exist: it was already moved, or never existed.
    private func move(_ source: String, to target: String) throws {
        var status = stat()
        guard lstat(source, &status) == 0 else { return }
        guard lstat(target, &status) != 0 else { throw BackupError("\(target) already exists: move it away") }
        guard rename(source, target) == 0 else { throw BackupError.failure("create", target) }
        try reached(.moved(URL(fileURLWithPath: source).lastPathComponent))
    }

    private func flush(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError.failure("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw BackupError.failure("write", path) }
    }
}

/// A marker that a store was moved, so that no router serves the old one and sends every push twice.
struct RetiredStore {
    private let store: String

    init(store: String) {
        self.store = store
    }

    static func marker(of store: String) -> String { store + "-moved" }

    /// The store's new path; nil if the store was not moved.
    var destination: String? {
        guard let text = FileManager.default.contents(atPath: Self.marker(of: store)) else { return nil }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? "another place"
    }

    /// Retires the store. The marker is on disk when this returns. Throws a ``BackupError``.
    func retire(to destination: String) throws {
        let path = Self.marker(of: store)
        let next = path + "-next"
        unlink(next)
        let words = "\(destination)\nRemove this file to use this store again, if no router runs on the moved store.\n"
        guard NewSecretFile.create(next, Array(words.utf8)) == 0, rename(next, path) == 0 else {
            throw BackupError.failure("create", path)
        }
        NewSecretFile.flushFolder(of: path)
    }
}
