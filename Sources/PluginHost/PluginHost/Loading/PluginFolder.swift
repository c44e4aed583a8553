import Glibc

/// The folders and pins for finding plugins.
package struct PluginSearch: Sendable {
    /// Absolute paths, searched in this order: the first file of a name wins, even when it is refused.
    package var folders: [String]
    /// SHA-256 by file name (`apns.so`), 64 hex digits: a file whose content differs is refused. Files without a pin
    /// load.
    package var pins: [String: String]

    package init(folders: [String], pins: [String: String] = [:]) {
        self.folders = folders
        self.pins = pins
    }
}

/// A file found in a plugin folder.
package struct PluginCandidate: Sendable, Hashable {
    /// The name by which it was found, which pins and shadowing go by.
    package var name: String
    /// Absolute.
    package var path: String

    package init(name: String, path: String) {
        self.name = name
        self.path = path
    }

    /// Whether it is a Python plugin instead of a shared object.
    package var isPython: Bool { name.hasSuffix(".py") }
}

/// Lists plugin folders.
enum PluginFolder {
    /// Every `*.so` and `*.py` of `folders` in order of folder and name. Shadowed files and unreadable folders are
    /// refused.
    static func candidates(in folders: [String]) -> (found: [PluginCandidate], refusals: [PluginLoadError]) {
        var found: [PluginCandidate] = []
        var refusals: [PluginLoadError] = []
        var winners: [String: String] = [:]
        for folder in folders {
            do {
                for name in try names(in: folder) {
                    let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
                    if let winner = winners[name] {
                        refusals.append(PluginLoadError(path: path, reason: .shadowed(by: winner)))
                    } else {
                        winners[name] = path
                        found.append(PluginCandidate(name: name, path: path))
                    }
                }
            } catch {
                refusals.append(error)
            }
        }
        return (found, refusals)
    }

    /// Libraries that a build leaves next to the programs and that are not plugins.
    private static let otherLibraries: Set = ["libcarillon-confinement.so", "libGRDB-dynamic.so"]

    private static func names(in folder: String) throws(PluginLoadError) -> [String] {
        guard folder.hasPrefix("/") else { throw PluginLoadError(path: folder, reason: .folderNotAbsolute) }
        if let reason = FileTrust.distrust(ofFolder: folder) { throw PluginLoadError(path: folder, reason: reason) }
        guard let directory = opendir(folder) else {
            throw PluginLoadError(path: folder, reason: .unreadable(String(cString: strerror(errno))))
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isLibrary = name.hasSuffix(".so") || name.hasSuffix(".py")
            guard isLibrary, !name.hasPrefix("."), !otherLibraries.contains(name) else { continue }
            names.append(name)
        }
        return names.sorted()
    }
}
