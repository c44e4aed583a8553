import AccountWatch
import Console
import Delivery
import Dispatch
import EventTrace
import Feed
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import Nostr
import Operations
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import RouterConfiguration
import Rules
import ServiceLifecycle
import Synchronization
import WebIngress

extension Router {
    /// Serves until graceful shutdown, then lets what is under way end and leaves the rest in the outbox.
    package func run() async throws {
        try await run(started: { _ in })
    }

    /// The same; `started` learns the port of the relay socket once it listens.
    package func run(started: @Sendable (Int) -> Void) async throws {
        let keeper = Task { [plugins] in await plugins.run() }
        let patterns = Task { [inForce, logger] in
            await DearPatterns.watch({ inForce.rules.exceededPatterns }, logger: logger)
        }
        defer { patterns.cancel() }
        defer { keeper.cancel() }
        var listener: RelayListener?
        var console: ConsoleServer?
        var failure: (any Error)?
        do {
            // First of all: where it fails nothing was attempted yet.
            let listening = try await listen()
            listener = listening
            port.set(listening.port)
            try await startIngress()
            console = try await startConsole()
            try await serve(port: listening.port, started: started)
            logger.info("Stopping")
        } catch {
            failure = error
        }
        serving.store(false, ordering: .relaxed)
        serviceManager?.stopping()
        await close(listener, console)
        if let failure { throw failure }
        logger.info("Stopped", metadata: ["waiting": "\(courier.waiting)"])
    }

    private func listen() async throws -> RelayListener {
        do {
            return try await server.start()
        } catch {
            throw RouterError.cannotListen(
                "relay.listen",
                host: configuration.relay.host,
                port: configuration.relay.port,
                error
            )
        }
    }

    /// Lets everything work that works by itself, until it is to stop.
    private func serve(port: Int, started: @Sendable (Int) -> Void) async throws {
        courier.start()
        logger.info(
            "Listening",
            metadata: [
                "relay": "\(configuration.relay.host):\(port)", "npub": "\(NIP19.npub(identity.publicKey))",
                "platforms": "\(transports.current.platforms.joined(separator: ", "))",
            ]
        )
        // With `off` nothing is kept, and so nothing of a time before it.
        if trace == nil { TraceStore.discard(path: configuration.tracePath, logger: logger) }
        try await goOut()
        await transports.refreshStatuses()
        advertise(port: port)
        feed?.start()
        serving.store(true, ordering: .relaxed)
        started(port)
        serviceManager?.ready("Serving at \(configuration.relay.host):\(port)")
        let attendants = attend(port: port)
        await stopWanted()
        // Stopping has a deadline of its own, for which the manager waits.
        for attendant in attendants { attendant.cancel() }
    }

    /// What is looked after now and then while the router serves.
    private func attend(port: Int) -> [Task<Void, Never>] {
        var attendants = [
            Task { [weak self, transports] in
                while (try? await Task.sleep(for: .seconds(600))) != nil {
                    await transports.refreshStatuses()
                    self?.advertise(port: port)
                }
            }
        ]
        if let trace { attendants.append(Task { await trace.dropExpired() }) }
        if let serviceManager, let interval = serviceManager.watchdog {
            let watchdog = Watchdog(
                interval: interval,
                stuck: health.stuck(within:),
                alive: serviceManager.alive,
                logger: logger
            )
            attendants.append(Task { await watchdog.run() })
        }
        return attendants
    }

    /// Connects to the operator's relays and to those of everybody registered.
    private func goOut() async throws {
        pool.keep(Array(Set(configuration.relays.always + configuration.relays.nip46)))
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            // Everybody is read from the disk, which the threads that tasks share must not wait for.
            DispatchQueue.global().async { [watch, pool] in
                continuation.resume(with: Result { try watch.start(at: pool) })
            }
        }
    }

    /// Returns on graceful shutdown, and at the end of a feed that is to be the router's too.
    private func stopWanted() async {
        await withTaskGroup { [feedEnd] group in
            // Throws when this task is cancelled, which is to stop as well.
            group.addTask { try? await gracefulShutdown() }
            group.addTask { await feedEnd.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    /// Tells clients what they can have here, where that is not what they were told before.
    func advertise(port: Int) {
        let configuration = inForce.configuration
        if advertising.event == nil, configuration.relay.url.isEmpty, !configuration.relays.publish.isEmpty {
            logger.warning("relay.url is not set, so the advertisement leads nobody here from another machine")
        }
        let terms = PushTerms(
            platforms: transports.current.platforms,
            limits: configuration.registrationLimits,
            apps: transports.statuses.clients
        )
        do {
            let advertisement = try Advertisement(configuration: configuration, port: port, terms)
            try server.inform(
                Self.information(configuration, identity: identity, terms),
                discovery: advertisement.document(of: identity.publicKey)
            )
            try advertising.advertise(
                advertisement,
                stored: registry.storedEvents(of: identity.publicKey),
                keep: { try registry.keep($0) }
            )
        } catch {
            logger.error("The advertisement could not be kept, so there is none", metadata: ["error": "\(error)"])
        }
    }
}
