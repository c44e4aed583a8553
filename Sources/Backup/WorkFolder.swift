import Foundation
import Glibc

/// A folder for files on their way, which only this user can enter. Gone with this value; what a killed process left is
/// removed by the next one.
package final class WorkFolder {
    package let path: String
    private let descriptor: Int32

    /// Makes a folder whose name begins with `prefix`, a path. Throws a ``BackupError``.
    package init(prefix: String) throws {
        Self.removeRemains(of: prefix)
        var template = Array((prefix + "XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            let folder = URL(fileURLWithPath: prefix).deletingLastPathComponent().path
            throw BackupError("cannot make a folder in \(folder): \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        if descriptor >= 0 { close(descriptor) }
    }

    package func file(_ name: String) -> String { path + "/" + name }

    /// Those that nobody has locked. Locks end with their processes.
    private static func removeRemains(of prefix: String) {
        let url = URL(fileURLWithPath: prefix)
        let folder = url.deletingLastPathComponent().path
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard name.hasPrefix(url.lastPathComponent), name.count == url.lastPathComponent.count + 6 else { continue }
            let descriptor = open(folder + "/" + name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? FileManager.default.removeItem(atPath: folder + "/" + name)
        }
    }
}
