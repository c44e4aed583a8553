import ArgumentParser
import CarillonRouter
import Foundation
import Glibc
import Operations
import Storage

/// Output of commands for people.
enum Terminal {
    /// The path of the running program, independent of the start directory; `nil` if unknown.
    static var program: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") }

    static func error(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    /// Prints one line for each error.
    static func error(_ mistakes: Diagnostics) {
        for mistake in mistakes.all { error("\(mistake)") }
    }

    /// Runs `body`; prints the errors that it throws, one a line, and fails with status 1.
    static func printingMistakes<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let mistakes as Diagnostics {
            error(mistakes)
            throw ExitCode(1)
        }
    }

    /// Runs `body`; prints any error that it throws, and fails with status 1.
    static func sayingWhy<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let code as ExitCode {
            throw code
        } catch let mistakes as Diagnostics {
            error(mistakes)
        } catch {
            Self.error("\(error)")
        }
        throw ExitCode(1)
    }
}

/// Runs operators' requests and prints answers and errors.
enum Asking {
    static func run<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch let mistakes as Diagnostics {
            Terminal.error(mistakes)
        } catch let failure as TrialError {
            Terminal.error("\(failure)")
        } catch let failure as OperationError {
            Terminal.error("\(failure)")
            throw failure.exitCode
        }
        throw ExitCode(1)
    }

    static func show(_ answer: some OperatorAnswer, asJSON: Bool) {
        print(asJSON ? answer.json : answer.text)
    }
}

extension OperationError {
    /// The exit code, the same in every command: 64 for invalid arguments (like ArgumentParser), 3 if no router
    /// responds, otherwise 1.
    fileprivate var exitCode: ExitCode {
        switch kind {
        case .invalid: .validationFailure
        case .unreachable: ExitCode(3)
        case .unknown, .unavailable: .failure
        }
    }
}

/// A progress line on a terminal. Prints nothing if standard error is not a terminal.
final class ProgressLine {
    private let what: String
    private let isShown = isatty(STDERR_FILENO) == 1
    private var percent: Int64 = -1

    /// `what` is the current action, such as "Copying".
    init(_ what: String) {
        self.what = what
    }

    /// Shows the percentage if it changed.
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
