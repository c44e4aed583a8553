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
            Registrations and events come in over the relay socket; deliveries that are not through when the router stops
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
        try await ServiceGroup(
            services: [Announced(router: router, portFile: portFile)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        ).run()
    }

    /// The router, telling others where it listens.
    private struct Announced: Service {
        let router: Router
        let portFile: String?

        func run() async throws {
            try await router.run { port in
                guard let portFile else { return }
                try? Data("\(port)\n".utf8).write(to: URL(fileURLWithPath: portFile), options: .atomic)
            }
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
