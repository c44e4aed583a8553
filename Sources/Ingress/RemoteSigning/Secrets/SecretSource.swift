import Glibc
import Synchronization

/// The secrets of a file, read again when the file changed: a new one counts without a restart.
final class SecretSource: Sendable {
    /// What tells one state of a file from another without reading it.
    private struct Stamp: Equatable {
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
        let mode: UInt32

        init?(path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            inode = status.st_ino
            size = status.st_size
            seconds = status.st_ctim.tv_sec
            nanoseconds = status.st_ctim.tv_nsec
            mode = status.st_mode
        }
    }

    private struct Known {
        let stamp: Stamp
        let secrets: ConnectSecrets
    }

    private let file: SecretFile
    private let digester: ConnectSecrets.Digester
    private let known = Mutex<Known?>(nil)

    init(file: SecretFile, digester: ConnectSecrets.Digester) {
        self.file = file
        self.digester = digester
    }

    /// Throws a ``SecretFileError`` when the file cannot be used as it is now.
    func secrets() throws -> ConnectSecrets {
        // Taken before reading: what is written between the two is read the next time.
        let stamp = Stamp(path: file.path)
        if let stamp, let secrets = known.withLock({ $0?.stamp == stamp ? $0?.secrets : nil }) { return secrets }
        let secrets = ConnectSecrets(try file.read(), digester: digester)
        known.withLock { known in known = stamp.map { Known(stamp: $0, secrets: secrets) } }
        return secrets
    }
}
