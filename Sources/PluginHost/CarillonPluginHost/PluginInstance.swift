import CIsolation
import CarillonABI
import Core
import Glibc
import PluginProtocol
import Synchronization

/// An instance of a plugin's transport or filter, and its view of the host.
///
/// It is never freed: a plugin that calls after `destroy` finds a closed instance instead of freed memory.
///
/// Unchecked: `pointer` is set before another thread knows the instance, and the rest does not change.
final class PluginInstance: @unchecked Sendable {
    enum Table {
        case transport(carillon_transport)
        case filter(carillon_filter)
    }

    /// In ``inside``: the instance has ended, or is about to.
    private static let closed = 1 << 62

    let number: UInt32
    let table: Table
    let process: PluginProcess
    /// The URL of its inbound requests; empty: it gets none.
    let inboundURL: String
    /// The plugin's pointer of the instance.
    private(set) var pointer: UnsafeMutableRawPointer?
    /// The number of calls inside the plugin for this instance, and whether it is closed.
    private let inside = Atomic(0)
    /// Changes when the last call has left a closed instance.
    private let exit = Monitor(())
    /// Its stored values.
    private let state: Mutex<StateCopy>

    init(_ number: UInt32, _ table: Table, state: [StateEntry], inboundURL: String, of process: PluginProcess) {
        self.number = number
        self.table = table
        self.process = process
        self.inboundURL = inboundURL
        self.state = Mutex(StateCopy(state))
    }

    /// The instance of a plugin's call.
    static func of(_ host: UnsafePointer<carillon_host>?) -> PluginInstance? {
        guard let data = host?.pointee.host_data else { return nil }
        return Unmanaged<PluginInstance>.fromOpaque(data).takeUnretainedValue()
    }

    /// Calls the table's `create`.
    func create(_ configuration: carillon_str) -> (status: carillon_status, said: [UInt8]) {
        let host = UnsafeMutablePointer<carillon_host>.allocate(capacity: 1)
        host.initialize(to: hostTable(data: Unmanaged.passRetained(self).toOpaque()))
        let create =
            switch table {
            case .transport(let table): table.create
            case .filter(let table): table.create
            }
        guard let create else { return (.CARILLON_UNSUPPORTED, []) }
        let result = ErrorRoom.withRoom { create(host, configuration, &pointer, $0) }
        if result.status != .CARILLON_OK { close() }
        return result
    }

    /// The filter's needs from `carillon_filter.needs`.
    var needs: UInt32 {
        guard case .filter(let table) = table, let needs = table.needs else { return 0 }
        return needs(pointer)
    }

    /// Closes the instance and calls the table's `destroy` once no call is inside.
    func destroy() {
        close()
        switch table {
        case .transport(let table): table.destroy?(pointer)
        case .filter(let table): table.destroy?(pointer)
        }
    }

    /// Whether the instance has ended, or is about to.
    var isClosed: Bool { inside.load(ordering: .acquiring) & Self.closed != 0 }

    /// Calls the plugin, unless the instance is closed. A call inside prevents its destruction: a plugin may end its
    /// last delivery before `deliver` returns, and the router does not see the return.
    func enter<Result>(_ call: () -> Result) -> Result? {
        let former = inside.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
        defer {
            let left = inside.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
            if left == Self.closed { exit.change { _ in } }
        }
        return former & Self.closed == 0 ? call() : nil
    }

    private func close() {
        inside.bitwiseOr(Self.closed, ordering: .acquiringAndReleasing)
        process.timers.removeAll(of: self)
        exit.wait { _ in inside.load(ordering: .acquiring) == Self.closed ? () : nil }
    }

    // MARK: State

    /// The value stored under a key; nil: none.
    func kept(_ key: [UInt8]) -> [UInt8]? { state.withLock { $0[key] } }

