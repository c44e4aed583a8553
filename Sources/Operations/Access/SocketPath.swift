import Foundation
import Glibc

/// A path to a socket that fits into an address (`sun_path`), however long the socket's own path is: a long one leads
/// through its folder's descriptor.
package final class SocketPath: Sendable {
    /// SwiftNIO takes no more.
    private static let longest = 103

    /// What to listen on or to connect to while this value lives.
    package let text: String
    private let folder: Int32?

    /// Nil where the folder of a long path cannot be opened; `errno` says why.
    package init?(_ socket: String) {
        guard socket.utf8.count > Self.longest else {
            text = socket
            folder = nil
            return
        }
        let url = URL(fileURLWithPath: socket)
        let folder = open(url.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return nil }
        self.folder = folder
        text = "/proc/self/fd/\(folder)/\(url.lastPathComponent)"
    }

    deinit {
        if let folder { close(folder) }
    }
}
