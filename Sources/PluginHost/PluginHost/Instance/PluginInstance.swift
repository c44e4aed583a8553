import Core
import Dispatch
import HTTPClient
import Logging
import PluginProtocol
import Synchronization

/// An instance of a transport or a filter that can be ended.
///
/// The owner must call ``expireDeadlines()`` regularly, such as every 250 ms, and must continue during a drain;
/// ``PluginHost`` does.
package protocol DrainableInstance: AnyObject, Sendable {
    /// The clock given at the start.
    func now() -> Deadline

    /// Ends overdue work.
    func expireDeadlines()

    /// Stops new work, waits until `deadline` for open work, and destroys the plugin's instance.
    ///
    /// False if the plugin did not finish. Its instance is then never destroyed, because destroying it at work could
    /// crash its process.
    func drain(deadline: Deadline) async -> Bool
}

extension DrainableInstance {
    /// ``drain(deadline:)``, with a deadline `span` from now.
    package func drain(within span: Duration) async -> Bool { await drain(deadline: now() + span) }
}

/// An instance in a plugin's process, with its bridge to the host. It also drains and destroys the instance.
final class PluginInstance: Sendable {
    let isolated: IsolatedInstance
    let bridge: PluginBridge
    private let setup: DispatchQueue
    private let draining = Mutex<Task<Bool, Never>?>(nil)

    /// Creates the plugin's instance; blocks until the plugin has finished. Throws `refusal` with the plugin's message.
    init(
        _ blueprint: Blueprint<some Sendable>,
        _ table: CreateMessage.Table,
        bridge: PluginBridge,
        configuration: String,
        refusal: (String) -> PluginError
    ) throws(PluginError) {
        let (reply, isolated) = blueprint.setup.sync {
            blueprint.plugin.create(table, at: blueprint.index, configuration: configuration, for: bridge)
        }
        guard let isolated else {
            bridge.close()
            throw refusal(PluginText.words(reply))
        }
        self.isolated = isolated
        self.bridge = bridge
        setup = blueprint.setup
    }

    /// Calls `stop`, which must stop new work, and ends the instance like ``DrainableInstance/drain(deadline:)``.
    func drain(_ stop: @escaping @Sendable () -> Void) async -> Bool {
        let task = draining.withLock { draining in
            if let draining { return draining }
            let task = Task { await self.performDrain(stop) }
            draining = task
            return task
        }
        return await task.value
    }

    private func performDrain(_ stop: @Sendable () -> Void) async -> Bool {
        stop()
        guard await bridge.settled() else {
            bridge.log.error("The plugin did not finish its work in time; its instance was not destroyed")
            return false
        }
        await withCheckedContinuation { continuation in
            setup.async { [isolated] in
                isolated.destroy()
                continuation.resume()
            }
        }
        bridge.end()
        return true
    }
}

/// The host's services and limits for the instances that it creates.
package struct InstanceSettings: Sendable {
    /// Sends plugins' requests: a real client, or ``RecordingHTTP`` for a dry run.
    package var sender: any HTTPSender
    /// Opens plugins' streams: real connections, or ``NoStreams`` for a dry run.
    package var streams: any StreamConnector
    package var log: Logger
    /// The maximum duration of a delivery.
    package var deliveryTimeout: Duration
    /// A monotonic clock for deadlines.
    package var now: @Sendable () -> Deadline
    /// The stored values of instances.
    package var states: PluginStates
    /// The URL for clients' requests to the instance of a platform and an app; nil: it gets none.
    package var inboundURL: @Sendable (_ platform: String, _ app: String) -> String? = { _, _ in nil }

    /// Settings with defaults. Default for `states`: values are lost with their instances.
    package init(
        sender: any HTTPSender,
        streams: any StreamConnector = NoStreams(),
        log: Logger,
        deliveryTimeout: Duration = .minutes(1),
        now: @escaping @Sendable () -> Deadline = Deadline.now,
        states: PluginStates = PluginStates()
    ) {
        self.sender = sender
        self.streams = streams
        self.log = log
        self.deliveryTimeout = deliveryTimeout
        self.now = now
        self.states = states
    }
}
