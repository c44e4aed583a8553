import Glibc
import RouterConfiguration
import YAMLReading

/// Files in the folder of a user who cannot use them: root made them there, as by serving once where a service does. Root sees
/// nothing wrong with them.
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
        ]
        let files = databases.flatMap { path in ["", "-wal", "-shm"].map { path + $0 } }
        add([configuration.storePath + "-lock"] + files, "store.path", configuration.storePlace, isWritten: true)
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
