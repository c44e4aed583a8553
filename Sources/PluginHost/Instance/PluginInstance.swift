import CarillonABI
import Dispatch
import Logging
import Synchronization

/// What a plugin made for a transport or a filter: its own pointer, its door to the host, and its end.
final class PluginInstance: Sendable {
    /// The plugin's own pointer, never looked into here.
    ///
    /// Unchecked: the plugin promises to take it from any thread.
    struct Handle: @unchecked Sendable {
        var pointer: UnsafeMutableRawPointer?
    }

    let handle: Handle
    let door: HostDoor
    private let library: PluginLibrary
    private let destroy: TransportFunctions.Destroy
    private let draining = Mutex<Task<Bool, Never>?>(nil)

    /// Asks the plugin for it; blocks for as long as that takes. Throws `refusal` of what the plugin says.
    init(
        of library: PluginLibrary,
        create: TransportFunctions.Create,
        destroy: TransportFunctions.Destroy,
        door: HostDoor,
        configuration: String,
        refusal: (String) -> PluginError
    ) throws(PluginError) {
        var configuration = configuration
        let (status, said, handle) = library.setup.sync {
            configuration.withUTF8 { text in
                var pointer: UnsafeMutableRawPointer?
                let config = carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
                let (status, said) = ErrorRoom.lend { create(door.openForPlugin(), config, &pointer, $0) }
                return (status, said, Handle(pointer: pointer))
            }
        }
        guard status == .CARILLON_OK else {
            door.close()
            throw refusal(said)
        }
        self.handle = handle
        self.door = door
        self.library = library
        self.destroy = destroy
    }

    /// Asks the plugin something that belongs to its making, as it must not be asked by two at a time.
    func settingUp<Value>(_ body: (UnsafeMutableRawPointer?) -> Value) -> Value {
        library.setup.sync { body(handle.pointer) }
    }

    /// Has `stop` let nothing new begin, waits until what is under way has ended or its deadline has, and destroys it. False when
    /// the plugin would not finish: it is then left alone for ever, for destroying it under its feet could take the router along.
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
        guard await door.settled() else {
            door.log.error("The plugin did not finish its work in time; its instance is left alone")
            return false
        }
        await withCheckedContinuation { continuation in
            library.setup.async { [destroy, handle] in
                destroy(handle.pointer)
                continuation.resume()
            }
        }
        return true
    }
}
