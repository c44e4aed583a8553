import Foundation
import Glibc
import Operations

/// The folder of the socket for commands. Nobody but this user and root may enter it, so that nobody else can connect,
/// also in the moment in which the socket is made.
struct AdminFolder {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let socket: String
    private let path: String

    init(around socket: String) {
        self.socket = socket
        path = URL(fileURLWithPath: socket).deletingLastPathComponent().path
    }

    /// Makes the folder, or sees that it is what it must be. Returns where to listen.
    func prepare() throws(Failure) -> SocketPath {
        try makeFolder()
        guard let address = SocketPath(socket) else { throw failure }
        return address
    }

    private func makeFolder() throws(Failure) {
        if mkdir(path, 0o700) == 0 { return }
        guard errno == EEXIST else { throw failure }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw failure }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
            throw Failure(description: "\(path) is no folder of this user's: remove it")
        }
        guard chmod(path, 0o700) == 0 else { throw failure }
    }

    func remove() {
        unlink(socket)
        rmdir(path)
    }

    private var failure: Failure { Failure(description: "\(path): \(String(cString: strerror(errno)))") }
}
