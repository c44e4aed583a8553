import AccountWatch
import Console
import Delivery
import EventTrace
import Feed
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import RouterConfiguration
import Synchronization
import WebIngress

extension Router {
    /// How long stopping may take in all, in seconds.
    package var shutdownSeconds: Int { inForce.configuration.shutdownSeconds }

    /// Closes in the order of the data, so that what came in goes all the way, each step within its share of the time there is. Without
    /// a `listener` nothing was attempted.
    func close(_ listener: RelayListener?, _ console: ConsoleServer?) async {
        let time = StoppingTime(seconds: shutdownSeconds, now: now())
        do {
            try await listener?.close()
        } catch {
            logger.warning("The relay socket did not close", metadata: ["error": "\(error)"])
        }
        await ingress?.stop(within: time.part(15, now: now()))
        advertising.stop()
        await feed?.stop()
        await pool.shutdown()
        watch.shutdown()
        await endPipeline(within: time.part(30, now: now()))
        if listener != nil {
            let now = now()
            // A fifth of the time is left for what follows.
            await courier.shutdown(deadline: now + min(time.part(50, now: now), time.allBut(20, now: now)))
        }
        trace?.close()
        await console?.stop(within: time.part(5, now: now()))
        // What plugins still wait for ends with the lanes, and they with it.
        await lanes.shutdown()
        await plugins.shutDown(within: time.part(15, now: now()))
        outbox.settle()
        registry.store.settle()
        do {
            try await group.shutdownGracefully()
        } catch {
            logger.warning("The event loops did not end well", metadata: ["error": "\(error)"])
        }
    }

    /// Lets the pipeline work off what it was brought for so many milliseconds, and then refuses the rest: who brought it was not told that it
    /// is kept, and brings it again.
    private func endPipeline(within milliseconds: Int64) async {
        intake.close()
        let impatience = Task { [intake, logger] in
            guard (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil else { return }
            logger.warning("Refusing events that the time does not suffice for")
            intake.abandon()
        }
        await pipeline.join()
        impatience.cancel()
    }
}
