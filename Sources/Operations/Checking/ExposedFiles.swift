import Cipher
import Foundation
import Glibc
import Observability
import Push
import RouterConfiguration
import Storage

/// Finds secrets that other users can access (keys for push services, databases) and world-writable directories of
/// such files. Tokens in a database are sealed, but the database reveals the registered accounts.
package struct ExposedFiles {
    package struct Found: Hashable {
        /// The key in the configuration that names the file.
        package let key: String
        /// The line, starting at 1; 0 if unknown.
        let line: Int
        package let path: String
        package let exposure: FileExposure
        /// Whether this is a directory of such files, where other users could place their own.
        package var isFolder = false

        package var remedy: String { isFolder ? "chmod o-w \(path)" : exposure.remedy(for: path) }
    }

    package private(set) var found: [Found] = []

    /// `platforms` describe the keys of blocks that name files.
    package init(_ configuration: Configuration, _ platforms: PlatformCatalog) {
        for (app, block) in configuration.apps.sorted(by: { $0.key < $1.key }) {
            for (platform, block) in block.platforms.sorted(by: { $0.key < $1.key }) {
                let description = platforms[platform]
                for file in BlockFiles(description).named(in: block.json(for: description)) {
                    add(file.path, "apps.\(app).\(platform).\(file.key)", line: block.line)
                }
            }
        }
        if let headers = configuration.tracing.settings?.headersFile {
            add(headers, "tracing.headers_file", line: configuration.tracing.place.line)
        }
        for webhook in configuration.operationalEvents?.webhooks ?? [] {
            add(webhook.secretFile, "operational_events.webhooks.secret_file", line: 0)
        }
        for path in configuration.databaseFiles { add(path, "store.path", line: configuration.store.place.line) }
        addFolder(of: configuration.store.path, "store.path", line: configuration.store.place.line)
        addFolder(of: configuration.identity.keyFile, "identity.key_file", line: configuration.identity.place.line)
    }

    private mutating func add(_ path: String, _ key: String, line: Int) {
        guard let exposure = FileExposure(ofFile: path) else { return }
        found.append(Found(key: key, line: line, path: path, exposure: exposure))
    }

    private mutating func addFolder(of path: String, _ key: String, line: Int) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IWOTH != 0, !found.contains(where: { $0.path == folder })
        else { return }
        found.append(Found(key: key, line: line, path: folder, exposure: .writable, isFolder: true))
    }
}

extension Configuration {
    /// The databases and SQLite's files next to them.
    fileprivate var databaseFiles: [String] {
        [
            store.path, store.outboxPath, context.file(nextTo: store), store.tracePath, store.keptEventsPath,
            store.webhooksPath,
        ]
        .flatMap { path in ["", "-wal", "-shm"].map { path + $0 } }
    }
}

/// Files that the owner of their directory cannot use because root made them, for example by running the router once as
/// root. Root has no problem with such files.
struct StrandedFiles {
    struct Found: Hashable {
        /// The key in the configuration that names the files.
        let key: String
        let line: Int
        let column: Int
        let owner: FolderOwner
        let paths: [String]

        /// The problem, and the command that fixes it as root.
        var description: String {
            let files = paths.map(ShellWord.quoted).joined(separator: " ")
            return
                "user \(owner.user), who owns the folder, cannot use files in it; run: chown \(owner.user):\(owner.group) \(files)"
        }
    }

    private(set) var found: [Found] = []

    init(_ configuration: Configuration) {
        add([configuration.identity.keyFile], "identity.key_file", configuration.identity.place, isWritten: false)
        let others = ["-lock", "-tokens", "-tokens-lock"].map { configuration.store.path + $0 }
        add(others + configuration.databaseFiles, "store.path", configuration.store.place, isWritten: true)
        if let secrets = configuration.registration.secretFile {
            let place = configuration.registration.secretFilePlace
            add([secrets], "registration.secret_file", place, isWritten: false)
        }
        if let api = configuration.api { add([api.tokenFile], "api.token_file", api.place, isWritten: false) }
    }

    private mutating func add(
        _ paths: [String],
        _ key: String,
        _ place: (line: Int, column: Int),
        isWritten: Bool
    ) {
        var stranded: [FolderOwner: [String]] = [:]
        for path in paths {
            var status = stat()
            guard let owner = FolderOwner(ofFolderOf: path), stat(path, &status) == 0 else { continue }
            if !owner.canUse(status, isWritten: isWritten) { stranded[owner, default: []].append(path) }
        }
        found += stranded.sorted { $0.key.user < $1.key.user }.map {
            Found(key: key, line: place.line, column: place.column, owner: $0.key, paths: $0.value)
        }
    }
}

/// The non-root user who owns the directory of a router's files. This user cannot use files that root creates there,
/// and can redirect root's writes by links.
package struct FolderOwner: Hashable, Sendable {
    package let user: uid_t
    package let group: gid_t

    /// Nil if the directory belongs to root and only root can write to it, and if there is no directory.
    package init?(ofFolderOf path: String) {
        let file = URL(fileURLWithPath: path)
        // A link in root's directory belongs to root, but its target may belong to another user.
        guard let owner = Self(around: file) ?? Self(around: file.resolvingSymlinksInPath()) else { return nil }
        self = owner
    }

    private init?(around file: URL) {
        var folder = stat()
        guard stat(file.deletingLastPathComponent().path, &folder) == 0 else { return nil }
        if folder.st_uid != 0 {
            self.init(folder)
            return
        }
        // If other users can write to the directory, the owner of the file counts.
        var status = stat()
        guard folder.st_mode & (S_IWGRP | S_IWOTH) != 0, lstat(file.path, &status) == 0, status.st_uid != 0 else {
            return nil
        }
        self.init(status)
    }

    private init(_ status: stat) {
        user = status.st_uid
        group = status.st_gid == 0 ? status.st_uid : status.st_gid
    }

    /// Whether this user may read the file that `status` describes, and also write it if `isWritten` is true.
    func canUse(_ status: stat, isWritten: Bool) -> Bool {
        if status.st_uid == user { return true }
        let wanted = isWritten ? S_IRGRP | S_IWGRP : S_IRGRP
        return status.st_gid == group && status.st_mode & wanted == wanted
    }

    /// Returns the command that runs `words` as this user when root enters it.
    package func command(_ words: String) -> String {
        "setpriv --reuid=\(user) --regid=\(group) --clear-groups \(words)"
    }
}
