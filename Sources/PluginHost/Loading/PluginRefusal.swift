/// A file or folder that was not loaded, and why. Everything else goes on.
package struct PluginRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    package var path: String
    package var reason: Reason

    package init(path: String, reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String { "\(path): \(reason)" }
}

extension PluginRefusal {
    /// Why; the description says what to do about it.
    package enum Reason: Error, Sendable, Hashable {
        case folderNotAbsolute
        case unreadable(String)
        case notAFile
        /// The file, or the folder named, may be written by somebody else.
        case writableByOthers(String)
        case foreignOwner(String, owner: UInt32)
        case shadowed(by: String)
        case wrongPin
        case overwrittenWhileLoaded
        case replacedWhileLoaded
        case tooLarge
        case empty
        case notELF
        case truncated
        case wrongMachine
        case notASharedObject
        /// What the dynamic linker said.
        case notLoadable(String)
        case otherMajor(Int)
        case noEntry
        case refusedItself
        case badDescriptor(String)
        case badDescription(String, of: String)
        case missingFunction(String, of: String)
        case idTaken(String, by: String)
        case nameTaken(String, by: String)
        /// Its process crashed: the signal and the top of the stack.
        case crashed(String)
        case exited(status: Int32)
        /// The router ended its process, because it hangs or sends what it cannot mean.
        case ended(String)
        /// There is no process to load it.
        case noProcess(String)
        /// A plugin in Python that is to run elsewhere than in a process of its own.
        case needsOwnProcess
        /// Its own code failed while it was loaded.
        case raised(String)
    }
}

extension PluginRefusal.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .folderNotAbsolute: "the folder's path must be absolute"
        case .unreadable(let error): "cannot be read: \(error)"
        case .notAFile: "is not a regular file"
        case .writableByOthers(let path): "\(path) is writable by group or others; chmod go-w it"
        case .foreignOwner(let path, let owner):
            "\(path) belongs to user \(owner); it must belong to root or to the user the router runs as"
        case .shadowed(let winner): "\(winner) has the same name and comes first"
        case .wrongPin: "its SHA-256 is not the pinned one; update the pin if the new file is meant"
        case .overwrittenWhileLoaded:
            "was overwritten while in use; install plugins by renaming a new file into place, and restart the router now"
        case .replacedWhileLoaded:
            "was replaced since it was loaded; what was loaded goes on, and the new file takes a restart of the router"
        case .tooLarge: "is larger than 256 MiB"
        case .empty: "is empty"
        case .notELF: "is not an ELF file"
        case .truncated: "is an ELF file cut short; copy it again"
        case .wrongMachine: "was built for another machine"
        case .notASharedObject: "is an ELF file but not a shared object; link it with -shared"
        case .notLoadable(let error): "the dynamic linker says: \(error)"
        case .otherMajor(let major): "speaks plugin ABI major version \(major), this router speaks 1"
        case .noEntry: "does not export carillon_plugin_entry_v1"
        case .refusedItself: "its entry returned NULL: it does not want to run here"
        case .badDescriptor(let what): "its descriptor is wrong: \(what)"
        case .badDescription(let what, let platform): "its description of the platform \(platform) is wrong: \(what)"
        case .missingFunction(let function, let owner): "\(owner) lacks the required function \(function)"
        case .idTaken(let id, let path): "the id \(id) is taken by \(path)"
        case .nameTaken(let name, let path): "\(name) is already served by \(path)"
        case .crashed(let text): "its process \(text) while it was loaded"
        case .exited(let status): "its process exited with status \(status) while it was loaded"
        case .ended(let text): "its process \(text) while it was loaded"
        case .noProcess(let text): "it cannot be loaded in a process of its own: \(text)"
        case .needsOwnProcess:
            "plugins in Python run in a process of their own; set it to process under plugins.isolation"
        case .raised(let text): "fails when it is loaded: \(text)"
        }
    }
}
