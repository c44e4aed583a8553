import Cipher
import Foundation
import Glibc
import Operations

/// The passphrase of a backup: from a file, or asked for on the terminal.
struct Passphrase {
    private static let mostBytes = 1_024

    /// Nil: it is asked for.
    let file: String?

    /// Asks twice where a new one is chosen. Throws an `OperationFailure` where there is none.
    func read(isNew: Bool) throws -> [UInt8] {
        if let file { return try Self.content(of: file) }
        let first = try Self.ask("Passphrase of the backup: ")
        if isNew, try Self.ask("Once more: ") != first {
            throw OperationFailure.unavailable("the two differ: nothing was done")
        }
        return first
    }

    /// The first line.
    private static func content(of file: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw OperationFailure.unavailable("--passphrase-file: cannot read \(file)")
        }
        if let exposure = FileExposure(ofFile: file) {
            throw OperationFailure.unavailable(
                "--passphrase-file: \(file) \(exposure); run: \(exposure.remedy(for: file))"
            )
        }
        return try checked(
            Array(data.prefix { $0 != 0x0A && $0 != 0x0D }),
            "--passphrase-file: the first line of \(file)"
        )
    }

    private static func ask(_ question: String) throws -> [UInt8] {
        guard isatty(STDIN_FILENO) == 1 else {
            throw OperationFailure.unavailable(
                "the backup needs a passphrase: name a file with --passphrase-file, or run this in a terminal"
            )
        }
        var settings = termios()
        tcgetattr(STDIN_FILENO, &settings)
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        // First, so that nothing that is typed at the question is shown or thrown away.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        FileHandle.standardError.write(Data(question.utf8))
        defer {
            tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
            FileHandle.standardError.write(Data("\n".utf8))
        }
        return try checked(Array((readLine(strippingNewline: true) ?? "").utf8), "the passphrase")
    }

    private static func checked(_ passphrase: [UInt8], _ what: String) throws -> [UInt8] {
        guard (1...mostBytes).contains(passphrase.count) else {
            throw OperationFailure.unavailable("\(what) is empty or longer than \(mostBytes) bytes")
        }
        return passphrase
    }
}
