import CarillonABI
import Dispatch

/// What came of asking a plugin for an instance.
struct Creation {
    let refusal: Refusal
    let host: CheckHost
    /// The plugin's own; nil is as good as any other.
    let pointer: UnsafeMutableRawPointer?

    /// Asks `create` as the host would, with a host of its own, room for `capacity` bytes of an error, and all that is lent laid out
    /// by `placement` and `shape`.
    init(
        of library: PluginLibrary,
        by create: TransportFunctions.Create,
        _ configuration: [UInt8],
        _ placement: Arena.Placement,
        _ shape: StructShape,
        capacity: Int
    ) {
        let host = CheckHost(placement, shape)
        let arena = Arena(placement)
        var pointer: UnsafeMutableRawPointer?
        refusal = library.setup.sync {
            withExtendedLifetime(arena) {
                Refusal(capacity: capacity) {
                    create(host.openForPlugin(), arena.text(configuration), &pointer, $0)
                }
            }
        }
        self.host = host
        self.pointer = pointer
    }
}
