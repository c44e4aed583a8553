import ArgumentParser
import CarillonRouter
import Operations
import YAMLReading

/// Runs what operators ask, and prints answers and what stands against them.
enum Asking {
    static func run<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch let mistakes as Diagnostics {
            for mistake in mistakes.all { Terminal.error("\(mistake)") }
        } catch let failure as OperationFailure {
            Terminal.error("\(failure)")
        }
        throw ExitCode(1)
    }

    static func show(_ answer: some OperatorAnswer, asJSON: Bool) {
        print(asJSON ? answer.json : answer.text)
    }
}
