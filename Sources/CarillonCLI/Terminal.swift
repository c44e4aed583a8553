import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import YAMLReading

/// What commands print to a person.
enum Terminal {
    static func error(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    /// Runs `body`; prints the mistakes it throws, one a line, and fails with status 1.
    static func printingMistakes<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let mistakes as Diagnostics {
            for mistake in mistakes.all { error("\(mistake)") }
            throw ExitCode(1)
        }
    }

    /// The same for whatever error it throws.
    static func sayingWhy<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try printingMistakes(body)
        } catch let code as ExitCode {
            throw code
        } catch {
            Self.error("\(error)")
            throw ExitCode(1)
        }
    }

    /// The same for trials, which also end with a sentence on why nothing can be tried.
    static func printingWhyNothingCanBeTried<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let mistakes as Diagnostics {
            for mistake in mistakes.all { error("\(mistake)") }
        } catch let failure as TrialFailure {
            error("\(failure)")
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
            for mistake in mistakes.all { Terminal.error("\(mistake)") }
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
