import Glibc

/// Lists plugin folders.
enum PluginFolder {
    /// Every `*.so` of `folders` in order of folder and name; what is shadowed or cannot be listed is refused.
    static func candidates(in folders: [String]) -> (found: [PluginCandidate], refusals: [PluginRefusal]) {
        var found: [PluginCandidate] = []
        var refusals: [PluginRefusal] = []
        var winners: [String: String] = [:]
        for folder in folders {
            do {
                for name in try names(in: folder) {
                    let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
                    if let winner = winners[name] {
                        refusals.append(PluginRefusal(path: path, reason: .shadowed(by: winner)))
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

    private static func names(in folder: String) throws(PluginRefusal) -> [String] {
        guard folder.hasPrefix("/") else { throw PluginRefusal(path: folder, reason: .folderNotAbsolute) }
        if let reason = FileTrust.distrust(ofFolder: folder) { throw PluginRefusal(path: folder, reason: reason) }
        guard let directory = opendir(folder) else {
            throw PluginRefusal(path: folder, reason: .unreadable(String(cString: strerror(errno))))
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".so"), !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