    /// Stores a value here and at the router. False: it exceeds a limit.
    func keep(_ entry: StateEntry) -> Bool {
        // The router must receive changes in the order of their numbers.
        state.withLock { state in
            guard let number = state.set(entry) else { return false }
            return process.deliveries.send(.store, id: number) {
                StoreMessage(instance: self.number, entry: entry).write(to: &$0)
            }
        }
    }

    /// Takes values from the router, which has processed this instance's changes up to `handled`.
    func receive(_ message: StoredMessage, handled: UInt64) {
        state.withLock { $0.receive(message.entries, handled: handled, isWhole: message.isWhole) }
    }
}

/// Provides buffers for a plugin's error message, and writes into a plugin's buffer.
enum ErrorRoom {
    private static let capacity = 512

    /// Returns the result of `body` and, if that is a failure, the plugin's message.
    static func withRoom(
        _ body: (UnsafeMutablePointer<carillon_error>) -> carillon_status
    ) -> (status: carillon_status, said: [UInt8]) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { room in
            room.initialize(repeating: 0)
            var error = carillon_error(buf: room.baseAddress, capacity: capacity, len: 0)
            let status = body(&error)
            guard status != .CARILLON_OK else { return (status, []) }
            // The buffer is ours, so the plugin's values of `buf` and `capacity` do not matter.
            let length = Int(min(UInt(bitPattern: error.len), UInt(capacity)))
            return (status, room.prefix(length).map { UInt8(bitPattern: $0) })
        }
    }

    /// Writes as much of `text` as fits into the plugin's buffer.
    static func write(_ text: some Collection<UInt8>, to error: UnsafeMutablePointer<carillon_error>?) {
        guard let error, let room = error.pointee.buf, error.pointee.capacity > 0 else { return }
        let text = text.prefix(error.pointee.capacity)
        for (index, byte) in text.enumerated() { room[index] = CChar(bitPattern: byte) }
        error.pointee.len = text.count
    }
}

/// A permanently loaded library, and copies of its plugin's tables.
struct PluginLibrary: Sendable {
    /// Why a library was not loaded.
    struct LibraryError: Error {
        var reason: UnloadableMessage.Reason
        var number: UInt32 = 0
        var text = ""
    }

    private typealias Entry = @convention(c) () -> UnsafePointer<carillon_plugin>?

    static let abiMinor = UInt32(CARILLON_ABI_MINOR)
    let tables: PluginTables

    /// Loads the library at `path` and reads its descriptor.
    init(loading path: String) throws(LibraryError) {
        guard let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw LibraryError(reason: .linker, text: dlerror().map { String(cString: $0) } ?? "nothing")
        }
        guard let symbol = dlsym(handle, "carillon_plugin_entry_v1") else {
            let other = (2...99).first { dlsym(handle, "carillon_plugin_entry_v\($0)") != nil }
            throw other.map { LibraryError(reason: .otherMajor, number: UInt32($0)) } ?? LibraryError(reason: .noEntry)
        }
        guard let pointer = unsafeBitCast(symbol, to: Entry.self)() else { throw LibraryError(reason: .refusedItself) }
        do throws(PluginTables.DescriptorError) {
            tables = try PluginTables(reading: pointer)
        } catch {
            throw LibraryError(reason: .malformedDescriptor, text: error.text)
        }
    }

    /// The library's descriptor.
    func descriptor(confinement: UInt32) -> DescriptorMessage {
        var descriptor = tables.descriptor
        descriptor.modules = Self.modules
        descriptor.confinement = confinement
        return descriptor
    }

    private static var modules: [DescriptorMessage.Module] {
        let limit = 512
        return withUnsafeTemporaryAllocation(of: carillon_module.self, capacity: limit) { modules in
            let count = carillon_list_modules(modules.baseAddress, limit)
            return modules.prefix(count).map { module in
                let name = module.name.map { String(cString: $0) } ?? ""
                return DescriptorMessage.Module(
                    name: name.isEmpty ? "carillon-plugin-host" : name,
                    start: module.start,
                    size: module.size
                )
            }
        }
    }
}
