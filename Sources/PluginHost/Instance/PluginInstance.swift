import CarillonABI
import Dispatch
import Logging
import Synchronization
import Units

/// The plugin's own pointer of an instance, never looked into here.
///
/// Unchecked: the plugin promises to take it from any thread.
package struct PluginHandle: @unchecked Sendable {
    package let pointer: UnsafeMutableRawPointer?

    package init(pointer: UnsafeMutableRawPointer?) {
        self.pointer = pointer
    }
}

/// An instance of a transport or a filter that can be ended.
///
/// Something must go on calling ``expireDeadlines()``, such as four times a second, also while one drains;
/// ``PluginHost`` does.
package protocol DrainableInstance: AnyObject, Sendable {
    /// The clock given at the start.
    func now() -> Deadline

    /// Stops waiting for what is due.
    func expireDeadlines()

    /// Lets nothing new begin, waits until `deadline` for what is under way, and destroys the plugin's instance.
    ///
    /// False when the plugin would not finish: its instance is then never destroyed, because destroying it at work
    /// could take the router along.
    func drain(deadline: Deadline) async -> Bool
}

extension DrainableInstance {
    /// ``drain(deadline:)``, with a deadline `span` from now.
    package func drain(within span: Duration) async -> Bool { await drain(deadline: now() + span) }
}

/// What a plugin made for a transport or a filter: its own pointer, its bridge to the host, and its end.
final class PluginInstance: Sendable {
    let handle: PluginHandle
    let bridge: PluginBridge
    private let setup: DispatchQueue
    private let destroy: TransportFunctions.Destroy
    private let draining = Mutex<Task<Bool, Never>?>(nil)

    /// Asks the plugin for it; blocks for as long as that takes. Throws `refusal` with the words of the plugin.
    init(
        setup: DispatchQueue,
        create: TransportFunctions.Create,
        destroy: @escaping TransportFunctions.Destroy,
        bridge: PluginBridge,
        configuration: String,
        refusal: (String) -> PluginError
    ) throws(PluginError) {
        var configuration = configuration
        let (status, said, handle) = setup.sync {
            configuration.withUTF8 { text in
                var pointer: UnsafeMutableRawPointer?
                let config = carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
                let (status, said) = ErrorBuffer.lend { create(bridge.openForPlugin(), config, &pointer, $0) }
                return (status, said, PluginHandle(pointer: pointer))
            }
        }
        guard status == .CARILLON_OK else {
            bridge.close()
            throw refusal(said)
        }
        self.handle = handle
        self.bridge = bridge
        self.setup = setup
        self.destroy = destroy
    }

    /// Runs what the header marks `[setup]`.
    func settingUp<Value>(_ body: (UnsafeMutableRawPointer?) -> Value) -> Value {
        setup.sync { body(handle.pointer) }
    }

    /// Calls `stop`, which lets nothing new begin, and ends the instance as ``DrainableInstance/drain(deadline:)``
    /// says.
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
            bridge.log.error("The plugin did not finish its work in time; its instance is left alone")
            return false
        }
        await withCheckedContinuation { continuation in
            setup.async { [destroy, handle] in
                destroy(handle.pointer)
                continuation.resume()
            }
        }
        bridge.end()
        return true
    }
}
