import ArgumentParser
import CAllocator
import CarillonRouter
import Core
import Dispatch
import Foundation
import Logging
import Operations
import RouterConfiguration
import ServiceLifecycle
import Storage
import UnixSignals

/// `carillon serve`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the router until SIGTERM or SIGINT.",
        discussion: """
            The router receives registrations and events over its relay socket and from the relays of the \
            configuration and of users. Unfinished deliveries are kept when it stops and continue at the next start.

              carillon serve
              carillon serve --config /etc/carillon/carillon.yaml --log-level debug

            A feed supplies events without a socket, one a line: plain events, relay messages (["EVENT",{…}]) or the \
            messages of strfry to its plugins. While the router is busy it stops reading, so the writer waits.

              nak req --stream wss://relay.example.com | carillon serve --feed -
              carillon serve --feed yesterday.jsonl --feed-exit
              mkfifo -m 660 /run/carillon/feed && carillon serve --feed /run/carillon/feed
              carillon serve --feed /var/spool/carillon-feed

            strfry writes into the last one, a folder, with the hook in contrib/strfry. If the router is killed, no \
            events in a folder are lost; from other feeds, events that were read but not yet stored are lost. Folders \
            and FIFOs never end. After standard input or a file, the router keeps running unless --feed-exit is given.

            Without a configuration, but with the environment variables of metatext-apns, the router replaces it. It \
            is then only the sealed ingress, at port 9292 of all IPv4 addresses unless PORT is set:

              APNS_KEY_ID=… APNS_AUTH_KEY="$(cat AuthKey.p8)" APPLE_TEAM_ID=… TOPIC=… PORT=9292 carillon serve

            SIGHUP reloads the configuration, like carillon reload. Under systemd the router reports its state \
            (Type=notify or notify-reload) and the watchdog; contrib/systemd has a unit.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Option(
        help: "trace, debug, info, notice, warning, error or critical. Default: the configuration's, or info."
    )
    var logLevel: Logger.Level?

    @Option(help: "auto, text, json or journald. Default: the configuration's, or auto.")
    var logFormat: LogFormat?

    @Option(help: "Read events, one JSON text a line, from this file, FIFO or folder, or from standard input (-).")
    var feed: String?

    @Flag(help: "Stop when the feed has ended and its deliveries are stored.")
    var feedExit = false

    @Option(help: ArgumentHelp("Write the relay socket's port to this file once it listens.", visibility: .hidden))
    var portFile: String?

    @Option(help: ArgumentHelp("The same for the sealed ingress's port.", visibility: .hidden))
    var ingressPortFile: String?

    @Option(help: ArgumentHelp("The same for the API's port.", visibility: .hidden))
    var apiPortFile: String?

    @Option(help: ArgumentHelp("Where the journal listens, for tests.", visibility: .hidden))
    var journalSocket: String?

    func validate() throws {
        if feedExit, feed == nil {
            throw ValidationError("--feed-exit needs --feed")
        }
    }

    func run() async throws {
        // Without a bound, the allocator keeps each thread's peak memory.
        _ = carillon_bound_allocator(Int32(max(4, 2 * ProcessInfo.processInfo.activeProcessorCount)), 4 << 20)
        // Must be installed before the configuration is read, so that no later reload is missed.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let output = startLog()
        let logger = Logger(label: "carillon")
        var configuration = try configuration()
        let applyLog: @Sendable (Configuration.Log) -> Void = { [logLevel, logFormat] log in
            output.levels.setUsual(logLevel ?? log.level ?? .info)
            let format = logFormat ?? log.format
            if !output.use(format), format == .journald {
                logger.warning("The journal is not available; logging as text")
            }
        }
        applyLog(configuration.log)
        configuration.feed = feed.map { Configuration.Feed(path: $0, stopsAtEnd: feedExit) }
        let (membership, endpoints) = try await Self.join(configuration, logger)
        let router = try Terminal.printingMistakes { [configuration] in
            try Router(
                configuration: configuration,
                process: RouterProcess(
                    reread: Self.rereading(configuration),
                    serviceManager: ServiceManager(environment: { ProcessInfo.processInfo.environment[$0] }),
                    levels: output.levels,
                    applyLog: applyLog
                ),
                logger: logger,
                membership: membership,
                endpoints: endpoints
            )
        }
        let timeoutTask = Task { await Self.endAtSecondInterrupt(logger) }
        defer { timeoutTask.cancel() }
        let reloads = Task { for await _ in hangups { await router.reloadAtSignal() } }
        defer { reloads.cancel() }
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    // The router ends itself only if it is configured to end with its feed.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: Announced(
                            router: router,
                            portFile: portFile,
                            ingressPortFile: ingressPortFile,
                            apiPortFile: apiPortFile,
                            logger: logger
                        ),
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        ).run()
    }

    /// Starts the log of this process, with the levels and format of the options.
    private func startLog() -> LogOutput {
        let output = LogOutput(
            levels: LogLevels(usual: logLevel ?? .info),
            journalStream: ProcessInfo.processInfo.environment["JOURNAL_STREAM"],
            journalPath: journalSocket
        )
        output.use(logFormat ?? .auto)
        LoggingSystem.bootstrap { output.handler(label: $0) }
        return output
    }

    /// Returns the configuration of the file, or of the environment if there is no file.
    private func configuration() throws -> Configuration {
        guard config.isAbsent else {
            return try Terminal.printingMistakes { try config.read(withoutCredentials: false) }
        }
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let found = try Terminal.printingMistakes { () throws in
            let configuration = try Configuration.SealedIngress.alone(
                environment: ProcessInfo.processInfo.environment,
                platforms: try CommandPlugins().platforms.catalog,
                executableFolder: URL(fileURLWithPath: executable).deletingLastPathComponent().path,
                folder: FileManager.default.currentDirectoryPath
            )
            try configuration?.store.makeFolder()
            return configuration
        }
        return try found ?? config.read(withoutCredentials: false)
    }

    /// Reads the same file again; `nil` if there was none.
    private static func rereading(
        _ configuration: Configuration
    ) -> (@Sendable () throws(Diagnostics) -> Configuration)? {
        guard let file = configuration.file else { return nil }
        return { () throws(Diagnostics) in try Configuration(file: file) }
    }

    /// Ends the router immediately at a second ^C. Work in flight continues at the next start.
    private static func endAtSecondInterrupt(_ logger: Logger) async {
        var interrupts = 0
        for await _ in await UnixSignalsSequence(trapping: .sigint) {
            interrupts += 1
            guard interrupts > 1 else { continue }
            logger.warning("Interrupted twice, ending immediately")
            _exit(130)
        }
    }

    /// The router as a service that writes its ports to files.
    private struct Announced: Service {
        let router: Router
        let portFile: String?
        let ingressPortFile: String?
        let apiPortFile: String?
        let logger: Logger

        func run() async throws {
            try await withGracefulShutdownHandler {
                try await router.run { port in
                    write(router.sealedIngressPort, to: ingressPortFile)
                    write(router.consolePort, to: apiPortFile)
                    write(port, to: portFile)
                }
            } onGracefulShutdown: {
                endInTime()
            }
        }

        /// Ends the process after the shutdown timeout. Accepted work is on disk, so parts that hang can be abandoned.
        private func endInTime() {
            let seconds = Int(router.shutdownTime.seconds)
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) {
                logger.warning("Stopping took too long, ending now", metadata: ["seconds": "\(seconds)"])
                _exit(0)
            }
        }

        private func write(_ port: Int?, to file: String?) {
            guard let port, let file else { return }
            do {
                try Data("\(port)\n".utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            } catch {
                Terminal.error("cannot write the port to \(file): \(error)")
            }
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
extension LogFormat: ExpressibleByArgument {}
