import Foundation
import Glibc

/// Says how far the checks are while they run, so that it is known where a plugin took the process along.
package struct ConformanceProgress: Sendable {
    private let file: Int32?

    private init(file: Int32?) {
        self.file = file
    }

    /// Tells nobody.
    package static let none = ConformanceProgress(file: nil)

    /// One line of JSON for each step to `descriptor`, which stays the caller's and is not buffered.
    package static func lines(to descriptor: Int32) -> ConformanceProgress { ConformanceProgress(file: descriptor) }

    func tell(_ line: ProgressLine) {
        guard let file, var bytes = try? JSONEncoder().encode(line) else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }
}
