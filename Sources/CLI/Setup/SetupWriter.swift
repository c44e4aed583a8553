import Cipher
import Foundation

/// Writes the files of a setup plan. Each file is written completely or not at all, and the configuration comes last.
package struct SetupWriter {
    private let plan: SetupPlan
    private static let suffix = ".setup-new"

    package init(_ plan: SetupPlan) {
        self.plan = plan
    }

    /// Existing files with different contents, which would be replaced.
    package var conflicts: [String] {
        plan.files.filter { file in
            guard FileManager.default.fileExists(atPath: file.path) else { return false }
            return FileManager.default.contents(atPath: file.path) != Data(file.text.utf8)
        }.map(\.path)
    }

    /// Creates directories, missing keys and secrets, and the files. Returns the paths of new and replaced files.
    ///
    /// Throws the path and the error if a file cannot be written. In that case all files are unchanged, unless the disk
    /// failed while files were renamed.
    package func write() throws(SetupError) -> [String] {
        for folder in plan.folders { try make(folder.path, isSecret: folder.isSecret) }
        var written: [String] = []
        if let path = plan.blocks.newVAPIDKey, !FileManager.default.fileExists(atPath: path) {
            try writeSecret(path, P256PrivateKey().pemRepresentation)
            written.append(path)
        }
        if let path = plan.blocks.newWebhookSecret, !FileManager.default.fileExists(atPath: path) {
            try writeSecret(path, "whsec_\(Base64.encode(SecureRandom.bytes(32)))\n")
            written.append(path)
        }
        let files = plan.files.filter {
            FileManager.default.contents(atPath: $0.path) != Data($0.text.utf8)
        }
        defer { for file in files { unlink(file.path + Self.suffix) } }
        for file in files {
            guard FileManager.default.contents(atPath: file.path) != nil || !Self.isSomething(file.path) else {
                throw SetupError("cannot write \(file.path): it exists, but is not a readable file")
            }
            try prepare(file)
        }
        for file in files {
            guard rename(file.path + Self.suffix, file.path) == 0 else { throw Self.cannotWrite(file.path) }
            written.append(file.path)
        }
        return written
    }

    private func make(_ path: String, isSecret: Bool) throws(SetupError) {
        var isFolder = ObjCBool(false)
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder.boolValue else { throw SetupError("\(path) is not a folder") }
            return
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: isSecret ? 0o700 : 0o755]
            )
        } catch {
            throw SetupError("cannot make the folder \(path): \(String(cString: strerror(errno)))")
        }
    }

    private func prepare(_ file: SetupPlan.File) throws(SetupError) {
        let path = file.path + Self.suffix
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Self.cannotWrite(file.path) }
        defer { close(descriptor) }
        // The service's user must be able to read the configuration, whatever root's umask is. It contains no secrets.
        guard !plan.isService || fchmod(descriptor, 0o644) == 0 else { throw Self.cannotWrite(file.path) }
        var rest = Array(file.text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw Self.cannotWrite(file.path)
            }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw Self.cannotWrite(file.path) }
    }

    private func writeSecret(_ path: String, _ text: String) throws(SetupError) {
        let number = NewSecretFile.create(path, Array(text.utf8))
        guard number == 0 else { throw SetupError("cannot write \(path): \(String(cString: strerror(number)))") }
    }

    private static func isSomething(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private static func cannotWrite(_ path: String) -> SetupError {
        SetupError("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
