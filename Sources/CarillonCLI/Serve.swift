import ArgumentParser
import CarillonRouter
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// `carillon serve`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the router until it is told to stop (SIGTERM or SIGINT).",
        discussion: """
            Registrations and events come in over the relay socket; deliveries that are not through when the router stops \
            are kept and go on at the next start.

              carillon serve --config /etc/carillon/carillon.yaml --log-level debug
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Option(help: "trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info

    @Option(help: ArgumentHelp("Write the relay socket's port to this file once it listens.", visibility: .hidden))
    var portFile: String?

    func run() async throws {
        let level = logLevel
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        let logger = Logger(label: "carillon")
        let configuration = try config.read()
        let router = try Terminal.printingMistakes { try Router(configuration: configuration, logger: logger) }
        let impatience = Task { await Self.endAtSecondInterrupt(logger) }
        defer { impatience.cancel() }
        try await ServiceGroup(
            services: [Announced(router: router, portFile: portFile)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        ).run()
    }

    /// Whoever presses ^C again does not want to wait for what is under way; it goes out at the next start.
    private static func endAtSecondInterrupt(_ logger: Logger) async {
        var interrupts = 0
        for await _ in await UnixSignalsSequence(trapping: .sigint) {
            interrupts += 1
            guard interrupts > 1 else { continue }
            logger.warning("Interrupted twice: ending at once")
            _exit(130)
        }
    }

    /// The router, telling others where it listens.
    private struct Announced: Service {
        let router: Router
        let portFile: String?

        func run() async throws {
            try await router.run { port in
                guard let portFile else { return }
                do {
                    try Data("\(port)\n".utf8).write(to: URL(fileURLWithPath: portFile), options: .atomic)
                } catch {
                    Terminal.error("cannot write the port to \(portFile): \(error)")
                }
            }
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
