import Push

/// The result of a search for plugins.
package struct PluginCatalog: Sendable {
    /// Loaded plugins, in the order of folders and file names.
    package var plugins: [LoadedPlugin] = []
    /// Plugins that were not loaded, with reasons. A refusal does not stop the other plugins.
    package var refusals: [PluginLoadError] = []
}

/// A plugin that loaded, for the log, the console and `carillon plugin list`.
package struct LoadedPlugin: Sendable, Hashable {
    package var id: String
    package var version: String
    /// The minor version of the ABI that it was built with.
    package var abiMinor: UInt32
    /// The SHA-256 of its file, 64 hex digits in lower case; a pin contains this value.
    package var sha256: String
    /// Absolute, symbolic links resolved.
    package var path: String
    /// The transports it offers, by platform.
    package var platforms: [String]
    /// Its descriptions of platforms, by platform. Not every platform has one.
    package var descriptions: [String: PlatformDescription]
    package var filters: [LoadedFilter]

    /// Returns the platform with its display name and the key of its block in rules.
    package func label(of platform: String) -> String {
        guard let description = descriptions[platform] else { return "\(platform) (not described; rules say native:)" }
        return "\(platform) (\(description.name); rules say \(description.block ?? "native"):)"
    }
}

/// A filter that a loaded plugin offers.
package struct LoadedFilter: Sendable, Hashable {
    /// Its name in the configuration.
    package var name: String
    /// The replaceable events of a recipient that it looks at, ascending.
    package var wantedKinds: [UInt16]
    /// The maximum it may need to know about the recipient's follows.
    package var maxNeeded: FollowNeed
    /// Whether it decides after rendering and gets the notification.
    package var isAskedAfterRendering: Bool

    init(_ entry: FilterEntry) {
        name = entry.name
        wantedKinds = entry.wantedKinds
        maxNeeded = entry.maxNeeded
        isAskedAfterRendering = entry.isAskedAfterRendering
    }
}

/// A file or folder that was not loaded, and the reason. Other plugins still load.
package struct PluginLoadError: Error, Sendable, Hashable, CustomStringConvertible {
    package var path: String
    package var reason: Reason

    package init(path: String, reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String { "\(path): \(reason)" }
}

extension PluginLoadError {
    /// The reason; its description explains the fix.
    package enum Reason: Error, Sendable, Hashable {
        case folderNotAbsolute
        case unreadable(String)
        case notAFile
        /// Users other than the owner may write the file or the named folder.
        case writableByOthers(String)
        case foreignOwner(String, owner: UInt32)
        case shadowed(by: String)
        case wrongPin
        case replacedWhileLoaded
        case tooLarge
        case empty
        case notELF
        case truncated
        case wrongMachine
        case notASharedObject
        /// The dynamic linker's message.
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
        /// The router ended its process, because it hung or sent invalid frames.
        case ended(String)
        /// No process could be started for it.
        case noProcess(String)
        /// Its own code failed while it was loaded.
        case raised(String)
    }
}

extension PluginLoadError.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .folderNotAbsolute: "the directory's path must be absolute"
        case .unreadable(let error): "cannot be read: \(error)"
        case .notAFile: "is not a regular file"
        case .writableByOthers(let path): "\(path) is writable by group or others; chmod go-w it"
        case .foreignOwner(let path, let owner):
            "\(path) is owned by user \(owner); it must be owned by root or by the router's user"
        case .shadowed(let winner): "\(winner) has the same name and is loaded first"
        case .wrongPin: "its SHA-256 differs from the pinned one; update the pin if the change is intended"
        case .replacedWhileLoaded:
            "was replaced since it was loaded; the loaded version stays in use until the router restarts"
        case .tooLarge: "is larger than 256 MiB"
        case .empty: "is empty"
        case .notELF: "is not an ELF file"
        case .truncated: "is a truncated ELF file; copy it again"
        case .wrongMachine: "was built for another machine"
        case .notASharedObject: "is an ELF file but not a shared object; link it with -shared"
        case .notLoadable(let error): "the dynamic linker reports: \(error)"
        case .otherMajor(let major): "uses plugin ABI major version \(major), this router uses 1"
        case .noEntry: "does not export carillon_plugin_entry_v1"
        case .refusedItself: "its entry function returned NULL, so it refuses to run here"
        case .badDescriptor(let what): "its descriptor is invalid: \(what)"
        case .badDescription(let what, let platform): "its description of the platform \(platform) is invalid: \(what)"
        case .missingFunction(let function, let owner): "\(owner) lacks the required function \(function)"
        case .idTaken(let id, let path): "the id \(id) is taken by \(path)"
        case .nameTaken(let name, let path): "\(name) is already served by \(path)"
        case .crashed(let text): "its process \(text) while it was loaded"
        case .exited(let status): "its process exited with status \(status) while it was loaded"
        case .ended(let text): "its process \(text) while it was loaded"
        case .noProcess(let text): "no process could be started for it: \(text)"
        case .raised(let text): "failed while it was loaded: \(text)"
        }
    }
}
