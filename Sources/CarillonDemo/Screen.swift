import Foundation

/// Aligned columns for people, in colour if the terminal supports it.
struct Screen {
    private enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
    }

    /// The symbol at the beginning of a line.
    enum Mark {
        case good
        case bad
        case none
    }

    private static let kindWidth = 7
    private static let captionWidth = 33
    private static let middleWidth = 20
    private static let stepWidth = 26
    private static let resultWidth = 14
    private let hasColours: Bool

    init() {
        hasColours = isatty(1) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    }

    func heading(_ text: String) {
        write("\n" + styled(text, .bold))
    }

    func text(_ text: String) {
        write("  " + text)
    }

    /// Writes the names of the columns.
    func columns(_ middle: String, _ last: String) {
        write(styled(cells("kind", "event", middle) + last, .dim))
    }

    /// A step that succeeded, its result, and a remark.
    func step(_ what: String, _ result: String, _ remark: String = "") {
        let start = " " + symbol(.good) + " " + padded(what, Self.stepWidth)
        write(remark.isEmpty ? start + result : start + padded(result, Self.resultWidth) + styled(remark, .dim))
    }

    /// An event and what arrived. Texts with emoji come last: terminals differ in their width.
    func row(_ mark: Mark, kind: UInt16, caption: String, middle: String, last: [String]) {
        let start = cells(String(kind), caption, middle)
        write(" " + symbol(mark) + " " + start.dropFirst(3) + (last.first ?? ""))
        writeRest(of: last, below: start)
    }

    /// What arrived at another place for the event above.
    func row(middle: String, last: [String]) {
        let start = cells("", "", middle)
        write(start + (last.first ?? ""))
        writeRest(of: last, below: start)
    }

    func detail(_ text: String) {
        for line in text.split(separator: "\n") { write(styled("              " + line, .dim)) }
    }

    func success(_ text: String) {
        write("\n  " + styled(text, .green) + "\n")
    }

    func failure(_ text: String) {
        write("\n  " + styled("FAILED: " + text, .red) + "\n")
    }

    private func writeRest(of lines: [String], below start: String) {
        for line in lines.dropFirst() {
            write(String(repeating: " ", count: start.count) + styled(line, .dim))
        }
    }

    private func cells(_ kind: String, _ caption: String, _ middle: String) -> String {
        "   " + padded(kind, Self.kindWidth) + padded(caption, Self.captionWidth) + padded(middle, Self.middleWidth)
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private func symbol(_ mark: Mark) -> String {
        switch mark {
        case .good: styled("✓", .green)
        case .bad: styled("✗", .red)
        case .none: " "
        }
    }

    private func styled(_ text: String, _ style: Style) -> String {
        hasColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes without a buffer, even to a pipe.
    private func write(_ line: some StringProtocol) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
