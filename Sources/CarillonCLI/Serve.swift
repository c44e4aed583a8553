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
            Registrations and events come in over the relay socket and from the relays that the configuration and users name. \
            Deliveries that are not through when the router stops are kept and go on at the next start.

              carillon serve
              carillon serve --config /etc/carillon/carillon.yaml --log-level debug

            A feed brings events without a socket, one a line: events as they are, relay messages (["EVENT",{…}]) or what \
            strfry tells its plugins. While the router is busy it reads no more, so whoever writes waits.

              nak req --stream wss://relay.example.com | carillon serve --feed -
              carillon serve --feed yesterday.jsonl --feed-exit
              mkfifo -m 660 /run/carillon/feed && carillon serve --feed /run/carillon/feed

            Into the last one strfry writes with the hook in contrib/strfry. A FIFO has no end: writers come and go. After \
            standard input or a file the router serves on, unless --feed-exit is given.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Option(help: "trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info

    @Option(help: "Read events, one JSON text a line, from this file or FIFO, or from standard input (-).")
    var feed: String?

    @Flag(help: "Stop when the feed has ended and everything that it wakes is kept.")
    var feedExit = false

    @Option(help: ArgumentHelp("Write the relay socket's port to this file once it listens.", visibility: .hidden))
    var portFile: String?

    func validate() throws {
        if feedExit, feed == nil {
            throw ValidationError("--feed-exit says when to stop reading --feed, which is missing")
        }
    }

    func run() async throws {
        let level = logLevel
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        let logger = Logger(label: "carillon")
        var configuration = try config.read()
        configuration.feed = feed.map { Configuration.Feed(path: $0, stopsAtEnd: feedExit) }
        let router = try Terminal.printingMistakes { [configuration] in
            try Router(configuration: configuration, logger: logger)
        }
        let impatience = Task { await Self.endAtSecondInterrupt(logger) }
        defer { impatience.cancel() }
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    // It ends by itself only where its feed is to be its end.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: Announced(router: router, portFile: portFile),
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
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
