import AccountWatch
import Delivery
import Dispatch
import Feed
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import Nostr
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import Rules
import ServiceLifecycle
import WebIngress

extension Router {
    /// How long outcomes under way are waited for when the router stops, in milliseconds. With what relays and plugins get besides
    /// it stays under the ten seconds that container engines give: what has not ended by then is kept and goes on at the next
    /// start.
    private static let patience: Int64 = 5_000
    /// How long plugins may take to let go of what was cancelled, in milliseconds.
    private static let pluginPatience: Int64 = 2_000
    /// How long senders may take to end a push message that they have begun, in milliseconds.
    private static let ingressPatience: Int64 = 2_000

    /// Serves until graceful shutdown, then lets what is under way end and leaves the rest in the outbox.
    package func run() async throws {
        try await run(started: { _ in })
    }

    /// The same; `started` learns the port of the relay socket once it listens.
    package func run(started: @Sendable (Int) -> Void) async throws {
        let keeper = Task { [plugins] in await plugins.run() }
        let patterns = Task { [rules, logger] in await DearPatterns.watch({ rules.exceededPatterns }, logger: logger) }
        defer { patterns.cancel() }
        defer { keeper.cancel() }
        var listener: RelayListener?
        var failure: (any Error)?
        do {
            // First of all: where it fails nothing was attempted yet.
            let listening = try await listen()
            listener = listening
            try await startIngress()
            try await serve(port: listening.port, started: started)
            logger.info("Stopping")
        } catch {
            failure = error
        }
        await close(listener)
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
                "platforms": "\(transports.platforms.joined(separator: ", "))",
            ]
        )
        try await goOut()
        advertise(port: port)
        feed?.start()
        started(port)
        await stopWanted()
    }

    /// Closes in the order of the data, so that what came in goes all the way. Without a `listener` nothing was attempted.
    private func close(_ listener: RelayListener?) async {
        do {
            try await listener?.close()
        } catch {
            logger.warning("The relay socket did not close", metadata: ["error": "\(error)"])
        }
        await ingress?.stop(within: Self.ingressPatience)
        advertising.stop()
        await feed?.stop()
        await pool.shutdown()
        watch.shutdown()
        intake.close()
        await pipeline.join()
        if listener != nil { await courier.shutdown(deadline: now() + Self.patience) }
        // What plugins still wait for ends with the lanes, and they with it.
        await lanes.shutdown()
        await plugins.shutDown(within: Self.pluginPatience)
        do {
            try await group.shutdownGracefully()
        } catch {
            logger.warning("The event loops did not end well", metadata: ["error": "\(error)"])
        }
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

    private func advertise(port: Int) {
        if configuration.relay.url.isEmpty, !configuration.relays.publish.isEmpty {
            logger.warning("relay.url is not set, so the advertisement leads nobody here from another machine")
        }
        do {
            try advertising.advertise(
                Advertisement(configuration: configuration, port: port, platforms: transports.platforms),
                stored: registry.storedEvents(of: identity.publicKey),
                keep: { try registry.keep($0) }
            )
        } catch {
            logger.error("The advertisement could not be kept, so there is none", metadata: ["error": "\(error)"])
        }
    }
}
