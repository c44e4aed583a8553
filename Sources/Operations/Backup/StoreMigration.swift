import Backup
import Cipher
import Foundation
import Glibc
import Nostr
import RouterConfiguration

/// Moves a store to another folder, so that exactly one of both places can be served at any moment.
package struct StoreMigration {
    package struct Report: OperatorAnswer {
        package let from: String
        package let to: String
        package let key: String
        /// Other files with secrets that were copied, by the configuration's keys.
        package let secrets: [String: String]
        package let devices: Int
        package let waiting: Int
        /// Whether it was moved before, and nothing was left to do.
        package let wasDone: Bool

        package var text: String {
            var lines = [
                wasDone
                    ? "\(from) was moved to \(to) before."
                    : "Moved \(from) to \(to): \(devices) devices, \(waiting) deliveries that wait."
            ]
            lines += [
                "Next:",
                "  - have the configuration say store.path \(to) and identity.key_file \(key)",
            ]
            for (name, path) in secrets.sorted(by: { $0.key < $1.key }) { lines.append("    and \(name) \(path)") }
            lines += [
                "  - carillon check, then start the router",
                "  - when it serves, delete the old files: \(from)*",
                "To go back before that: remove \(RetiredStore.marker(of: from)) and the new files.",
            ]
            return lines.joined(separator: "\n")
        }
    }

    /// Moments at which tests interrupt.
    package enum Step: Hashable, Sendable {
        case copied, retired
        case staged(StagedStore.Step)
    }

    private let configuration: Configuration
    private let folder: String
    private let reached: (Step) throws -> Void

    /// `folder` is the new one. `reached` is for tests.
    package init(
        configuration: Configuration,
        folder: String,
        reached: @escaping (Step) throws -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.folder = URL(fileURLWithPath: folder).standardizedFileURL.path
        self.reached = reached
    }

    private var from: String { configuration.storePath }
    private var to: String { folder + "/" + URL(fileURLWithPath: from).lastPathComponent }
    private var newKey: String { newPlace(of: configuration.keyFile) }

    private func newPlace(of path: String) -> String {
        folder + "/" + URL(fileURLWithPath: path).lastPathComponent
    }

    /// Files with secrets beside the key, by the configuration's keys.
    private var secrets: [String: String] {
        var files: [String: String] = [:]
        files["api.token_file"] = configuration.api?.tokenFile
        files["registration.secret_file"] = configuration.registration.secretFile
        return files.filter { FileManager.default.fileExists(atPath: $0.value) }
    }

    /// Can be interrupted anywhere and done again.
    ///
    /// Throws a ``BackupError``, a `StoreLockError` while a router runs on either, `Diagnostics` for a key that cannot
    /// be used, and a `StoreFault`.
    package func run(progress: @escaping StoreSnapshot.Progress = { _, _ in }) throws -> Report {
        try makeFolder()
        guard URL(fileURLWithPath: from).resolvingSymlinksInPath() != URL(fileURLWithPath: to).resolvingSymlinksInPath()
        else { throw BackupError("the store is in \(folder) already") }
        let lock = try StoreLock(store: from)
        defer { withExtendedLifetime(lock) {} }
        let newLock = try StoreLock(store: to)
        defer { withExtendedLifetime(newLock) {} }
        let staged = StagedStore(store: to) { [reached] in try reached(.staged($0)) }
        let retired = RetiredStore(store: from)
        if let destination = retired.destination, destination != to {
            throw BackupError(
                "\(from) was moved to \(destination). Where that is wrong, remove \(RetiredStore.marker(of: from))"
            )
        }
        let isDone =
            retired.destination == to && staged.state == .absent && FileManager.default.fileExists(atPath: to)
        if staged.state == .ready {
            try staged.finish()
        } else if !isDone {
            if let obstacle = staged.obstacle {
                throw BackupError("\(obstacle) is there already, and nothing is written over: move it away")
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
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw BackupError("cannot make \(folder): \(String(cString: strerror(errno)))")
        }
    }

    private func copy(
        to staged: StagedStore,
        _ retired: RetiredStore,
        _ progress: @escaping StoreSnapshot.Progress
    ) throws {
        let identity = try IdentityFile(path: configuration.keyFile).read()
        try staged.begin()
        let copies = try StoreSnapshot(store: from, context: configuration.contextPath, withCaches: true).copy(
            to: StagedStore.folder(of: to),
            progress: progress
        )
        let contents = try BackupContents(
            registry: staged.place(of: .registry),
            outbox: copies.contains { $0.role == .outbox } ? staged.place(of: .outbox) : nil,
            identity: identity
        )
        if let damage = contents.damage {
            throw BackupError("\(damage). It was not moved: see carillon store check")
        }
        if let owner = contents.owner, identity.publicKey.hex != owner {
            throw BackupError("\(configuration.keyFile) is not the key that \(from) was made with: it was not moved")
        }
        if let tokens = FileManager.default.contents(atPath: TokenFile(configuration).path) {
            let place = staged.place(of: .apiTokens)
            let number = NewSecretFile.create(place, Array(tokens))
            guard number == 0 else { throw BackupError("cannot make \(place): \(String(cString: strerror(number)))") }
        }
        try copySecrets()
        try reached(.copied)
        // From here on no router starts on the old one, and none on the new one until all is there.
        try retired.retire(to: to)
        try reached(.retired)
        try staged.declareReady()
    }

    /// The key, the API's token and the secrets of registrations. The same file that is there already is left.
    private func copySecrets() throws {
        for path in [configuration.keyFile] + secrets.values.sorted() {
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw BackupError("cannot read \(path)")
            }
            let target = newPlace(of: path)
            if let there = FileManager.default.contents(atPath: target) {
                guard there == bytes else { throw BackupError("\(target) is there already and another: move it away") }
                continue
            }
            let number = NewSecretFile.create(target, Array(bytes))
            guard number == 0 else { throw BackupError("cannot make \(target): \(String(cString: strerror(number)))") }
        }
    }
}
