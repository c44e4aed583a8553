import CarillonABI
import Dispatch
import Glibc
import Synchronization

/// One shared object in this process. The dynamic linker never unloads its copy of a file, so there is one of these
/// for each file, whoever asks.
package final class PluginLibrary: Sendable {
    package typealias Entry = @convention(c) () -> UnsafePointer<carillon_plugin>?

    let path: String
    let identity: FileIdentity
    let sha256: String
    /// Runs what the header marks `[setup]`: one such call at a time per library.
    package let setup: DispatchQueue
    package let entry: Entry

    private static let loaded = Mutex<[FileIdentity: PluginLibrary]>([:])

    private init(_ file: PluginFile, entry: @escaping Entry) {
        path = file.path
        identity = file.identity
        sha256 = file.sha256
        setup = DispatchQueue(label: "carillon.plugin.setup")
        self.entry = entry
    }

    /// The library of `file`, loaded now or earlier. A new file that was renamed over an old one is loaded beside it.
    package static func open(_ file: PluginFile) throws(PluginRefusal.Reason) -> PluginLibrary {
        let opened = loaded.withLock { loaded -> Result<PluginLibrary, PluginRefusal.Reason> in
            if let library = loaded[file.identity] {
                return library.sha256 == file.sha256 ? .success(library) : .failure(.overwrittenWhileLoaded)
            }
            return Result { () throws(PluginRefusal.Reason) in
                let entry = try load(distinctPath(of: file, among: loaded.values))
                let library = PluginLibrary(file, entry: entry)
                loaded[file.identity] = library
                return library
            }
        }
        return try opened.get()
    }

    /// What the plugin says about itself, in a copy of our own.
    package func descriptor() throws(PluginRefusal.Reason) -> PluginDescriptor {
        guard let pointer = setup.sync(execute: { entry() }) else { throw .refusedItself }
        return try PluginDescriptor(reading: pointer)
    }

    /// glibc takes a path it has loaded before for the same library, even when another file lies there by now. Another
    /// spelling makes it look.
    private static func distinctPath(of file: PluginFile, among loaded: some Sequence<PluginLibrary>) -> String {
        let older = loaded.count { $0.path == file.path }
        guard older > 0, let slash = file.path.lastIndex(of: "/") else { return file.path }
        let detour = String(repeating: "/.", count: older)
        return file.path[..<slash] + detour + file.path[slash...]
    }

    private static func load(_ path: String) throws(PluginRefusal.Reason) -> Entry {
        guard let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw .notLoadable(PluginText.printable(dlerror().map { String(cString: $0) } ?? "nothing"))
        }
        if let symbol = dlsym(handle, "carillon_plugin_entry_v1") {
            return unsafeBitCast(symbol, to: Entry.self)
        }
        for major in 2...99 where dlsym(handle, "carillon_plugin_entry_v\(major)") != nil {
            throw .otherMajor(major)
        }
        throw .noEntry
    }
}
