import ArgumentParser
import CarillonRouter
import Foundation
import Glibc
import Operations
import Storage

/// What commands print to a person.
enum Terminal {
    /// The program that runs, wherever it was started from; nil if the system does not know.
    static var program: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") }

    static func error(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    /// One line for each mistake.
    static func error(_ mistakes: Diagnostics) {
        for mistake in mistakes.all { error("\(mistake)") }
    }

    /// Runs `body`; prints the mistakes it throws, one a line, and fails with status 1.
    static func printingMistakes<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let mistakes as Diagnostics {
            error(mistakes)
            throw ExitCode(1)
        }
    }

    /// The same for whatever error it throws.
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

/// Runs what operators ask, and prints answers and what stands against them.
enum Asking {
    static func run<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch let mistakes as Diagnostics {
            Terminal.error(mistakes)
        } catch let failure as TrialFailure {
            Terminal.error("\(failure)")
        } catch let failure as OperationFailure {
            Terminal.error("\(failure)")
            throw failure.exitCode
        }
        throw ExitCode(1)
    }

    static func show(_ answer: some OperatorAnswer, asJSON: Bool) {
        print(asJSON ? answer.json : answer.text)
    }
}

extension OperationFailure {
    /// The same in every command: 64 for arguments that cannot be understood, as ArgumentParser has it, 3 if no router
    /// answers, otherwise 1.
    fileprivate var exitCode: ExitCode {
        switch kind {
        case .invalid: .validationFailure
        case .unreachable: ExitCode(3)
        case .unknown, .unavailable: .failure
        }
    }
}

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
