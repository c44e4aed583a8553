import Foundation
import Glibc

/// A line on a terminal that says how far something is. Nothing where standard error is none.
final class ProgressLine {
    private let what: String
    private let isShown = isatty(STDERR_FILENO) == 1
    private var percent: Int64 = -1

    /// `what` is what is being done, as in "Copying".
    init(_ what: String) {
        self.what = what
    }

    /// Shows another percentage.
    func show(_ done: Int64, of total: Int64) {
        guard isShown, total > 0 else { return }
        let now = done * 100 / total
        guard now != percent else { return }
        percent = now
        write("\r\(what): \(now) %")
    }

    /// Removes the line.
    func end() {
        if percent >= 0 { write("\r\u{1B}[K") }
        percent = -1
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
