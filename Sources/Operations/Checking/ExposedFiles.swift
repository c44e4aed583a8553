import CPrivileges
import Cipher
import Foundation
import Glibc
import Observability
import Push
import RouterConfiguration
import Storage

/// Files with secrets that others can get at, although nothing is refused for it: keys of push services, and databases,
/// whose tokens are sealed but which tell who is registered; and folders of such files that anybody may fill.
package struct ExposedFiles {
    package struct Found: Hashable {
        /// The key in the configuration that names the file.
        package let key: String
        /// From 1; 0 where the file does not come from one.
        let line: Int
        package let path: String
        package let exposure: FileExposure
        /// Whether it is a folder with such files in it, where others could put their own.
        package var isFolder = false

        package var remedy: String { isFolder ? "chmod o-w \(path)" : exposure.remedy(for: path) }
    }

    /// SQLite's files beside a database.
    private static let companions = ["", "-wal", "-shm"]

    package private(set) var found: [Found] = []

    /// `platforms` say under which keys blocks name files.
    package init(_ configuration: Configuration, _ platforms: PlatformCatalog) {
        for (app, block) in configuration.apps.sorted(by: { $0.key < $1.key }) {
            for (platform, block) in block.platforms.sorted(by: { $0.key < $1.key }) {
                let description = platforms[platform]
                for file in BlockFiles(description).named(in: block.json(for: description)) {
                    add(file.path, "apps.\(app).\(platform).\(file.key)", line: block.line)
                }
            }
        }
        if let headers = configuration.tracing?.headersFile {
            add(headers, "tracing.headers_file", line: configuration.tracingPlace.line)
        }
        for webhook in configuration.operationalEvents?.webhooks ?? [] {
            add(webhook.secretFile, "operational_events.webhooks.secret_file", line: 0)
        }
        for path in [
            configuration.storePath, configuration.outboxPath, configuration.contextPath, configuration.tracePath,
            configuration.keptEventsPath, configuration.webhooksPath,
        ] {
            for end in Self.companions { add(path + end, "store.path", line: configuration.storePlace.line) }
        }
        addFolder(of: configuration.storePath, "store.path", line: configuration.storePlace.line)
        addFolder(of: configuration.keyFile, "identity.key_file", line: configuration.keyFilePlace.line)
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

/// Files in the folder of a user who cannot use them: root made them there, as by serving once where a service does.
/// Root sees nothing wrong with them.
struct StrandedFiles {
    struct Found: Hashable {
        /// The key in the configuration that names them.
        let key: String
        let line: Int
        let column: Int
        let owner: FolderOwner
        let paths: [String]

        /// What is wrong, and what root runs to mend it.
        var description: String {
            let files = paths.map(ShellWord.quoted).joined(separator: " ")
            return
                "user \(owner.user), whose folder it is, cannot use what is here; run: chown \(owner.user):\(owner.group) \(files)"
        }
    }

    private(set) var found: [Found] = []

    init(_ configuration: Configuration) {
        add([configuration.keyFile], "identity.key_file", configuration.keyFilePlace, isWritten: false)
        let databases = [
            configuration.storePath, configuration.outboxPath, configuration.contextPath, configuration.tracePath,
            configuration.keptEventsPath, configuration.webhooksPath,
        ]
        let files = databases.flatMap { path in ["", "-wal", "-shm"].map { path + $0 } }
        let others = ["-lock", "-tokens", "-tokens-lock"].map { configuration.storePath + $0 }
        add(others + files, "store.path", configuration.storePlace, isWritten: true)
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

/// The user, not root, whose folder holds files of a router. What root writes there would be in that user's way, and
/// where it is written is for that user to say, by links for instance.
package struct FolderOwner: Hashable, Sendable {
    package let user: uid_t
    package let group: gid_t

    /// Nil where the folder of the file at `path` is root's and nobody else fills it, and where there is none.
    package init?(ofFolderOf path: String) {
        let file = URL(fileURLWithPath: path)
        // A link in root's folder is root's; where it leads others may be.
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
        // In a folder that others may fill the file tells whose it is.
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

    /// Whether this user may read the file that `status` describes, and write it too if it is one that is written.
    func canUse(_ status: stat, isWritten: Bool) -> Bool {
        if status.st_uid == user { return true }
        let wanted = isWritten ? S_IRGRP | S_IWGRP : S_IRGRP
        return status.st_gid == group && status.st_mode & wanted == wanted
    }

    /// Starts this program again as the user who owns the folder of `path`, with the right to read what root can read.
    /// Does nothing if that is root. Everything that the program did before would happen twice, so call it first.
    ///
    /// Throws an ``OperationFailure`` if that fails. The process must end then.
    package static func startAgain(asOwnerOf path: String) throws(OperationFailure) {
        guard let owner = FolderOwner(ofFolderOf: path) else { return }
        var number = carillon_become(owner.user, owner.group, true)
        if number == 0 {
            execv("/proc/self/exe", CommandLine.unsafeArgv)
            number = errno
        }
        throw owner.cannotAct(path, number)
    }

    /// Turns this process of root's into one of this user for good. `path` is in the user's folder.
    ///
    /// Throws an ``OperationFailure`` if that fails. The process must end then.
    package func become(_ path: String) throws(OperationFailure) {
        let number = carillon_become(user, group, false)
        guard number == 0 else { throw cannotAct(path, number) }
    }

    private func cannotAct(_ path: String, _ number: Int32) -> OperationFailure {
        .unavailable(
            "the folder of \(path) belongs to user \(user), and root cannot act as that user here "
                + "(\(String(cString: strerror(number)))): run this as that user, as with \(command("carillon …"))"
        )
    }

    /// What root runs to have `words` run by this user.
    package func command(_ words: String) -> String {
        "setpriv --reuid=\(user) --regid=\(group) --clear-groups \(words)"
    }
}
