import CarillonABI
import Synchronization

/// A command or a filter's call as the plugin names it: numbers in a pointer's place, so that an answer which comes too
/// late or twice leads to no freed memory.
struct CallContext: Sendable, Equatable {
    /// The bridge, by its place among all that were ever opened.
    var bridge: Int
    /// The command or call of that bridge, from 1.
    var number: UInt64

    private static var numberBits: Int { 40 }

    init(bridge: Int, number: UInt64) {
        self.bridge = bridge
        self.number = number
    }

    /// Nil for NULL.
    init?(_ pointer: UnsafeMutableRawPointer?) {
        guard let pointer else { return nil }
        let bits = UInt(bitPattern: pointer)
        bridge = Int(bits >> Self.numberBits)
        number = UInt64(bits & (1 << Self.numberBits - 1))
    }

    /// Nil when either number has grown beyond its place.
    var pointer: UnsafeMutableRawPointer? {
        guard bridge >= 0, bridge < 1 << 23, number > 0, number < 1 << Self.numberBits else { return nil }
        return UnsafeMutableRawPointer(bitPattern: UInt(bridge) << Self.numberBits | UInt(number))
    }
}

/// All bridges that were ever opened for plugins, by number. None is ever forgotten: a plugin that calls after its
/// instance was destroyed breaks the rules; it then finds a closed bridge instead of freed memory, at the price of a
/// few hundred bytes for every reload.
enum OpenedBridges {
    /// Keeps a bridge and the struct that leads to it.
    ///
    /// Unchecked: the struct never changes once it is here.
    private struct Opened: @unchecked Sendable {
        let bridge: PluginBridge
        let host: UnsafePointer<carillon_host>
    }

    private static let all = Mutex<[Opened]>([])

    /// Gives the bridge a number, and a `carillon_host` that is valid until the process ends.
    static func add(_ bridge: PluginBridge) -> (number: Int, host: UnsafePointer<carillon_host>) {
        let host = UnsafeMutablePointer<carillon_host>.allocate(capacity: 1)
        host.initialize(to: hostTable(data: Unmanaged.passUnretained(bridge).toOpaque()))
        let opened = Opened(bridge: bridge, host: UnsafePointer(host))
        let number = all.withLock { bridges in
            bridges.append(opened)
            return bridges.count - 1
        }
        return (number, opened.host)
    }

    /// The bridge of that number, if there was ever one.
    static func bridge(_ number: Int) -> PluginBridge? {
        all.withLock { $0.indices.contains(number) ? $0[number].bridge : nil }
    }
}
